"""Opens the backend that the settings ask for: every store under the name of its port, whichever it is."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from emissary import __version__
from emissary.adapters.clock import THIS_MACHINE, AgreedClock, CarriedClock, Machine, SystemClock
from emissary.adapters.vault import FileVault
from emissary.backends.cluster.alerts import PostgresAlerts
from emissary.backends.cluster.allowances import PostgresAllowances
from emissary.backends.cluster.batches import PostgresBatches, PostgresLedger
from emissary.backends.cluster.idempotency import PostgresFirstAnswers
from emissary.backends.cluster.jobs import PostgresJobRecords
from emissary.backends.cluster.keys import PostgresKeys
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.cluster.leadership import PostgresLeadership
from emissary.backends.cluster.rates import PostgresRates
from emissary.backends.cluster.schedules import PostgresSchedules
from emissary.backends.cluster.stores import open_stores
from emissary.backends.cluster.upkeep import PostgresRetention, PostgresWorkload
from emissary.backends.cluster.usage import PostgresUsage
from emissary.backends.cluster.webhooks import PostgresDeliveries, PostgresHappenings, PostgresWebhooks
from emissary.backends.embedded.alerts import SqliteAlerts
from emissary.backends.embedded.allowances import SqliteAllowances
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.blobs import FileBlobs
from emissary.backends.embedded.captures import FileCaptures
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.idempotency import SqliteFirstAnswers
from emissary.backends.embedded.keys import SqliteKeys
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.leadership import SqliteLeadership
from emissary.backends.embedded.ledger import SqliteLedger
from emissary.backends.embedded.rates import SqliteRates
from emissary.backends.embedded.reading_records import (
    SqlitePageCache,
    SqliteSecrets,
    SqliteSessions,
    SqliteSiteOwners,
)
from emissary.backends.embedded.records import SqliteAccounts, SqliteHouseRules, SqliteJobRecords
from emissary.backends.embedded.schedules import SqliteSchedules
from emissary.backends.embedded.upkeep import SqliteRetention, SqliteWorkload
from emissary.backends.embedded.usage import SqliteUsage
from emissary.backends.embedded.webhooks import SqliteDeliveries, SqliteHappenings, SqliteWebhooks
from emissary.backends.embedded.workers import LockedWorkers
from emissary.backends.local_bus import LocalBus
from emissary.backends.segments import Scribe
from emissary.model.errors import SettingsError, StoreUnavailable
from emissary.model.ids import WorkerId, ulid
from emissary.ports.accounts import Allowances
from emissary.ports.alerts import Alerts
from emissary.ports.batches import Batches, Ledger
from emissary.ports.blobs import Blobs
from emissary.ports.bus import Bus
from emissary.ports.captures import Captures
from emissary.ports.clock import Chance, Clock
from emissary.ports.idempotency import FirstAnswers
from emissary.ports.keys import Keys
from emissary.ports.lanes import Lanes
from emissary.ports.leadership import Leadership
from emissary.ports.rates import Rates
from emissary.ports.reading_records import PageCache, Secrets, Sessions, SiteOwners
from emissary.ports.records import Accounts, HouseRules, JobRecords, WorkerRecords
from emissary.ports.schedules import Schedules
from emissary.ports.upkeep import Retention, Workload
from emissary.ports.usage import Usage
from emissary.ports.vault import Vault
from emissary.ports.webhooks import Deliveries, Happenings, Webhooks
from emissary.reading.identity import PRODUCT_TOKEN
from emissary.reading.warc import exchange_records, segment_start
from emissary.settings import Settings

__all__ = ["Backend", "open_backend"]

_SHARDS = 64
_LOOK_AT_CLOCK_SECONDS = 30.0
_AGREE_ON_CLOCK_SECONDS = 5.0  # until then, two processes may differ by a fifth of it

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Backend:
    """One process's view of the stores, and the clock that they go by."""

    worker: WorkerId
    clock: Clock
    lanes: Lanes
    jobs: JobRecords
    batches: Batches
    ledger: Ledger
    accounts: Accounts
    keys: Keys
    allowances: Allowances
    rates: Rates
    first_answers: FirstAnswers
    usage: Usage
    rules: HouseRules
    workers: WorkerRecords
    leadership: Leadership
    schedules: Schedules
    alerts: Alerts
    webhooks: Webhooks
    deliveries: Deliveries
    happenings: Happenings
    retention: Retention
    workload: Workload
    pages: PageCache
    sessions: Sessions
    owners: SiteOwners
    secrets: Secrets
    blobs: Blobs
    captures: Captures
    bus: Bus
    vault: Vault
    touch: Callable[[], Awaitable[None]]  # writes to the store, to see whether that can be done


@asynccontextmanager
async def open_backend(settings: Settings, chance: Chance, machine: Machine = THIS_MACHINE) -> AsyncIterator[Backend]:
    """Open the stores and bring them up to date."""
    folder = settings.data_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    vault = FileVault.at(folder / "master.key")
    if settings.database_url is not None or settings.objects_url is not None:
        opened = _open_cluster(settings, vault, chance)
    else:
        opened = _open_embedded(settings, vault, chance, machine)
    async with opened as backend:
        yield backend


@asynccontextmanager
async def _open_embedded(settings: Settings, vault: Vault, chance: Chance, machine: Machine) -> AsyncIterator[Backend]:
    folder = settings.data_dir
    async with (
        _agreed_clock(folder / "clock", machine) as clock,
        _open_files(folder, clock, vault, chance) as backend,
    ):
        yield backend


