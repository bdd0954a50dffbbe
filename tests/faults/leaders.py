"""Who leads on a place, and how its term ends at once."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from stage import Place

from emissary.backends.cluster.database import Database
from emissary.model.ids import WorkerId

__all__ = ["end_term", "holds_lanes", "leader_of"]

_BUSY_SECONDS = 30
_END_EMBEDDED = "UPDATE leadership SET until = 0 WHERE leader = ?"
_END_SHARED = "UPDATE leadership SET until = '-infinity' WHERE leader = $1"


async def leader_of(place: Place) -> WorkerId | None:
    """Who leads now, whether or not it lives."""
    rows = await _ask(place, "SELECT leader FROM leadership WHERE leader IS NOT NULL")
    return WorkerId(str(rows[0][0])) if rows else None


async def end_term(place: Place, leader: WorkerId) -> None:
    """Let it be as if the lease of one who died had run out: whoever stands by takes over when it looks next."""
    embedded = place.database_url is None
    await _ask(place, _END_EMBEDDED if embedded else _END_SHARED, leader)


async def holds_lanes(place: Place, worker: WorkerId) -> bool:
    """Whether the worker has something in hand."""
    here = "?" if place.database_url is None else "$1"
    return bool(await _ask(place, f"SELECT 1 FROM lanes WHERE holder = {here} LIMIT 1", worker))  # noqa: S608 - our own


async def _ask(place: Place, statement: str, *values: str) -> Sequence[Sequence[object]]:
    if place.database_url is None:
        file = place.folder / "data" / "emissary.db"
        with closing(sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            return connection.execute(statement, values).fetchall()
    database = await Database.open(place.database_url)
    try:
        async with database.transaction() as shared:
            return await shared.fetch(statement, *values)
    finally:
        await database.close()
