"""The front for many pages: takes lines in, however many they are, and shows what became of them."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog

from emissary.engine.hearers import Hearers
from emissary.engine.jobs import Jobs, new_job_id
from emissary.model.batches import LOST_AFTER, Batch, BatchState, Finished, LedgerLine, NewBatch
from emissary.model.errors import BadRequest, NotFound, StoreUnavailable
from emissary.model.ids import AccountId, BatchId, ulid
from emissary.model.jobs import JobState, NewJob, Priority
from emissary.model.lanes import host_lane
from emissary.model.pages import WebUrl
from emissary.ports.batches import Batches, Ledger
from emissary.ports.clock import Chance, Clock
from emissary.products.scrape.crawling import CrawlRules
from emissary.products.scrape.order import (
    CRAWL_LISTING,
    SCRAPE_HTTP,
    ListingOfCrawl,
    PageOfBatch,
    ScrapeOptions,
    check_options,
)
from emissary.products.scrape.waits import LaneWait, waits_of
from emissary.reading.urls import parse

__all__ = [
    "BATCH_PREFIX",
    "CRAWL_PREFIX",
    "MOST_PAGES",
    "Accepted",
    "BatchWish",
    "Faulty",
    "Intake",
    "Line",
    "ListsOfSite",
    "ScrapeBatches",
    "beginning_of",
    "mark_of",
    "mark_of_listing",
    "page_job",
]

BATCH_PREFIX = "bat_"
CRAWL_PREFIX = "crl_"
MOST_PAGES = 1_000_000
_MOST_FAULTS_TOLD = 1_000
_SHOWN = 200
_AGAIN_AT_ONCE = 5_000
_PAGE = 500
_HEARD_EVERY = LOST_AFTER / 6

log = structlog.get_logger(__name__)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(PageOfBatch).decode


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One page of a batch, as the caller names it."""

    url: str
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ListsOfSite:
    """The lists of pages that a site keeps, to be looked for from its robots.txt on; a crawl may begin with them."""

    url: str


def beginning_of(rules: CrawlRules) -> list[Line | ListsOfSite]:
    """With what a crawl begins: lists first, since they say most; what they name is one step from the start."""
    lists = rules.sitemap != "skip" and rules.max_depth > 0
    page = not (lists and rules.sitemap == "only")
    return [*([ListsOfSite(rules.start.href)] if lists else []), *([Line(rules.start.href)] if page else [])]


@dataclass(frozen=True, slots=True)
class Faulty:
    """A line that was not accepted, and why; lines are counted from 0."""

    index: int
    url: str
    code: str


@dataclass(frozen=True, slots=True)
class BatchWish:
    """What is wanted of all pages of a batch."""

    options: ScrapeOptions
    name: str | None = None
    priority: Priority = Priority.NORMAL
    dedupe: bool = True
    leave_out_misses: bool = False  # pages that the account asked for in vain within a day


@dataclass(slots=True)
class Accepted:
    """What came of the lines."""

    id: BatchId
    accepted: int = 0
    duplicates: int = 0
    invalid: int = 0
    faults: list[Faulty] = field(default_factory=list)  # the first thousand
    excluded: int = 0
    exclusions: list[Faulty] = field(default_factory=list)  # the first thousand, with the codes they came to before


def mark_of(href: str) -> bytes:
    """By which a batch knows a page again."""
    return hashlib.blake2b(href.encode(), digest_size=16).digest()


def mark_of_listing(href: str) -> bytes:
    """By which a crawl knows a list of pages again: the same URL may be a page as well."""
    return mark_of(f"listing {href}")


