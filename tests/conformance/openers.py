"""How each backend is opened. A new backend is one more entry in `OPENERS`, and every suite here runs over it."""

import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from emissary.backends.embedded.blobs import FileBlobs
from emissary.backends.embedded.bus import LocalBus
from emissary.backends.embedded.captures import FileCaptures, Scribe
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.reading_records import (
    SqlitePageCache,
    SqliteSecrets,
    SqliteSessions,
    SqliteSiteOwners,
)
from emissary.backends.embedded.records import SqliteAccounts, SqliteHouseRules, SqliteJobRecords
from emissary.backends.embedded.workers import LockedWorkers
from emissary.ports.blobs import Blobs
from emissary.ports.bus import Bus
from emissary.ports.captures import Captures
from emissary.ports.lanes import Lanes
from emissary.ports.reading_records import PageCache, Secrets, Sessions, SiteOwners
from emissary.ports.records import Accounts, HouseRules, JobRecords, WorkerRecords
from emissary.reading.warc import exchange_records, segment_start


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
    pages: PageCache
    sessions: Sessions
    owners: SiteOwners
    secrets: Secrets
    captures: Captures
    clash: type[Exception]  # what it raises when a name is taken already


def a_scribe() -> Scribe:
    """As the composition root makes it."""
    return Scribe(
        lambda name, at: segment_start("Tests/1", name, at, secrets.token_bytes(16)),
        lambda exchange: exchange_records(exchange, secrets.token_bytes(48)),
    )


@asynccontextmanager
async def open_embedded(place: Path) -> AsyncIterator[Backend]:
    database = await Database.open(place / "emissary.db")
    captures = FileCaptures(place / "captures", f"wrk_{secrets.token_hex(4)}", a_scribe())
    try:
        yield Backend(
            lanes=SqliteLanes(database),
            jobs=SqliteJobRecords(database),
            accounts=SqliteAccounts(database),
            rules=SqliteHouseRules(database),
            workers=LockedWorkers(database, place / "workers"),
            blobs=FileBlobs(place / "objects"),
            bus=LocalBus(),
            pages=SqlitePageCache(database),
            sessions=SqliteSessions(database),
            owners=SqliteSiteOwners(database),
            secrets=SqliteSecrets(database),
            captures=captures,
            clash=sqlite3.IntegrityError,
        )
    finally:
        await captures.close()
        await database.close()


OPENERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Backend]]] = {"embedded": open_embedded}
