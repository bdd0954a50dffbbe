"""The front for many pages: takes lines in, however many they are, and shows what became of them."""

import hashlib
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from emissary.engine.jobs import Jobs, new_job_id
from emissary.model.batches import Batch, BatchState, Finished, LedgerLine, NewBatch
from emissary.model.errors import BadRequest, NotFound
from emissary.model.ids import AccountId, BatchId, ulid
from emissary.model.jobs import JobState, NewJob, Priority
from emissary.model.lanes import host_lane
from emissary.ports.batches import Batches, Ledger
from emissary.ports.clock import Chance, Clock
from emissary.products.scrape.order import SCRAPE_HTTP, PageOfBatch, ScrapeOptions, check_options
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
    "ScrapeBatches",
    "mark_of",
    "page_job",
]

BATCH_PREFIX = "bat_"
CRAWL_PREFIX = "crl_"
MOST_PAGES = 1_000_000
_MOST_FAULTS_TOLD = 1_000
_AGAIN_AT_ONCE = 5_000
_PAGE = 500

_encode = msgspec.json.Encoder().encode


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One page of a batch, as the caller names it."""

    url: str
    metadata: dict[str, Any] | None = None


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


@dataclass(slots=True)
class Accepted:
    """What came of the lines."""

    id: BatchId
    accepted: int = 0
    duplicates: int = 0
    invalid: int = 0
    faults: list[Faulty] = field(default_factory=list)  # the first thousand


def mark_of(href: str) -> bytes:
    """By which a batch knows a page again."""
    return hashlib.blake2b(href.encode(), digest_size=16).digest()


class Intake:
    """Takes the lines of one batch in. What came in is durable, chunk by chunk, and begins to be worked on at once."""

    def __init__(self, batch: NewBatch, wish: BatchWish, fronts: "ScrapeBatches") -> None:
        self.result = Accepted(batch.id)
        self._batch = batch
        self._wish = wish
        self._fronts = fronts
        self._seen = 0

    async def add(self, lines: Sequence[Line | Faulty]) -> None:
        """Take the next lines in; a fault among them is noted and does not stop the others."""
        if self._seen + len(lines) > MOST_PAGES:
            raise BadRequest(f"a batch has at most {MOST_PAGES:,} pages: send the rest as another", "batch_too_large")
        jobs = []
        for index, line in enumerate(lines, start=self._seen):
            made = line if isinstance(line, Faulty) else self._job(index, line)
            if isinstance(made, Faulty):
                self._note(made)
            else:
                jobs.append(made)
        self._seen += len(lines)
        if jobs:
            accepted = len(await self._fronts.jobs.accept(jobs))
            self.result.accepted += accepted
            self.result.duplicates += len(jobs) - accepted

    async def end(self) -> Accepted:
        """That was all."""
        if not self.result.accepted:
            await self.abandon()
            raise BadRequest("no line of the batch could be accepted: see that each has a `url`", "empty_batch")
        await self._fronts.batches.seal(self._batch.id)
        return self.result

    async def abandon(self) -> None:
        """The lines broke off: nothing of the batch is worked on any further."""
        await self._fronts.batches.mark(self._batch.id, BatchState.CANCELLED, self._fronts.clock.now())

    def _job(self, index: int, line: Line) -> NewJob | Faulty:
        try:
            url = parse(line.url)
        except BadRequest as error:
            return Faulty(index, line.url[:200], error.code)
        page = PageOfBatch(url.href, line.metadata)
        mark = mark_of(url.href) if self._wish.dedupe else None
        return page_job(self._fronts, self._batch, page, lane=host_lane(url.authority), mark=mark)

    def _note(self, fault: Faulty) -> None:
        self.result.invalid += 1
        if len(self.result.faults) < _MOST_FAULTS_TOLD:
            self.result.faults.append(fault)


def page_job(fronts: "ScrapeBatches", batch: NewBatch, page: PageOfBatch, *, lane: str, mark: bytes | None) -> NewJob:
    """The job that reads a page of a batch."""
    return NewJob(
        new_job_id(fronts.clock, fronts.chance),
        batch.account,
        batch.kind,
        lane,
        _encode(page),
        batch.priority,
        batch=batch.id,
        mark=mark,
    )


class ScrapeBatches:
    """Batches of pages, each shown to its own account only."""

    def __init__(self, jobs: Jobs, batches: Batches, ledger: Ledger, *, clock: Clock, chance: Chance) -> None:
        self.jobs = jobs
        self.batches = batches
        self.clock = clock
        self.chance = chance
        self._ledger = ledger

    async def begin(self, account: AccountId, wish: BatchWish) -> Intake:
        """Open a batch, to be filled line by line."""
        check_options(wish.options)
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
        return await self._ledger.lines(batch, after=after, most=most, states=states)

    async def finished(self, account: AccountId, batch: BatchId, *, after: str, most: int) -> list[Finished]:
        """Pages that have ended, behind this cursor, in the order in which they did."""
        await self.show(account, batch)
        try:
            return await self._ledger.finished(batch, after=after, most=most)
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
