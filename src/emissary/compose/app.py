"""Puts the parts together, on whichever backend the settings ask for."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from emissary import __version__
from emissary.adapters.clock import SystemChance
from emissary.adapters.extraction.pool import ExtractionPool
from emissary.adapters.extraction.process import ChildLimits
from emissary.adapters.http import HttpWeb
from emissary.adapters.memory import resident_bytes
from emissary.api.services import Services
from emissary.compose.backends import Backend, open_backend
from emissary.compose.coordination import coordinator_of
from emissary.compose.health import Health
from emissary.engine.accounts import AccountBook
from emissary.engine.answer_book import AnswerBook
from emissary.engine.coordinator import Coordinator
from emissary.engine.delivery import DeliveryHandler, DeliveryTools
from emissary.engine.events import DELIVER
from emissary.engine.handlers import Handler
from emissary.engine.hearers import Hearers
from emissary.engine.jobs import Jobs, JobStores
from emissary.engine.key_book import KeyBook
from emissary.engine.key_ring import KeyRing
from emissary.engine.lane_run import Tools
from emissary.engine.rate_gate import RateGate
from emissary.engine.results import Settler
from emissary.engine.webhook_book import WebhookBook, WebhookStores
from emissary.engine.worker import Ground, Worker, WorkerLimits
from emissary.model.errors import SealBroken, SettingsError
from emissary.model.jobs import Kind
from emissary.model.lanes import LaneKey, Pace
from emissary.model.waiting import Terms
from emissary.ports.clock import Chance, Clock
from emissary.ports.extraction import Extraction
from emissary.ports.keys import Keys
from emissary.ports.records import WorkerRecords
from emissary.ports.web import Web
from emissary.products.kinds import things_of
from emissary.products.scrape import ScrapeHandler, Scrapes, ScrapeTools
from emissary.products.scrape.batches import ScrapeBatches
from emissary.products.scrape.following import Following
from emissary.products.scrape.frontier import Frontier
from emissary.products.scrape.maps import Maps
from emissary.products.scrape.memory import Memory
from emissary.products.scrape.order import CRAWL_LISTING, SCRAPE_HTTP
from emissary.products.scrape.plans import Plans
from emissary.products.scrape.telling import Crier
from emissary.products.scrape.templates import Templates
from emissary.reading.credentials import Credentials
from emissary.reading.egress import EgressPool, EgressWeb, Strategy
from emissary.reading.egress_list import read_proxies
from emissary.reading.extract import extract
from emissary.reading.extract.weighing import is_light
from emissary.reading.guard import Guard
from emissary.reading.house_rules import HouseRulesBook
from emissary.reading.identity import Identity
from emissary.reading.owners import OwnersBook
from emissary.reading.sessions import SessionBook
from emissary.reading.upkeep import Stores, Upkeep
from emissary.reading.urls import parse
from emissary.reading.visit import Visitor
from emissary.settings import Settings
from emissary.telemetry.metrics import Metrics

__all__ = ["App", "open_app"]

_ITEMS_PER_TAKE = 20
_JITTER = 0.03


@dataclass(frozen=True, slots=True)
class App:
    """Everything, put together."""

    settings: Settings
    services: Services
    worker: Worker
    coordinator: Coordinator
    chance: Chance
    upkeep: Upkeep
    stores: Stores
    web: Web
    workers: WorkerRecords
    keys: Keys


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the parts of the app have in common."""

    settings: Settings
    backend: Backend
    web: Web
    credentials: Credentials
    extraction: Extraction
    metrics: Metrics
    chance: Chance
    owners: OwnersBook
    crier: Crier

    @property
    def clock(self) -> Clock:
        return self.backend.clock

    def pace_of(self, lane: LaneKey) -> Pace:
        """How politely the thing behind the lane is used: what its owner proved to want, else what the settings say."""
        return self.owners.pace_of(lane, _pace(self.settings, lane))


@asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[App]:
    """Open the stores, bring them up to date, and put the parts together; everything is closed again at the end."""
    chance, metrics, guard = SystemChance(), Metrics(), Guard(settings.allow_networks)
    pool = EgressPool(read_proxies(settings.egress), Strategy(settings.egress_strategy))
    async with open_backend(settings, chance) as backend:
        credentials = _credentials(settings, backend.clock)
        async with (
            HttpWeb(permits=guard.permits, present=credentials.present, clock=backend.clock) as web,
            _extraction(settings, metrics) as extraction,
        ):
            await _load(credentials, backend, chance, settings)
            egress = EgressWeb(web, pool, backend.clock)
            owners = OwnersBook(backend.owners, backend.clock)
            crier = Crier(Hearers(backend.webhooks, backend.clock), backend.clock, chance)
            parts = _Parts(settings, backend, egress, credentials, extraction, metrics, chance, owners, crier)
            yield _assemble(parts)


def _credentials(settings: Settings, clock: Clock) -> Credentials:
    identity = Identity(__version__, settings.contact, settings.agent_email)
    agent = None if settings.agent_url is None else parse(str(settings.agent_url))
    return Credentials(identity, agent, settings.signature_form, clock=clock)


async def _load(credentials: Credentials, backend: Backend, chance: Chance, settings: Settings) -> None:
    """Take the signing keys from the store; raises SettingsError where our master key is not that of the store."""
    try:
        await credentials.load(backend.secrets, backend.vault, chance)
    except SealBroken as error:
        what = f"{settings.data_dir / 'master.key'} is not the master key that sealed what is kept in this store"
        raise SettingsError(
            f"{what}: copy the one from the first machine's data directory over it, with mode 0400"
        ) from error


