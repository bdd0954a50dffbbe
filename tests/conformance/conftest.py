"""The backend under test, and its parts under the names of their ports."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from openers import OPENERS, WITHOUT_LANES, Backend, Place

from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test runs over every backend that has what it is about."""
    if "kind" in metafunc.fixturenames:
        needed = {"lanes", "jobs"} & set(metafunc.fixturenames)
        about_lanes = needed or metafunc.module.__name__.startswith("test_lanes")
        metafunc.parametrize("kind", sorted(OPENERS.keys() - (WITHOUT_LANES if about_lanes else set())))


@pytest.fixture
def place(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    if kind == "embedded":
        return Place(tmp_path)
    return Place(tmp_path, request.getfixturevalue("database_url"), request.getfixturevalue("objects_url"))


@pytest.fixture
async def backend(kind: str, place: Place, anyio_backend: str) -> AsyncIterator[Backend]:
    async with OPENERS[kind](place) as backend:
        yield backend


@pytest.fixture
async def neighbour(kind: str, backend: Backend, place: Place, anyio_backend: str) -> AsyncIterator[Backend]:
    """A second process's worth of the same store."""
    async with OPENERS[kind](place) as neighbour:
        yield neighbour


@pytest.fixture
def lanes(backend: Backend) -> Lanes:
    return backend.lanes


@pytest.fixture
def jobs(backend: Backend) -> JobRecords:
    return backend.jobs