@asynccontextmanager
async def _open_files(folder: Path, clock: Clock, vault: Vault, chance: Chance) -> AsyncIterator[Backend]:
    worker = _name(clock, chance)
    database = await Database.open(folder / "emissary.db")
    captures = FileCaptures(folder / "captures", worker, _scribe(chance))

    async def touch() -> None:
        await database.write(lambda connection: connection.execute("SELECT 1").fetchone())

    try:
        yield Backend(
            worker=worker,
            clock=clock,
            lanes=SqliteLanes(database),
            jobs=SqliteJobRecords(database),
            batches=SqliteBatches(database),
            ledger=SqliteLedger(database),
            accounts=SqliteAccounts(database),
            keys=SqliteKeys(database),
            allowances=SqliteAllowances(database),
            rates=SqliteRates(database),
            first_answers=SqliteFirstAnswers(database),
            usage=SqliteUsage(database),
            rules=SqliteHouseRules(database),
            workers=LockedWorkers(database, folder / "workers"),
            leadership=SqliteLeadership(database),
            schedules=SqliteSchedules(database),
            alerts=SqliteAlerts(database),
            webhooks=SqliteWebhooks(database),
            deliveries=SqliteDeliveries(database),
            happenings=SqliteHappenings(database),
            retention=SqliteRetention(database),
            workload=SqliteWorkload(database),
            pages=SqlitePageCache(database),
            sessions=SqliteSessions(database),
            owners=SqliteSiteOwners(database),
            secrets=SqliteSecrets(database),
            blobs=FileBlobs(folder / "objects"),
            captures=captures,
            bus=LocalBus(),
            vault=vault,
            touch=touch,
        )
    finally:
        await captures.close()
        await database.close()


@asynccontextmanager
async def _open_cluster(settings: Settings, vault: Vault, chance: Chance) -> AsyncIterator[Backend]:
    database_url, objects_url = _urls(settings)
    worker = _name(SystemClock(), chance)
    shard = chance.draw(1)[0] % _SHARDS
    opened = open_stores(database_url, objects_url, writer=worker, scribe=_scribe(chance), clock=SystemClock())
    async with opened as stores, AsyncExitStack() as stack:
        clock = CarriedClock(stores.database.now)
        await clock.correct()
        correcting = asyncio.create_task(_keep_right(clock, _LOOK_AT_CLOCK_SECONDS))
        stack.callback(correcting.cancel)
        yield Backend(
            worker=worker,
            clock=clock,
            lanes=PostgresLanes(stores.database, shard),
            jobs=PostgresJobRecords(stores.database),
            batches=PostgresBatches(stores.database, shard),
            ledger=PostgresLedger(stores.database),
            accounts=stores.accounts,
            keys=PostgresKeys(stores.database),
            allowances=PostgresAllowances(stores.database),
            rates=PostgresRates(stores.database),
            first_answers=PostgresFirstAnswers(stores.database),
            usage=PostgresUsage(stores.database),
            rules=stores.rules,
            workers=stores.workers,
            leadership=PostgresLeadership(stores.database),
            schedules=PostgresSchedules(stores.database),
            alerts=PostgresAlerts(stores.database),
            webhooks=PostgresWebhooks(stores.database),
            deliveries=PostgresDeliveries(stores.database),
            happenings=PostgresHappenings(stores.database),
            retention=PostgresRetention(stores.database),
            workload=PostgresWorkload(stores.database),
            pages=stores.pages,
            sessions=stores.sessions,
            owners=stores.owners,
            secrets=stores.secrets,
            blobs=stores.blobs,
            captures=stores.captures,
            bus=stores.bus,
            vault=vault,
            touch=clock.correct,
        )


@asynccontextmanager
async def _agreed_clock(file: Path, machine: Machine) -> AsyncIterator[Clock]:
    clock = await AgreedClock.open(file, machine)
    correcting = asyncio.create_task(_keep_right(clock, _AGREE_ON_CLOCK_SECONDS))
    try:
        yield clock
    finally:
        correcting.cancel()
        clock.close()


async def _keep_right(clock: AgreedClock | CarriedClock, seconds: float) -> None:
    """A machine that was put to sleep, or whose own clock drifts or was set, comes back to the time of the store."""
    while True:
        await clock.sleep(seconds)
        try:
            await clock.correct()
        except StoreUnavailable as error:
            log.warning("the store's clock could not be looked at", reason=error.detail)


def _urls(settings: Settings) -> tuple[str, str]:
    shared = {"EMISSARY_DATABASE_URL": settings.database_url, "EMISSARY_OBJECTS_URL": settings.objects_url}
    missing = next((name for name, value in shared.items() if value is None), None)
    if missing is not None or settings.database_url is None or settings.objects_url is None:
        (given,) = shared.keys() - {missing}
        raise SettingsError(f"{given}: it needs {missing} beside it: who shares the one must share the other")
    return settings.database_url.get_secret_value(), settings.objects_url.get_secret_value()


def _name(clock: Clock, chance: Chance) -> WorkerId:
    return WorkerId(f"wrk_{ulid(clock.now(), chance.draw(10))}")


def _scribe(chance: Chance) -> Scribe:
    software = f"{PRODUCT_TOKEN}/{__version__}"
    return Scribe(
        lambda name, at: segment_start(software, name, at, chance.draw(16)),
        lambda exchange: exchange_records(exchange, chance.draw(16)),
    )
