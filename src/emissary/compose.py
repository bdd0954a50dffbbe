"""The composition root: settings become an app. The only module that names a backend or an adapter."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from emissary import __version__
from emissary.adapters.clock import SystemChance, SystemClock
from emissary.adapters.http import AiohttpWeb
from emissary.api.services import PartHealth, Services
from emissary.backends.embedded.blobs import FileBlobs
from emissary.backends.embedded.bus import LocalBus
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.records import SqliteAccounts, SqliteHouseRules, SqliteJobRecords
from emissary.backends.embedded.workers import LockedWorkers
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
from emissary.model.lanes import Pace
from emissary.ports.clock import Chance, Clock
from emissary.ports.web import Web
from emissary.products.scrape import ScrapeHandler, Scrapes
from emissary.products.scrape.order import SCRAPE_HTTP
from emissary.reading.guard import Guard
from emissary.reading.house_rules import HouseRulesBook
from emissary.reading.identity import Identity
from emissary.reading.visit import Visitor
from emissary.settings import Settings
from emissary.telemetry.metrics import Metrics

__all__ = ["LOCAL_ACCOUNT", "App", "first_key", "open_app", "the_clock"]

LOCAL_ACCOUNT = AccountId("acc_local")
_ITEMS_PER_TAKE = 20
_LOW_DISK_BYTES = 500 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class App:
    """Everything, put together."""

    settings: Settings
    services: Services
    worker: Worker
    chance: Chance


@asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[App]:
    """Open the store, bring it up to date, and put the parts together; everything is closed again at the end."""
    _check(settings)
    clock = SystemClock()
    identity = Identity(__version__, settings.contact)
    guard = Guard(settings.allow_networks)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = await Database.open(settings.data_dir / "emissary.db")
    try:
        async with AiohttpWeb(permits=guard.permits, present=identity.headers(), clock=clock) as web:
            yield _assemble(settings, database, web, identity)
    finally:
        await database.close()


def _assemble(settings: Settings, database: Database, web: Web, identity: Identity) -> App:
    clock, chance, metrics = SystemClock(), SystemChance(), Metrics()
    bus, blobs = LocalBus(), FileBlobs(settings.data_dir / "objects")
    lanes = SqliteLanes(database)
    jobs = Jobs(lanes, SqliteJobRecords(database), blobs, bus=bus, clock=clock, metrics=metrics)
    visitor = Visitor(web, HouseRulesBook(web, SqliteHouseRules(database), clock), clock)
    handlers: dict[Kind, Handler] = {
        SCRAPE_HTTP: ScrapeHandler(visitor, identity, clock=clock, chance=chance, metrics=metrics),
        DELIVER: DeliveryHandler(web, clock),
    }
    worker = Worker(
        WorkerId(f"wrk_{ulid(clock.now(), chance.draw(10))}"),
        Ground(lanes, bus, LockedWorkers(database, settings.data_dir / "workers")),
        Tools(handlers, Settler(lanes, bus, clock, metrics), blobs, clock, metrics, _ITEMS_PER_TAKE),
        pace=Pace(settings.gap, settings.host_concurrency),
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
    )
    return App(settings, services, worker, chance)


def _check(settings: Settings) -> None:
    for name in ("database_url", "objects_url"):
        if getattr(settings, name) is not None:
            what = "this version keeps everything in EMISSARY_DATA_DIR; unset it, or use a later version"
            raise SettingsError(f"EMISSARY_{name.upper()}: {what}")


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
