"""The file of the embedded backend: how it is opened, brought up to date, or refused."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from emissary.backends.embedded.database import Database
from emissary.model.errors import StoreUnavailable
from emissary.model.moments import from_ms, to_ms

pytestmark = pytest.mark.anyio


async def test_every_commit_is_synced_to_disk(database: Database) -> None:
    for ask in (database.write, database.read):
        assert await ask(lambda connection: connection.execute("PRAGMA journal_mode").fetchone()) == ("wal",)
        assert await ask(lambda connection: connection.execute("PRAGMA synchronous").fetchone()) == (2,)


async def test_opening_a_file_again_keeps_what_is_in_it(tmp_path: Path, anyio_backend: str) -> None:
    path = tmp_path / "deep" / "er" / "emissary.db"
    schemas = []
    for number in range(3):
        database = await Database.open(path)
        values = (f"acc_{number}", "name", 0)
        await database.write(lambda c, values=values: c.execute("INSERT INTO accounts VALUES (?, ?, ?)", values))
        schemas.append(await database.read(lambda c: c.execute("SELECT sql FROM sqlite_schema").fetchall()))
        assert await database.read(lambda c: c.execute("SELECT count(*) FROM accounts").fetchone()) == (number + 1,)
        await database.close()
    assert schemas[0] == schemas[1] == schemas[2]


async def test_a_file_of_a_newer_emissary_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "emissary.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreUnavailable, match=r"newer Emissary \(schema 999\)"):
        await Database.open(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)


async def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path, letter = tmp_path / "emissary.db", b"Dear Sir or Madam, " * 500
    path.write_bytes(letter)
    with pytest.raises(StoreUnavailable, match="cannot be opened as a database"):
        await Database.open(path)
    assert path.read_bytes() == letter


async def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "emissary.db"
    await (await Database.open(path)).close()
    page = path.read_bytes()[:100]
    path.write_bytes(page + b"\xff" * 60_000)
    with pytest.raises(StoreUnavailable, match="cannot be opened as a database"):
        await Database.open(path)


@pytest.mark.parametrize("place", ["", "letter.txt/emissary.db"])
async def test_a_place_that_cannot_hold_a_file_is_refused(place: str, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Sir or Madam")
    with pytest.raises(StoreUnavailable, match="cannot be opened as a database"):
        await Database.open(tmp_path / place)


def test_moments_are_kept_to_the_millisecond_and_never_rounded_up() -> None:
    moment = datetime(2030, 1, 1, 12, 30, 15, 123999, tzinfo=UTC)
    assert from_ms(to_ms(moment)) == moment - timedelta(microseconds=999)
