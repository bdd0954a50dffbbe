"""A workshop with a real clock, and one with a clock that the test moves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from workshop import Workshop

from emissary.adapters.clock import SystemClock
from emissary.backends.embedded.blobs import FileBlobs
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.records import SqliteJobRecords
from emissary.backends.embedded.workers import LockedWorkers
from emissary.ports.clock import Clock
from emissary.testing.clock import FakeClock
from emissary.testing.stores import ShakyBlobs, ShakyLanes


@asynccontextmanager
async def open_workshop(place: Path, clock: Clock) -> AsyncIterator[Workshop]:
    database = await Database.open(place / "emissary.db")
    yield Workshop(
        lanes=ShakyLanes(SqliteLanes(database)),
        records=SqliteJobRecords(database),
        blobs=ShakyBlobs(FileBlobs(place / "objects")),
        workers=LockedWorkers(database, place / "workers"),
        clock=clock,
        database=database,
    )
    await database.close()


@pytest.fixture
async def workshop(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Workshop]:
    async with open_workshop(tmp_path, SystemClock()) as workshop:
        yield workshop


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def still(tmp_path: Path, clock: FakeClock, anyio_backend: str) -> AsyncIterator[Workshop]:
    """A workshop in which time stands still until the test moves its clock."""
    async with open_workshop(tmp_path, clock) as workshop:
        yield workshop
