"""How each backend is opened. A new backend is one more entry in `OPENERS`, and every suite here runs over it."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from emissary.backends.embedded.blobs import FileBlobs
from emissary.backends.embedded.bus import LocalBus
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.records import SqliteAccounts, SqliteHouseRules, SqliteJobRecords
from emissary.backends.embedded.workers import LockedWorkers
from emissary.ports.blobs import Blobs
from emissary.ports.bus import Bus
from emissary.ports.lanes import Lanes
from emissary.ports.records import Accounts, HouseRules, JobRecords, WorkerRecords


@dataclass(frozen=True, slots=True)
class Backend:
    """One process's view of a store; opening the same place again is the next process's."""

    lanes: Lanes
    jobs: JobRecords
    accounts: Accounts
    rules: HouseRules
    workers: WorkerRecords
    blobs: Blobs
    bus: Bus
    clash: type[Exception]  # what it raises when a name is taken already


@asynccontextmanager
async def open_embedded(place: Path) -> AsyncIterator[Backend]:
    database = await Database.open(place / "emissary.db")
    try:
        yield Backend(
            lanes=SqliteLanes(database),
            jobs=SqliteJobRecords(database),
            accounts=SqliteAccounts(database),
            rules=SqliteHouseRules(database),
            workers=LockedWorkers(database, place / "workers"),
            blobs=FileBlobs(place / "objects"),
            bus=LocalBus(),
            clash=sqlite3.IntegrityError,
        )
    finally:
        await database.close()


OPENERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Backend]]] = {"embedded": open_embedded}