class Intake:
    """Takes the lines of one batch in. What came in is durable, chunk by chunk, and begins to be worked on at once."""

    def __init__(self, batch: NewBatch, wish: BatchWish, fronts: "ScrapeBatches") -> None:
        self.result = Accepted(batch.id)
        self._batch = batch
        self._wish = wish
        self._fronts = fronts
        self._seen = 0

    async def add(self, lines: Sequence[Line | Faulty | ListsOfSite]) -> None:
        """Take the next lines in; a fault among them is noted and does not stop the others."""
        if self._seen + len(lines) > MOST_PAGES:
            raise BadRequest(f"a batch has at most {MOST_PAGES:,} pages: send the rest as another", "batch_too_large")
        jobs: dict[int, NewJob] = {}
        for index, line in enumerate(lines, start=self._seen):
            made = line if isinstance(line, Faulty) else self._job(index, line)
            if isinstance(made, Faulty):
                self.result.invalid += 1
                _note(self.result.faults, made)
            else:
                jobs[index] = made
        self._seen += len(lines)
        if self._wish.leave_out_misses:
            await self._leave_out(jobs)
        if jobs:
            await self._accept(list(jobs.values()))

    async def _leave_out(self, jobs: dict[int, NewJob]) -> None:
        """Take those away whose pages were asked for in vain, and note them."""
        urls = {index: _decode(job.order).url for index, job in jobs.items()}
        marks = {index: mark_of(url) for index, url in urls.items()}
        missed = await self._fronts.ledger.misses(self._batch.account, marks.values(), self._fronts.clock.now())
        for index, mark in marks.items():
            if mark in missed:
                del jobs[index]
                self.result.excluded += 1
                _note(self.result.exclusions, Faulty(index, urls[index][:_SHOWN], missed[mark]))

    async def _accept(self, jobs: list[NewJob]) -> None:
        accepted = len(await self._fronts.jobs.accept(jobs))
        if not accepted and not await self._fronts.batches.hear(self._batch.id, self._fronts.clock.now()):
            raise BadRequest(f"the batch {self._batch.id} was cancelled while its lines still came", "batch_cancelled")
        self.result.accepted += accepted
        self.result.duplicates += len(jobs) - accepted

    @asynccontextmanager
    async def kept_open(self) -> AsyncIterator[None]:
        """For as long as this lasts, the store hears now and then that lines may still come, however slowly."""
        hearing = asyncio.create_task(self._stay_heard())
        try:
            yield
        finally:
            hearing.cancel()

    async def _stay_heard(self) -> None:
        while True:
            await self._fronts.clock.sleep(_HEARD_EVERY.total_seconds())
            try:
                await self._fronts.batches.hear(self._batch.id, self._fronts.clock.now())
            except StoreUnavailable as error:
                log.warning("the store did not hear that a batch is still being filled", reason=error.detail)

    async def end(self) -> Accepted:
        """That was all."""
        if not self.result.accepted:
            await self.abandon()
            if self.result.excluded:
                raise BadRequest("every page of the batch was asked for in vain within a day", "empty_batch")
            raise BadRequest("no line of the batch could be accepted: see that each has a `url`", "empty_batch")
        await self._fronts.batches.seal(self._batch.id)
        return self.result

    async def abandon(self) -> None:
        """The lines broke off: nothing of the batch is worked on any further."""
        await self._fronts.batches.mark(self._batch.id, BatchState.CANCELLED, self._fronts.clock.now())

    def _job(self, index: int, line: Line | ListsOfSite) -> NewJob | Faulty:
        try:
            url = parse(line.url)
        except BadRequest as error:
            return Faulty(index, line.url[:_SHOWN], error.code)
        if isinstance(line, ListsOfSite):
            return self._listing(parse(f"{url.origin}/robots.txt"))
        page = PageOfBatch(url.href, line.metadata)
        mark = mark_of(url.href) if self._wish.dedupe else None
        return page_job(self._fronts, self._batch, page, lane=host_lane(url.authority), mark=mark)

    def _listing(self, robots: WebUrl) -> NewJob:
        listing, lane = ListingOfCrawl(robots.href, None, 0, "robots"), host_lane(robots.authority)
        return page_job(self._fronts, self._batch, listing, lane=lane, mark=mark_of_listing(robots.href))


def _note(told: list[Faulty], fault: Faulty) -> None:
    if len(told) < _MOST_FAULTS_TOLD:
        told.append(fault)


