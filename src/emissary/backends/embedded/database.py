"""SQLite with one writer thread: every write that waits is committed together, so they share one fsync."""

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, Self, TypeVar

from emissary.backends.embedded.desk import Desk, Task
from emissary.model.errors import StoreUnavailable

__all__ = ["Database"]

T = TypeVar("T")

_Work = Callable[[sqlite3.Connection], Any]


def _read_each(connection: sqlite3.Connection, tasks: list[Task[_Work]]) -> None:
    for task in tasks:
        try:
            task.value = task.work(connection)
        except sqlite3.Error as error:
            task.error = StoreUnavailable(f"the store could not be read: {error}")
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked, and is raised there
            task.error = error


def _commit_together(connection: sqlite3.Connection, tasks: list[Task[_Work]]) -> None:
    try:
        connection.execute("BEGIN IMMEDIATE")
        for task in tasks:
            _attempt(connection, task)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        for task in tasks:
            task.error = StoreUnavailable(f"the store could not be written: {error}")


def _attempt(connection: sqlite3.Connection, task: Task[_Work]) -> None:
    """A task that fails takes back what it wrote itself, not what its neighbours in the same commit did."""
    connection.execute("SAVEPOINT task")
    try:
        task.value = task.work(connection)
    except BaseException as error:
        if not connection.in_transaction:
            raise  # SQLite gave up the whole transaction, as it does when the disk is full
        connection.execute("ROLLBACK TO task")
        is_store = isinstance(error, sqlite3.OperationalError)
        task.error = StoreUnavailable(f"the store could not be written: {error}") if is_store else error
    connection.execute("RELEASE task")


class Database:
    """The file, its writer and its reader. Nothing here ever blocks the event loop."""

    def __init__(self, path: Path, writer: sqlite3.Connection, reader: sqlite3.Connection) -> None:
        self.path = path
        self._writer: Desk[_Work] = Desk("emissary-writer", partial(_commit_together, writer), writer.close)
        self._reader: Desk[_Work] = Desk("emissary-reader", partial(_read_each, reader), reader.close)

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open the file, create it if need be, and bring its schema up to date."""
        try:
            writer, reader = await asyncio.to_thread(_open, path)
        except (OSError, sqlite3.Error) as error:
            raise StoreUnavailable(f"{path} cannot be opened as a database: {error}") from error
        return cls(path, writer, reader)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run the work in a transaction; when this returns, it has been committed and synced."""
        result: T = await self._writer.do(work)
        return result

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run the work on what has been committed."""
        result: T = await self._reader.do(work)
        return result

    async def close(self) -> None:
        await self._reader.close()
        await self._writer.close()


def connect(path: Path) -> sqlite3.Connection:
    """A connection as durable as SQLite knows: WAL, with an fsync before every commit returns."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    try:
        connection.execute("PRAGMA busy_timeout = 10000")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -32000")
        connection.execute("PRAGMA temp_store = MEMORY")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _open(path: Path) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """Two connections to the file, the schema of which is up to date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = connect(path)
    try:
        _migrate(writer, path)
        return writer, connect(path)
    except BaseException:
        writer.close()
        raise


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Run the numbered scripts that this file has not seen, all of them or none."""
    connection.execute("BEGIN EXCLUSIVE")
    seen = connection.execute("PRAGMA user_version").fetchone()[0]
    scripts = _scripts()
    if seen > len(scripts):
        raise StoreUnavailable(f"{path} was written by a newer Emissary (schema {seen}); please upgrade")
    for number, script in enumerate(scripts[seen:], start=seen + 1):
        for statement in _statements(script):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
    connection.execute("COMMIT")


def _scripts() -> list[str]:
    folder = resources.files("emissary.backends.embedded") / "migrations"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return [entry.read_text(encoding="utf-8") for entry in files]


def _statements(script: str) -> list[str]:
    """Split a script so that its statements share one transaction; executescript would commit first."""
    statements, lines = [], []
    for line in script.splitlines():
        lines.append(line)
        if sqlite3.complete_statement("\n".join(lines)):
            statements.append("\n".join(lines))
            lines = []
    return statements
