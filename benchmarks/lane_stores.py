"""The stores that lanes are measured on, each opened empty and gone afterwards."""

import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from emissary.backends.cluster.batches import PostgresBatches
from emissary.backends.cluster.database import Database as PostgresDatabase
from emissary.backends.cluster.jobs import PostgresJobRecords
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.database import Database as SqliteDatabase
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.records import SqliteJobRecords
from emissary.ports.batches import Batches
from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords
from emissary.testing.servers import PostgresServer

__all__ = ["LaneStore", "OpenStore", "postgres_store", "sqlite_store"]


@dataclass(frozen=True, slots=True)
class LaneStore:
    """What is measured: the lanes, how large the store is, and how many results are in it."""

    lanes: Lanes
    batches: Batches
    records: JobRecords
    size: Callable[[], Awaitable[int]]
    ended: Callable[[], Awaitable[int]]
    wear: Callable[[], Awaitable[dict[str, float]]]  # what was left behind, each figure by its name
    long_read: Callable[[], AbstractAsyncContextManager[None]]  # somebody looks at the store as it was, all the while


OpenStore = Callable[[], AbstractAsyncContextManager[LaneStore]]


@asynccontextmanager
async def sqlite_store() -> AsyncIterator[LaneStore]:
    """SQLite in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder:
        file = Path(folder) / "bench.db"
        database = await SqliteDatabase.open(file)

        async def wear() -> dict[str, float]:
            sizes = {"file": file, "write-ahead log": file.with_name(f"{file.name}-wal")}
            return {f"MiB of the {name}": path.stat().st_size / 2**20 for name, path in sizes.items()}

        yield LaneStore(
            SqliteLanes(database),
            SqliteBatches(database),
            SqliteJobRecords(database),
            lambda: database.read(_pages),
            lambda: database.read(_results),
            wear,
            lambda: _read_sqlite(file),
        )
        await database.close()


@asynccontextmanager
async def postgres_store() -> AsyncIterator[LaneStore]:
    """PostgreSQL on loopback, which syncs as a real one does."""
    with PostgresServer() as server:
        database = await PostgresDatabase.open(server.url)

        async def number(statement: str) -> int:
            ((found,),) = await database.read(statement)
            return int(found)

        yield LaneStore(
            PostgresLanes(database, 0),
            PostgresBatches(database, 0),
            PostgresJobRecords(database),
            lambda: number(_RELATIONS),
            lambda: number("SELECT coalesce(sum(completed), 0) FROM tallies"),
            lambda: _wear_of(database),
            lambda: _read_postgres(server.url),
        )
        await database.close()


@asynccontextmanager
async def _read_sqlite(file: Path) -> AsyncIterator[None]:
    """The write-ahead log cannot be begun anew as long as this reads what stood before it."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM accounts").fetchone()
        yield


@asynccontextmanager
async def _read_postgres(url: str) -> AsyncIterator[None]:
    """No row that was deleted after this began can be cleared away."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await connection.fetchval("SELECT count(*) FROM accounts")
            yield
    finally:
        await connection.close()


async def _wear_of(database: PostgresDatabase) -> dict[str, float]:
    return {name: float(found) for name, found in await database.read(_WEAR)}


_WEAR = """
SELECT 'dead rows of ' || relname, n_dead_tup FROM pg_stat_user_tables WHERE relname IN ('items', 'lanes')
UNION ALL
SELECT 'MiB of ' || oid::regclass, pg_relation_size(oid) / 1048576.0 FROM pg_class
WHERE oid::regclass::text IN ('items', 'items_pkey', 'lanes', 'lanes_ready', 'lanes_waiting', 'lanes_held')
ORDER BY 1
"""

_RELATIONS = """
SELECT sum(pg_total_relation_size(oid)) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


def _pages(connection: sqlite3.Connection) -> int:
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return int(pages * size)


def _results(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM results").fetchone()[0])
