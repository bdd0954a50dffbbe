"""The stores that lanes are measured on, each opened empty and gone afterwards."""

import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from emissary.backends.cluster.batches import PostgresBatches
from emissary.backends.cluster.database import Database as PostgresDatabase
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.database import Database as SqliteDatabase
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.ports.batches import Batches
from emissary.ports.lanes import Lanes
from emissary.testing.servers import PostgresServer

__all__ = ["LaneStore", "OpenStore", "postgres_store", "sqlite_store"]


@dataclass(frozen=True, slots=True)
class LaneStore:
    """What is measured: the lanes, how large the store is, and how many results are in it."""

    lanes: Lanes
    batches: Batches
    size: Callable[[], Awaitable[int]]
    ended: Callable[[], Awaitable[int]]


OpenStore = Callable[[], AbstractAsyncContextManager[LaneStore]]


@asynccontextmanager
async def sqlite_store() -> AsyncIterator[LaneStore]:
    """SQLite in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder:
        database = await SqliteDatabase.open(Path(folder) / "bench.db")
        yield LaneStore(
            SqliteLanes(database),
            SqliteBatches(database),
            lambda: database.read(_pages),
            lambda: database.read(_results),
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
            lambda: number(_RELATIONS),
            lambda: number("SELECT coalesce(sum(completed), 0) FROM tallies"),
        )
        await database.close()


_RELATIONS = """
SELECT sum(pg_total_relation_size(oid)) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


def _pages(connection: sqlite3.Connection) -> int:
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return int(pages * size)


def _results(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM results").fetchone()[0])
