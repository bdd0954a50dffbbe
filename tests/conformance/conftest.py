"""The backend under test, and its parts under the names of their ports."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from openers import OPENERS, Backend

from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords


@pytest.fixture(params=sorted(OPENERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def backend(kind: str, tmp_path: Path, anyio_backend: str) -> AsyncIterator[Backend]:
    async with OPENERS[kind](tmp_path) as backend:
        yield backend


@pytest.fixture
async def neighbour(kind: str, backend: Backend, tmp_path: Path, anyio_backend: str) -> AsyncIterator[Backend]:
    """A second process's worth of the same store."""
    async with OPENERS[kind](tmp_path) as neighbour:
        yield neighbour


@pytest.fixture
def lanes(backend: Backend) -> Lanes:
    return backend.lanes


@pytest.fixture
def jobs(backend: Backend) -> JobRecords:
    return backend.jobs
