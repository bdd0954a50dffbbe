"""A database of our own on the shared server, and a server of our own for those who harm it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from emissary.backends.cluster.database import Database
from emissary.testing.servers import PostgresServer


@pytest.fixture
async def database(database_url: str, anyio_backend: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
async def fragile(own_postgres: PostgresServer, anyio_backend: str) -> AsyncIterator[Database]:
    """A database on a server that the test may harm; no statement of it may take longer than two seconds."""
    database = await Database.open(own_postgres.url, patience=2)
    yield database
    await database.close()


@pytest.fixture
async def elsewhere(database: Database, database_url: str, anyio_backend: str) -> AsyncIterator[Database]:
    """Another process's connections to the same database."""
    elsewhere = await Database.open(database_url)
    yield elsewhere
    await elsewhere.close()
