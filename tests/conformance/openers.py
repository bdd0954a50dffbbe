"""How each backend is opened. A new backend is one more entry in `OPENERS`, and every suite here runs over it."""

import secrets
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from emissary.adapters.clock import SystemClock
from emissary.backends.cluster.batches import PostgresBatches, PostgresLedger
from emissary.backends.cluster.database import Database as PostgresDatabase
from emissary.backends.cluster.jobs import PostgresJobRecords
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.cluster.stores import open_stores
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.blobs import FileBlobs
from emissary.backends.embedded.captures import FileCaptures, Scribe
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.ledger import SqliteLedger
from emissary.backends.embedded.reading_records import (
    SqlitePageCache,
    SqliteSecrets,
    SqliteSessions,
    SqliteSiteOwners,
)
from emissary.backends.embedded.records import SqliteAccounts, SqliteHouseRules, SqliteJobRecords
from emissary.backends.embedded.workers import LockedWorkers
from emissary.backends.local_bus import LocalBus
from emissary.model.ids import AccountId
from emissary.ports.batches import Batches, Ledger
from emissary.ports.blobs import Blobs
from emissary.ports.bus import Bus
from emissary.ports.captures import Captures
from emissary.ports.lanes import Lanes
from emissary.ports.reading_records import PageCache, Secrets, Sessions, SiteOwners
from emissary.ports.records import Accounts, HouseRules, JobRecords, WorkerRecords
from emissary.reading.warc import exchange_records, segment_start

Grant = Callable[[AccountId, float, int | None], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is: in a folder, or on servers."""

    folder: Path
    database_url: str = ""
    objects_url: str = ""


@dataclass(frozen=True, slots=True)
class Backend:
    """One process's view of a store; opening the same place again is the next process's."""

    lanes: Lanes
    batches: Batches
    ledger: Ledger
    grant: Grant  # give an account its weight, and how many lanes it may have in hand
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
        lambda exchange: exchange_records(exchange, secrets.token_bytes(16)),
    )


@asynccontextmanager
async def open_embedded(place: Place) -> AsyncIterator[Backend]:
    folder = place.folder
    database = await Database.open(folder / "emissary.db")
    captures = FileCaptures(folder / "captures", f"wrk_{secrets.token_hex(4)}", a_scribe())
    try:
        yield Backend(
            lanes=SqliteLanes(database),
            batches=SqliteBatches(database),
            ledger=SqliteLedger(database),
            grant=_granting(database),
            jobs=SqliteJobRecords(database),
            accounts=SqliteAccounts(database),
            rules=SqliteHouseRules(database),
            workers=LockedWorkers(database, folder / "workers"),
            blobs=FileBlobs(folder / "objects"),
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


def _granting(database: Database) -> Grant:
    statement = """
    INSERT INTO tenants (account, weight, most_active) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET weight = excluded.weight, most_active = excluded.most_active
    """

    async def grant(account: AccountId, weight: float, most_active: int | None) -> None:
        await database.write(lambda connection: connection.execute(statement, (account, weight, most_active)))

    return grant


def _granting_in_cluster(database: PostgresDatabase) -> Grant:
    statement = """
    INSERT INTO tenants (account, weight, most_active) VALUES ($1, $2, $3)
    ON CONFLICT (account) DO UPDATE SET weight = excluded.weight, most_active = excluded.most_active
    """

    async def grant(account: AccountId, weight: float, most_active: int | None) -> None:
        await database.write(statement, account, weight, most_active)

    return grant


@asynccontextmanager
async def open_cluster(place: Place) -> AsyncIterator[Backend]:
    writer = f"wrk_{secrets.token_hex(4)}"
    opened = open_stores(place.database_url, place.objects_url, writer=writer, scribe=a_scribe(), clock=SystemClock())
    async with opened as stores:
        shard = secrets.randbelow(64)
        yield Backend(
            lanes=PostgresLanes(stores.database, shard),
            batches=PostgresBatches(stores.database, shard),
            ledger=PostgresLedger(stores.database),
            grant=_granting_in_cluster(stores.database),
            jobs=PostgresJobRecords(stores.database),
            accounts=stores.accounts,
            rules=stores.rules,
            workers=stores.workers,
            blobs=stores.blobs,
            bus=stores.bus,
            pages=stores.pages,
            sessions=stores.sessions,
            owners=stores.owners,
            secrets=stores.secrets,
            captures=stores.captures,
            clash=asyncpg.UniqueViolationError,
        )


OPENERS: dict[str, Callable[[Place], AbstractAsyncContextManager[Backend]]] = {
    "cluster": open_cluster,
    "embedded": open_embedded,
}
