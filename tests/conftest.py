"""What every test shares: asynchronous tests run on asyncio, and real servers are there for those who ask."""

import asyncio
import itertools
from collections.abc import Iterator

import pytest

from emissary.backends.cluster.database import Database
from emissary.testing.servers import ObjectServer, PostgresServer

_numbers = itertools.count(1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The one that tests share. Whoever wants to stop or kill one starts one of their own."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def object_server() -> Iterator[ObjectServer]:
    """The one that tests share."""
    with ObjectServer() as server:
        yield server


@pytest.fixture(scope="session")
def template(postgres: PostgresServer) -> str:
    """The name of a database with our schema, to be copied."""

    async def make() -> None:
        database = await Database.open(postgres.create_database("emissary_template"))
        await database.close()

    asyncio.run(make())
    return "emissary_template"


@pytest.fixture
def database_url(postgres: PostgresServer, template: str) -> Iterator[str]:
    """A database of one's own."""
    name = f"test_{next(_numbers)}"
    yield postgres.create_database(name, template)
    postgres.drop_database(name)


@pytest.fixture
def objects_url(object_server: ObjectServer) -> str:
    """An object store of one's own."""
    return object_server.url_of(f"test-{next(_numbers)}")
