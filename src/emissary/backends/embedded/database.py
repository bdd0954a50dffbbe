"""SQLite with one writer thread: every write that waits is committed together, so they share one fsync."""

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any, Self, TypeVar

from emissary.model.errors import StoreUnavailable

__all__ = ["Database", "from_ms", "to_ms"]

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_IN_ONE_COMMIT = 256
_MILLISECOND = timedelta(milliseconds=1)


def to_ms(moment: datetime) -> int:
    """The moment as it is kept."""
    return (moment - _EPOCH) // _MILLISECOND


def from_ms(value: int) -> datetime:
    """The moment that was kept."""
    return _EPOCH + timedelta(milliseconds=value)


@dataclass(slots=True, eq=False)
class _Task:
    work: Callable[[sqlite3.Connection], Any]
    future: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None


class _Desk:
    """A thread with a connection of its own and a queue before it."""

    def __init__(
        self, connection: sqlite3.Connection, name: str, run: Callable[[sqlite3.Connection, list[_Task]], None]
    ) -> None:
        self._connection = connection
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Task] = deque()
        self._bell = threading.Semaphore(0)
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        task = _Task(work, self._loop.create_future())
        self._waiting.append(task)
        self._bell.release()
        result: T = await task.future
        return result

    async def close(self) -> None:
        self._closed = True
        self._bell.release()
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        while True:
            self._bell.acquire()
            if not self._waiting:
                if self._closed:
                    break
                continue  # the task this ring was for has gone with an earlier commit
            tasks = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_IN_ONE_COMMIT))]
            self._run(self._connection, tasks)
            try:
                self._loop.call_soon_threadsafe(_tell, tasks)
            except RuntimeError:
                break  # the loop is gone, and with it everyone who waited
        self._connection.close()


def _read_each(connection: sqlite3.Connection, tasks: list[_Task]) -> None:
    for task in tasks:
        try:
            task.value = task.work(connection)
        except sqlite3.Error as error:
            task.error = StoreUnavailable(f"the store could not be read: {error}")
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked, and is raised there
            task.error = error


def _commit_together(connection: sqlite3.Connection, tasks: list[_Task]) -> None:
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


def _attempt(connection: sqlite3.Connection, task: _Task) -> None:
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


def _tell(tasks: list[_Task]) -> None:
    for task in tasks:
        if task.future.done():
            continue  # whoever asked has stopped waiting
        if task.error is None:
            task.future.set_result(task.value)
        else:
            task.future.set_exception(task.error)


class Database:
    """The file, its writer and its reader. Nothing here ever blocks the event loop."""

    def __init__(self, path: Path, writer: sqlite3.Connection, reader: sqlite3.Connection) -> None:
        self.path = path
        self._writer = _Desk(writer, "emissary-writer", _commit_together)
        self._reader = _Desk(reader, "emissary-reader", _read_each)

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
        return await self._writer.do(work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run the work on what has been committed."""
        return await self._reader.do(work)

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
