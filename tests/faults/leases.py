"""Leases that run out at once: as if five minutes had passed in which nobody could renew them."""

import sqlite3
from contextlib import closing

from stage import Place

from emissary.backends.cluster.database import Database
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import WorkerId

__all__ = ["end_leases"]

_PATIENCE_SECONDS = 2.0
_END_EMBEDDED = "UPDATE lanes SET ready_at = 0 WHERE holder = ?"
_END_SHARED = "UPDATE lanes SET ready_at = 0 WHERE holder = $1"


async def end_leases(place: Place, worker: WorkerId) -> bool:
    """Whether the worker had any, and they could be ended: nobody else can write what it was paused in writing."""
    if place.database_url is None:
        return _end_embedded(place, worker)
    database = await Database.open(place.database_url, patience=_PATIENCE_SECONDS)
    try:
        return await database.write(_END_SHARED, worker) > 0
    except StoreUnavailable:
        return False
    finally:
        await database.close()


def _end_embedded(place: Place, worker: WorkerId) -> bool:
    file = place.folder / "data" / "emissary.db"
    with closing(sqlite3.connect(file, timeout=_PATIENCE_SECONDS, isolation_level=None)) as connection:
        try:
            return connection.execute(_END_EMBEDDED, (worker,)).rowcount > 0
        except sqlite3.OperationalError:
            return False