def _extraction(settings: Settings, metrics: Metrics) -> ExtractionPool:
    limits = ChildLimits(memory=settings.extraction_memory * 1024**2, seconds=settings.extraction_seconds)
    return ExtractionPool(extract, is_light, processes=settings.extraction_processes, limits=limits, metrics=metrics)


def _assemble(parts: _Parts) -> App:
    backend, clock, chance = parts.backend, parts.clock, parts.chance
    terms = Terms(parts.settings.allowance, parts.pace_of)
    job_stores = JobStores(backend.lanes, backend.jobs, backend.blobs)
    jobs = Jobs(job_stores, backend.bus, clock=clock, metrics=parts.metrics, terms=terms)
    rules = HouseRulesBook(parts.web, backend.rules, clock, parts.owners)
    batches = ScrapeBatches(
        jobs, backend.batches, backend.ledger, hearers=parts.crier.hearers, clock=clock, chance=chance
    )
    key_ring = KeyRing(backend.keys, backend.allowances, parts.settings.allowance, clock)
    services = Services(
        version=__version__,
        scrapes=Scrapes(jobs, parts.crier.hearers, clock=clock, chance=chance),
        batches=batches,
        following=Following(batches, clock, seconds=parts.settings.events_seconds),
        maps=Maps(batches, clock),
        plans=Plans(jobs, rules, parts.pace_of, clock=clock, chance=chance),
        jobs=jobs,
        captures=backend.captures,
        accounts=backend.accounts,
        allowances=backend.allowances,
        key_ring=key_ring,
        key_book=KeyBook(backend.keys, key_ring, clock, chance),
        webhooks=_webhook_book(parts, jobs),
        rate_gate=RateGate(backend.rates, clock),
        account_book=AccountBook(backend.allowances, backend.usage, parts.settings.allowance, clock),
        answer_book=AnswerBook(backend.first_answers, backend.vault, clock=clock, chance=chance),
        metrics=parts.metrics,
        clock=clock,
        health=Health(parts.settings, backend.touch).parts,
        credentials=parts.credentials,
        owners=parts.owners,
        chance=chance,
        gap=parts.settings.gap,
        origins=parts.settings.api_origins,
    )
    stores = Stores(
        parts.owners,
        parts.credentials,
        backend.secrets,
        backend.vault,
        backend.pages,
        backend.sessions,
        backend.captures,
        backend.rules,
    )
    upkeep = Upkeep(stores, clock, chance)
    coordinator = coordinator_of(parts.settings, backend, parts.crier, parts.metrics)
    worker = _worker(parts, rules)
    return App(
        parts.settings,
        services,
        worker,
        coordinator,
        chance,
        upkeep,
        stores,
        parts.web,
        backend.workers,
        backend.keys,
    )


def _webhook_book(parts: _Parts, jobs: Jobs) -> WebhookBook:
    backend = parts.backend
    stores = WebhookStores(backend.webhooks, backend.deliveries, backend.vault)
    return WebhookBook(stores, parts.crier.hearers, jobs, bus=backend.bus, clock=parts.clock, chance=parts.chance)


def _worker(parts: _Parts, rules: HouseRulesBook) -> Worker:
    settings, backend, clock = parts.settings, parts.backend, parts.clock
    scraping = _scraping(parts, rules)
    handlers: dict[Kind, Handler] = {
        SCRAPE_HTTP: scraping,
        CRAWL_LISTING: scraping,
        DELIVER: DeliveryHandler(
            DeliveryTools(parts.web, backend.webhooks, backend.deliveries, backend.vault, clock, parts.chance)
        ),
    }
    settler = Settler(backend.lanes, backend.bus, clock, parts.metrics, beforehand=backend.captures.flush)
    tools = Tools(
        handlers,
        settler,
        backend.blobs,
        clock,
        parts.metrics,
        _ITEMS_PER_TAKE,
        _jitter(parts.chance),
        things_of(settings.worker_kinds),
    )
    return Worker(
        backend.worker,
        Ground(backend.lanes, backend.bus, backend.workers, backend.ledger.halted),
        tools,
        pace=parts.pace_of,
        limits=WorkerLimits(
            lanes=settings.worker_lanes,
            urgent_lanes=max(settings.worker_lanes // 10, 1),
            all_lanes=settings.max_active,
            account_lanes=settings.account_most_active,
            memory=None if settings.worker_memory is None else settings.worker_memory * 1024**2,
        ),
        memory=resident_bytes,
    )


def _scraping(parts: _Parts, rules: HouseRulesBook) -> ScrapeHandler:
    backend, clock = parts.backend, parts.clock
    return ScrapeHandler(
        ScrapeTools(
            visitor=Visitor(parts.web, rules, clock),
            extraction=parts.extraction,
            credentials=parts.credentials,
            memory=Memory(backend.pages, backend.captures if parts.settings.captures else None, clock),
            templates=Templates(backend.ledger),
            frontier=Frontier(backend.batches, clock, parts.chance),
            crier=parts.crier,
            owners=parts.owners,
            sessions=SessionBook(backend.sessions, backend.vault, clock),
            clock=clock,
            chance=parts.chance,
            metrics=parts.metrics,
        )
    )


def _jitter(chance: Chance) -> Callable[[], float]:
    return lambda: chance.draw(1)[0] / 255 * _JITTER


def _pace(settings: Settings, lane: LaneKey) -> Pace:
    """Hosts are asked at the pace of the settings; a webhook's receiver wants its events as they come."""
    return Pace(settings.gap, settings.host_concurrency) if lane.startswith("host:") else Pace(timedelta())