def page_job(fronts: "ScrapeBatches", batch: NewBatch, page: PageOfBatch, *, lane: str, mark: bytes | None) -> NewJob:
    """The job that reads a page of a batch, or a list of pages of a crawl."""
    return NewJob(
        new_job_id(fronts.clock, fronts.chance),
        batch.account,
        CRAWL_LISTING if isinstance(page, ListingOfCrawl) else batch.kind,
        lane,
        _encode(page),
        batch.priority,
        batch=batch.id,
        mark=mark,
        price=0 if isinstance(page, ListingOfCrawl) else 1,
    )


class ScrapeBatches:
    """Batches of pages, each shown to its own account only."""

    def __init__(
        self, jobs: Jobs, batches: Batches, ledger: Ledger, *, hearers: Hearers, clock: Clock, chance: Chance
    ) -> None:
        self.jobs = jobs
        self.hearers = hearers
        self.batches = batches
        self.clock = clock
        self.chance = chance
        self.ledger = ledger

    async def begin(self, account: AccountId, wish: BatchWish) -> Intake:
        """Open a batch, to be filled line by line."""
        check_options(wish.options)
        await self.hearers.check(account, wish.options.webhook)
        now = self.clock.now()
        prefix = BATCH_PREFIX if wish.options.crawl is None else CRAWL_PREFIX
        identity = BatchId(prefix + ulid(now, self.chance.draw(10)))
        batch = NewBatch(identity, account, SCRAPE_HTTP, wish.name, _encode(wish.options), wish.priority)
        await self.batches.open(batch, now)
        return Intake(batch, wish, self)

    async def show(self, account: AccountId, batch: BatchId) -> Batch:
        """The batch as it is now. Another account's batch answers exactly like one that never was."""
        found = await self.batches.find(batch)
        if found is None or found.account != account:
            raise NotFound(f"there is no batch {batch}")
        return found

    async def waits(self, batch: Batch) -> list[LaneWait]:
        """The lanes in which most of the batch waits."""
        return await waits_of(batch, self.ledger, self.jobs)

    async def mark(self, account: AccountId, batch: BatchId, state: BatchState) -> Batch:
        """Pause the batch, let it run on, or cancel it."""
        shown = await self.show(account, batch)
        if not await self.batches.mark(batch, state, self.clock.now()):
            raise BadRequest(f"the batch has ended: it is {shown.state.value}", "batch_finished")
        return await self.show(account, batch)

    async def again(self, account: AccountId, batch: BatchId, states: Collection[JobState]) -> int:
        """Have the pages that ended so read once more; returns how many they are."""
        shown = await self.show(account, batch)
        if not shown.sealed or shown.state is BatchState.CANCELLED:
            raise BadRequest(f"nothing can be tried again in a batch that is {shown.state.value}", "batch_finished")
        total, count = 0, _AGAIN_AT_ONCE
        while count == _AGAIN_AT_ONCE:  # fewer are the last: those that end so once more meanwhile are not ours
            count = await self.batches.again(batch, states, self.clock.now(), most=_AGAIN_AT_ONCE)
            total += count
        return total

    async def lines(
        self, account: AccountId, batch: BatchId, *, after: int, most: int, states: Collection[JobState] | None
    ) -> list[LedgerLine]:
        """The pages in the order in which they came."""
        await self.show(account, batch)
        return await self.ledger.lines(batch, after=after, most=most, states=states)

    async def finished(self, account: AccountId, batch: BatchId, *, after: str, most: int) -> list[Finished]:
        """Pages that have ended, behind this cursor, in the order in which they did."""
        await self.show(account, batch)
        try:
            return await self.ledger.finished(batch, after=after, most=most)
        except ValueError:
            raise BadRequest(f"{after!r} is not a cursor: use one of an earlier answer", "invalid_cursor") from None

    async def body_of(self, finished: Finished) -> bytes | None:
        """What the page left behind."""
        return await self.jobs.body_of_result(finished.line.job, finished.result)

    async def stream(self, account: AccountId, batch: BatchId, after: str) -> AsyncIterator[Finished]:
        """All pages that have ended by now, behind this cursor."""
        while page := await self.finished(account, batch, after=after, most=_PAGE):
            for each in page:
                yield each
            after = page[-1].cursor
