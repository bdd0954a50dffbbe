"""The composition root: settings become an app. The only module that names a backend or an adapter."""

import ctypes
import gc
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

from emissary import __version__
from emissary.adapters.clock import SystemChance, SystemClock
from emissary.adapters.extraction.pool import ExtractionPool
from emissary.adapters.extraction.process import ChildLimits
from emissary.adapters.http import HttpWeb
from emissary.adapters.vault import FileVault
from emissary.api.services import PartHealth, Services
from emissary.backends.cluster.stores import ClusterStores, open_stores
from emissary.backends.embedded.blobs import FileBlobs
from emissary.backends.embedded.captures import FileCaptures
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
from emissary.backends.local_bus import LocalBus
from emissary.backends.segments import Scribe
from emissary.engine.delivery import DELIVER, DeliveryHandler
from emissary.engine.handlers import Handler
from emissary.engine.jobs import Jobs
from emissary.engine.lane_run import Tools
from emissary.engine.results import Settler
from emissary.engine.worker import Ground, Worker, WorkerLimits
from emissary.model.accounts import Account, ApiKey, digest_of, spell_key
from emissary.model.errors import SettingsError, StoreUnavailable
from emissary.model.ids import AccountId, KeyId, WorkerId, ulid
from emissary.model.jobs import Kind
from emissary.model.lanes import LaneKey, Pace
from emissary.ports.clock import Chance, Clock
from emissary.ports.extraction import Extraction
from emissary.ports.records import WorkerRecords
from emissary.ports.web import Web
from emissary.products.scrape import ScrapeHandler, Scrapes, ScrapeTools
from emissary.products.scrape.memory import Memory
from emissary.products.scrape.order import SCRAPE_HTTP
from emissary.reading.credentials import Credentials
from emissary.reading.egress import EgressPool, EgressWeb, Strategy
from emissary.reading.egress_list import read_proxies
from emissary.reading.extract import extract, is_light
from emissary.reading.guard import Guard
from emissary.reading.house_rules import HouseRulesBook
from emissary.reading.identity import PRODUCT_TOKEN, Identity
from emissary.reading.owners import OwnersBook
from emissary.reading.sessions import SessionBook
from emissary.reading.upkeep import Stores, Upkeep
from emissary.reading.urls import parse
from emissary.reading.visit import Visitor
from emissary.reading.warc import exchange_records, segment_start
from emissary.settings import Settings
from emissary.telemetry.metrics import Metrics

__all__ = ["LOCAL_ACCOUNT", "App", "first_key", "open_app", "open_cluster_stores", "steady_process", "the_clock"]

LOCAL_ACCOUNT = AccountId("acc_local")
_ITEMS_PER_TAKE = 20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # as glibc's malloc.h has them
_KEPT_BYTES = 64 * 1024 * 1024
_JITTER = 0.03
_LOW_DISK_BYTES = 500 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class App:
    """Everything, put together."""

    settings: Settings
    services: Services
    worker: Worker
    chance: Chance
    upkeep: Upkeep
    stores: Stores
    web: Web
    workers: WorkerRecords


@dataclass(frozen=True, slots=True)
class _Store:
    """The embedded backend, opened."""

    database: Database
    blobs: FileBlobs
    captures: FileCaptures
    vault: FileVault
    workers: LockedWorkers
    worker: WorkerId


@asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[App]:
    """Open the store, bring it up to date, and put the parts together; everything is closed again at the end."""
    _check(settings)
    clock, chance = SystemClock(), SystemChance()
    credentials = _credentials(settings, clock)
    pool = EgressPool(read_proxies(settings.egress), Strategy(settings.egress_strategy))
    guard = Guard(settings.allow_networks)
    metrics = Metrics()
    async with (
        _open_store(settings, clock, chance) as store,
        HttpWeb(permits=guard.permits, present=credentials.present, clock=clock) as web,
        _extraction(settings, metrics) as extraction,
    ):
        await credentials.load(SqliteSecrets(store.database), store.vault, chance)
        egress = EgressWeb(web, pool, clock)
        yield _assemble(settings, store, egress, credentials, extraction=extraction, metrics=metrics)


