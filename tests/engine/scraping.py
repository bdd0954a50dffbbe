"""Real scraping in the workshop: pages of the local web, and an eye on the lane in whose turn each request leaves."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from workshop import Workshop, job

from emissary.adapters.clock import SystemChance
from emissary.adapters.http import HttpWeb
from emissary.adapters.vault import FileVault
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.ledger import SqliteLedger
from emissary.backends.embedded.reading_records import SqlitePageCache, SqliteSessions, SqliteSiteOwners
from emissary.backends.embedded.records import SqliteHouseRules
from emissary.backends.embedded.webhooks import SqliteWebhooks
from emissary.engine.handlers import Turn, Verdict, Work
from emissary.engine.hearers import Hearers
from emissary.model.extraction import Extracted, Wanted
from emissary.model.jobs import Job, NewJob
from emissary.model.lanes import LaneKey, host_lane
from emissary.model.pages import Page, Reply, Unreachable
from emissary.ports.web import Ask, Web
from emissary.products.scrape import ScrapeHandler, ScrapeTools
from emissary.products.scrape.frontier import Frontier
from emissary.products.scrape.memory import Memory
from emissary.products.scrape.order import ScrapeOrder
from emissary.products.scrape.telling import Crier
from emissary.products.scrape.templates import Templates
from emissary.reading.credentials import Credentials
from emissary.reading.egress import EgressPool, EgressWeb
from emissary.reading.extract import extract
from emissary.reading.guard import Guard
from emissary.reading.house_rules import HouseRulesBook
from emissary.reading.identity import Identity
from emissary.reading.owners import OwnersBook
from emissary.reading.sessions import SessionBook
from emissary.reading.urls import parse
from emissary.reading.visit import Visitor

__all__ = ["LaneWatch", "Scraper", "outcome_of", "page_job", "scraping"]

_turn_of: ContextVar[LaneKey | None] = ContextVar("turn_of", default=None)


def page_job(url: str, *, attempts: int = 1) -> NewJob:
    """A job that reads the page."""
    order = msgspec.json.encode(ScrapeOrder(parse(url), url, attempts=attempts))
    return msgspec.structs.replace(job(host_lane(parse(url).authority)), order=order)


def outcome_of(job: Job) -> dict[str, Any]:
    assert job.result is not None
    outcome: dict[str, Any] = msgspec.json.decode(job.result.outcome)
    return outcome


@dataclass(slots=True)
class LaneWatch:
    """Notes every request with the lane in whose turn it left; None is a request that waited for nobody."""

    left: list[tuple[LaneKey, LaneKey | None]] = field(default_factory=list)

    @property
    def astray(self) -> list[tuple[LaneKey, LaneKey | None]]:
        """Requests that left in another lane than that of the host they went to."""
        return [(host, lane) for host, lane in self.left if host != lane]


@dataclass(frozen=True, slots=True)
class _WatchedWeb:
    web: Web
    watch: LaneWatch

    async def ask(self, ask: Ask) -> Reply | Unreachable:
        self.watch.left.append((host_lane(ask.url.authority), _turn_of.get()))
        return await self.web.ask(ask)


@dataclass(frozen=True, slots=True)
class Scraper:
    """The handler of one worker: what it remembers, no other has."""

    handler: ScrapeHandler

    async def play(self, work: Work, turn: Turn) -> Verdict:
        @asynccontextmanager
        async def watched(gap: timedelta | None = None, /) -> AsyncIterator[None]:
            async with turn(gap):
                token = _turn_of.set(work.lane)
                try:
                    yield
                finally:
                    _turn_of.reset(token)

        return await self.handler.handle(work, watched)


class _InThisProcess:
    """Keeps the promise of `ports.extraction.Extraction` for pages that harm nobody, such as those of the local web."""

    async def extract(self, page: Page, wanted: Wanted) -> Extracted:
        return extract(page, wanted)


@asynccontextmanager
async def scraping(
    place: Path, workshop: Workshop, watch: LaneWatch, workers: int = 1, *, pool: EgressPool | None = None
) -> AsyncIterator[list[Scraper]]:
    """So many scrapers on the workshop's store, each as if in a process of its own but for a pool they may share."""
    credentials = Credentials(Identity("1", "https://bot.example/"), None, "current", clock=workshop.clock)
    async with AsyncExitStack() as stack:
        scrapers = []
        for _ in range(workers):
            web = HttpWeb(permits=Guard(["127.0.0.0/8"]).permits, present=credentials.present, clock=workshop.clock)
            database = await Database.open(place / "emissary.db")
            stack.push_async_callback(database.close)
            watched = _WatchedWeb(await stack.enter_async_context(web), watch)
            egress = EgressWeb(watched, pool or EgressPool(), workshop.clock)
            scrapers.append(Scraper(_handler(place, workshop, database, web=egress, credentials=credentials)))
        yield scrapers


def _handler(
    place: Path, workshop: Workshop, database: Database, *, web: Web, credentials: Credentials
) -> ScrapeHandler:
    clock = workshop.clock
    owners = OwnersBook(SqliteSiteOwners(database), clock)
    tools = ScrapeTools(
        visitor=Visitor(web, HouseRulesBook(web, SqliteHouseRules(database), clock, owners), clock),
        credentials=credentials,
        memory=Memory(SqlitePageCache(database), None, clock),
        templates=Templates(SqliteLedger(database)),
        frontier=Frontier(SqliteBatches(database), clock, SystemChance()),
        sessions=SessionBook(SqliteSessions(database), FileVault.at(place / "master.key"), clock),
        owners=owners,
        extraction=_InThisProcess(),
        crier=Crier(Hearers(SqliteWebhooks(database), clock), clock, SystemChance()),
        clock=clock,
        chance=SystemChance(),
        metrics=workshop.metrics,
    )
    return ScrapeHandler(tools)
