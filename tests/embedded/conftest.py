"""A database in a folder of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from emissary.backends.embedded.database import Database


@pytest.fixture
async def database(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Database]:
    database = await Database.open(tmp_path / "emissary.db")
    yield database
    await database.close()