@asynccontextmanager
async def _open_store(settings: Settings, clock: Clock, chance: Chance) -> AsyncIterator[_Store]:
    folder = settings.data_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    worker = WorkerId(f"wrk_{ulid(clock.now(), chance.draw(10))}")
    vault = FileVault.at(folder / "master.key")
    database = await Database.open(folder / "emissary.db")
    captures = FileCaptures(folder / "captures", worker, _scribe(chance))
    try:
        workers = LockedWorkers(database, folder / "workers")
        yield _Store(database, FileBlobs(folder / "objects"), captures, vault, workers, worker)
    finally:
        await captures.close()
        await database.close()


def open_cluster_stores(settings: Settings, worker: WorkerId) -> AbstractAsyncContextManager[ClusterStores]:
    """What processes share, where the settings name servers for it."""
    assert settings.database_url is not None
    assert settings.objects_url is not None
    urls = settings.database_url.get_secret_value(), settings.objects_url.get_secret_value()
    return open_stores(*urls, writer=worker, scribe=_scribe(SystemChance()), clock=SystemClock())


def _scribe(chance: Chance) -> Scribe:
    software = f"{PRODUCT_TOKEN}/{__version__}"
    return Scribe(
        lambda name, at: segment_start(software, name, at, chance.draw(16)),
        lambda exchange: exchange_records(exchange, chance.draw(16)),
    )


def _credentials(settings: Settings, clock: Clock) -> Credentials:
    identity = Identity(__version__, settings.contact, settings.agent_email)
    agent = None if settings.agent_url is None else parse(str(settings.agent_url))
    return Credentials(identity, agent, settings.signature_form, clock=clock)


def _extraction(settings: Settings, metrics: Metrics) -> ExtractionPool:
    limits = ChildLimits(memory=settings.extraction_memory * 1024**2, seconds=settings.extraction_seconds)
    return ExtractionPool(extract, is_light, processes=settings.extraction_processes, limits=limits, metrics=metrics)


def _assemble(
    settings: Settings, store: _Store, web: Web, credentials: Credentials, *, extraction: Extraction, metrics: Metrics
) -> App:
    clock, chance = SystemClock(), SystemChance()
    database, bus, lanes = store.database, LocalBus(), SqliteLanes(store.database)
    jobs = Jobs(lanes, SqliteJobRecords(database), store.blobs, bus=bus, clock=clock, metrics=metrics)
    owners = OwnersBook(SqliteSiteOwners(database), clock)
    house_rules = SqliteHouseRules(database)
    rules = HouseRulesBook(web, house_rules, clock, owners)
    cache, sessions = SqlitePageCache(database), SqliteSessions(database)
    scraping = ScrapeTools(
        visitor=Visitor(web, rules, clock),
        extraction=extraction,
        credentials=credentials,
        memory=Memory(cache, store.captures if settings.captures else None, clock),
        owners=owners,
        sessions=SessionBook(sessions, store.vault, clock),
        clock=clock,
        chance=chance,
        metrics=metrics,
    )
    handlers: dict[Kind, Handler] = {SCRAPE_HTTP: ScrapeHandler(scraping), DELIVER: DeliveryHandler(web, clock)}
    settler = Settler(lanes, bus, clock, metrics, beforehand=store.captures.flush)
    worker = Worker(
        store.worker,
        Ground(lanes, bus, store.workers),
        Tools(handlers, settler, store.blobs, clock, metrics, _ITEMS_PER_TAKE, _jitter(chance)),
        pace=lambda lane: owners.pace_of(lane, _pace(settings, lane)),
        limits=WorkerLimits(lanes=settings.worker_lanes),
    )
    services = Services(
        version=__version__,
        scrapes=Scrapes(jobs, clock=clock, chance=chance),
        jobs=jobs,
        accounts=SqliteAccounts(database),
        metrics=metrics,
        clock=clock,
        health=_Health(settings, database).parts,
        credentials=credentials,
        owners=owners,
        gap=settings.gap,
    )
    secrets = SqliteSecrets(database)
    stores = Stores(owners, credentials, secrets, store.vault, cache, sessions, store.captures, house_rules)
    return App(settings, services, worker, chance, Upkeep(stores, clock, chance), stores, web, store.workers)


