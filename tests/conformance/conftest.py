"""The backend under test, and its parts under the names of their ports."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from openers import OPENERS, Backend, Place
from sides import SIDES, Side

from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test runs over every backend."""
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", sorted(OPENERS))


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


@pytest.fixture(params=sorted(SIDES))
def side_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def side_place(side_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    return str(tmp_path / "emissary.db") if side_kind == "embedded" else request.getfixturevalue("database_url")


@pytest.fixture
async def side(side_kind: str, side_place: str, anyio_backend: str) -> AsyncIterator[Side]:
    async with SIDES[side_kind](side_place) as side:
        yield side


@pytest.fixture
async def other_side(side_kind: str, side: Side, side_place: str, anyio_backend: str) -> AsyncIterator[Side]:
    """A second process's view of the same store."""
    async with SIDES[side_kind](side_place) as other:
        yield other
