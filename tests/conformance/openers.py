"""How each backend is opened. A new backend is one more entry in `OPENERS`, and every suite here runs over it."""

import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from emissary.adapters.clock import SystemClock
from emissary.backends.cluster.allowances import PostgresAllowances
from emissary.backends.cluster.batches import PostgresBatches, PostgresLedger
from emissary.backends.cluster.idempotency import PostgresFirstAnswers
from emissary.backends.cluster.jobs import PostgresJobRecords
from emissary.backends.cluster.keys import PostgresKeys
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.cluster.rates import PostgresRates
from emissary.backends.cluster.stores import open_stores
from emissary.backends.cluster.usage import PostgresUsage
from emissary.backends.cluster.webhooks import PostgresDeliveries, PostgresWebhooks
from emissary.backends.embedded.allowances import SqliteAllowances
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.blobs import FileBlobs
from emissary.backends.embedded.captures import FileCaptures, Scribe
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.idempotency import SqliteFirstAnswers
from emissary.backends.embedded.keys import SqliteKeys
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.ledger import SqliteLedger
from emissary.backends.embedded.rates import SqliteRates
from emissary.backends.embedded.reading_records import (
    SqlitePageCache,
    SqliteSecrets,
    SqliteSessions,
    SqliteSiteOwners,
)
from emissary.backends.embedded.records import SqliteAccounts, SqliteHouseRules, SqliteJobRecords
from emissary.backends.embedded.usage import SqliteUsage
from emissary.backends.embedded.webhooks import SqliteDeliveries, SqliteWebhooks
from emissary.backends.embedded.workers import LockedWorkers
from emissary.backends.local_bus import LocalBus
from emissary.ports.accounts import Allowances
from emissary.ports.batches import Batches, Ledger
from emissary.ports.blobs import Blobs
from emissary.ports.bus import Bus
from emissary.ports.captures import Captures
from emissary.ports.idempotency import FirstAnswers
from emissary.ports.keys import Keys
from emissary.ports.lanes import Lanes
from emissary.ports.rates import Rates
from emissary.ports.reading_records import PageCache, Secrets, Sessions, SiteOwners
from emissary.ports.records import Accounts, HouseRules, JobRecords, WorkerRecords
from emissary.ports.usage import Usage
from emissary.ports.webhooks import Deliveries, Webhooks
from emissary.reading.warc import exchange_records, segment_start


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
    allowances: Allowances
    usage: Usage
    jobs: JobRecords
    accounts: Accounts
    keys: Keys
    rates: Rates
    webhooks: Webhooks
    deliveries: Deliveries
    first_answers: FirstAnswers
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
            allowances=SqliteAllowances(database),
            usage=SqliteUsage(database),
            jobs=SqliteJobRecords(database),
            accounts=SqliteAccounts(database),
            keys=SqliteKeys(database),
            rates=SqliteRates(database),
            webhooks=SqliteWebhooks(database),
            deliveries=SqliteDeliveries(database),
            first_answers=SqliteFirstAnswers(database),
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
            allowances=PostgresAllowances(stores.database),
            usage=PostgresUsage(stores.database),
            jobs=PostgresJobRecords(stores.database),
            accounts=stores.accounts,
            keys=PostgresKeys(stores.database),
            rates=PostgresRates(stores.database),
            webhooks=PostgresWebhooks(stores.database),
            deliveries=PostgresDeliveries(stores.database),
            first_answers=PostgresFirstAnswers(stores.database),
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