def _jitter(chance: Chance) -> Callable[[], float]:
    return lambda: chance.draw(1)[0] / 255 * _JITTER


def _pace(settings: Settings, lane: LaneKey) -> Pace:
    """Hosts are asked at the pace of the settings; a webhook's receiver wants its events as they come."""
    return Pace(settings.gap, settings.host_concurrency) if lane.startswith("host:") else Pace(timedelta())


def _check(settings: Settings) -> None:
    shared = {"EMISSARY_DATABASE_URL": settings.database_url, "EMISSARY_OBJECTS_URL": settings.objects_url}
    given = [name for name, value in shared.items() if value is not None]
    if len(given) == 1:
        (missing,) = shared.keys() - set(given)
        raise SettingsError(f"{given[0]}: it needs {missing} beside it: who shares the one must share the other")
    if given:
        what = "this version keeps everything in EMISSARY_DATA_DIR; unset both, or use a later version"
        raise SettingsError(f"{' and '.join(given)}: {what}")


def steady_process() -> None:
    """Tell the collector that what was made at start lives for ever, and the allocator to keep what pages give back.

    A page's tree is made and gone in a moment. Handing its memory back to the system each time, and asking for it
    anew, costs as much as parsing does.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    with suppress(OSError, AttributeError):  # another C library has no such knob
        library = ctypes.CDLL(None)
        library.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        library.mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES // 4)


def the_clock() -> Clock:
    """The real clock, for those who have no app to take it from."""
    return SystemClock()


async def first_key(app: App) -> str | None:
    """See to it that there is a key. One that is made here is returned, to be shown this once."""
    accounts, now = app.services.accounts, app.services.clock.now()
    await accounts.open_account(Account(LOCAL_ACCOUNT, "local", now))
    given = None if app.settings.api_key is None else app.settings.api_key.get_secret_value()
    if given is None and await accounts.has_keys():
        return None
    if given is None and not app.settings.is_loopback:
        what = f"{app.settings.host} can be reached from elsewhere, and there is no key yet"
        raise SettingsError(f"{what}: set EMISSARY_API_KEY, or start once on 127.0.0.1 to have one made")
    secret = given or spell_key(app.chance.draw(38))
    key = ApiKey(KeyId(f"key_{ulid(now, app.chance.draw(10))}"), LOCAL_ACCOUNT, digest_of(secret), now)
    await accounts.add_key(key)
    return None if given else secret


class _Health:
    """Looks at each part when asked."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database

    async def parts(self) -> list[PartHealth]:
        return [await self._store(), self._disk(), PartHealth("http", "ok"), self._browser()]

    async def _store(self) -> PartHealth:
        try:
            await self._database.write(lambda connection: connection.execute("SELECT 1").fetchone())
        except StoreUnavailable as error:
            return PartHealth("store", "down", error.detail)
        return PartHealth("store", "ok")

    def _disk(self) -> PartHealth:
        free = shutil.disk_usage(self._settings.data_dir).free
        if free < _LOW_DISK_BYTES:
            return PartHealth("disk", "degraded", f"only {free // 1024**2} MiB are free in {self._settings.data_dir}")
        return PartHealth("disk", "ok")

    def _browser(self) -> PartHealth:
        return PartHealth("browser", "degraded", "this version reads over HTTP only: there is no browser engine yet")
