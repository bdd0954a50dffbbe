"""A lane in a worker's hands: its items in order, at its pace, until there are no more or the lease is lost."""

import asyncio
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from emissary.engine.handlers import Done, Handler, Onward, Retry, Verdict, Work
from emissary.engine.pace import LanePace
from emissary.engine.results import Settler, pack
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import BatchId, JobId
from emissary.model.jobs import JobState, Kind
from emissary.model.lanes import Item, LaneAdvice, Lease, Pace, Release, Settlement, Thing, Trial, Wish
from emissary.ports.blobs import Blobs
from emissary.ports.clock import Clock
from emissary.telemetry.metrics import Metrics

__all__ = ["LaneRun", "Tools"]

_STORE_REST = timedelta(seconds=10)
_STRANGER_REST = timedelta(minutes=1)
_GIVEN_UP_AT_ONCE = 500


class _Again:
    """The store failed, and not the work: it is done again, and does not count as a failure."""


_AGAIN = _Again()

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Tools:
    """What every lane needs to do its work."""

    handlers: Mapping[Kind, Handler]
    settler: Settler
    blobs: Blobs
    clock: Clock
    metrics: Metrics
    items_per_take: int
    jitter: Callable[[], float] = lambda: 0.0  # which part of its gap a turn waits beyond it
    things: frozenset[Thing] | None = None  # what the worker serves; None is everything
    suspects: asyncio.Lock = field(default_factory=asyncio.Lock)  # what may kill a worker is handled one at a time


class LaneRun:
    """Serves one leased lane. The holder alone uses what is behind the lane, so pacing in memory is enough."""

    def __init__(self, lease: Lease, default: Pace, tools: Tools) -> None:
        self.grip = lease.grip
        self._tools = tools
        self._items = list(lease.items)
        self._mine = {item.job for item in lease.items}  # in hand, or settled and not yet written
        self._begun: dict[JobId, BatchId | None] = {}  # what is being handled, or waits for its turn
        self._may_have_more = len(lease.items) >= tools.items_per_take
        self._has_news = False
        self._in_line = asyncio.Lock()
        self._coming: asyncio.Future[tuple[Item, ...] | None] | None = None
        self._news_is_coming = False
        self._stopping = False
        self._lost = False
        self._asked_gap = lease.gap
        self._pace = LanePace(default, lease, tools.clock, tools.jitter)
        self._concurrency = 1 if self._pace.is_probing else default.concurrency
        self._servers: list[asyncio.Task[Any]] = []

    def look_again(self) -> None:
        """Something has come into the lane while it is held."""
        self._may_have_more = self._has_news = True

    def stop(self) -> None:
        """Finish what has begun, and give the rest back, with whatever only waits for its turn."""
        self._stopping = True
        self._pace.give_up_waiting()

    @property
    def batches(self) -> set[BatchId]:
        """Those of which something is in hand that may not have been asked for yet."""
        found = {item.batch for item in self._items}.union(self._begun.values())
        return {batch for batch in found if batch is not None}

    def lose(self) -> None:
        """The lane is in other hands: end at once, and write nothing."""
        if self._lost:
            return  # a second cancel would disturb the cleaning up after the first
        self._lost = True
        for server in self._servers:
            server.cancel()

    async def run(self) -> None:
        try:
            await self._serve_all()
        finally:
            if not self._lost:
                rest_until, reason = self._pace.rest()
                self._tools.settler.release(
                    Release(self.grip, rest_until, reason, self._asked_gap, self._pace.stretch, self._pace.strikes)
                )

    async def _serve_all(self) -> None:
        me = asyncio.current_task()
        if self._concurrency == 1 and me is not None:
            self._servers = [me]  # a task of its own would only begin a little later
            await self._serve()
            return
        async with asyncio.TaskGroup() as group:
            self._servers = [group.create_task(self._serve()) for _ in range(self._concurrency)]

    async def _serve(self) -> None:
        while (item := await self._next()) is not None:
            if item.deaths:
                async with self._tools.suspects:
                    await self._tools.settler.try_out(Trial(self.grip, item.job))
                    await self._do(item)
            else:
                await self._do(item)

    async def _do(self, item: Item) -> None:
        work = Work(item, self.grip.lane, self._tools.clock.now())
        self._begun[item.job] = item.batch
        try:
            verdict = await self._handle(work)
        finally:
            del self._begun[item.job]
        if isinstance(verdict, _Again):
            self._settle(self._later(work, self._tools.clock.now() + _STORE_REST, item.failures))
            return
        self._heed(verdict.advice)
        self._settle(await self._settlement(work, verdict))
        if self._pace.is_given_up and verdict.advice.found is False:
            await self._give_up()

    def _settle(self, settlement: Settlement) -> None:
        self._tools.settler.settle(settlement, partial(self._mine.discard, settlement.job))

    async def _give_up(self) -> None:
        """Nobody has been there for long: what stands in line ends as well, without being tried one by one."""
        while items := self._items or list(await self._more(_GIVEN_UP_AT_ONCE) or ()):
            self._items = []
            for item in items:
                work = Work(item, self.grip.lane, self._tools.clock.now())
                handler = self._tools.handlers.get(item.kind)
                if handler is not None:
                    self._settle(await self._settlement(work, handler.given_up(work)))

    async def _more(self, count: int) -> Sequence[Item] | None:
        found = await self._tools.settler.more(self._wish(count))
        self._mine.update(item.job for item in found or ())
        return found

    def _wish(self, count: int) -> Wish:
        return Wish(self.grip, count, frozenset(self._mine), self._tools.things)

    async def _next(self) -> Item | None:
        """The first item in line; whatever came while the lane was held takes its own place among them."""
        async with self._in_line:
            if self._must_end():
                return None
            if self._may_have_more and self._coming is None and len(self._items) < self._tools.items_per_take:
                self._ask_for_more()
            # The store must not hold up a turn. Only news is waited for: it may be more urgent than what is in hand.
            if self._coming is not None and (self._news_is_coming or not self._items):
                await asyncio.wait([self._coming])
                if self._must_end():
                    return None
            return self._items.pop(0) if self._items else None

    def _must_end(self) -> bool:
        return self._stopping or self._lost or self._pace.must_rest or self._pace.waits_long

    def _ask_for_more(self) -> None:
        self._news_is_coming = self._has_news
        self._may_have_more = self._has_news = False
        self._coming = self._tools.settler.more(self._wish(self._tools.items_per_take))
        self._coming.add_done_callback(self._take_in)

    def _take_in(self, came: asyncio.Future[tuple[Item, ...] | None]) -> None:
        self._coming = None
        found = came.result()
        if found is None:
            self.lose()
            return
        self._mine.update(item.job for item in found)
        if len(found) >= self._tools.items_per_take:
            self._may_have_more = True
        self._line_up(found)

    def _line_up(self, items: Sequence[Item]) -> None:
        if not self._items:
            self._items = list(items)  # they come in order
            return
        for item in items:
            insort(self._items, item, key=lambda waiting: (waiting.rank, waiting.job))

    def _heed(self, advice: LaneAdvice) -> None:
        self._pace.heed(advice)
        if advice.gap is not None:
            self._asked_gap = advice.gap

    async def _handle(self, work: Work) -> Verdict | _Again:
        handler = self._tools.handlers.get(work.item.kind)
        if handler is None:
            # A newer Emissary on the same store may have accepted it; that one, or this one upgraded, will do it.
            log.error("nobody here does this kind of work", job=work.item.job, kind=work.item.kind)
            return Retry(self._tools.clock.now() + _STRANGER_REST)
        try:
            return await handler.handle(work, self._pace.turn)
        except StoreUnavailable as error:
            log.warning("the store failed while work was done, it will be done again", reason=error.detail)
            return _AGAIN
        except Exception as error:  # the worker's boundary: a handler's bug ends its job, not the worker
            self._tools.metrics.broken.labels(work.item.kind).inc()
            log.exception("handler broke", job=work.item.job, kind=work.item.kind)
            return handler.broken(work, type(error).__name__)

    async def _settlement(self, work: Work, verdict: Verdict) -> Settlement:
        item, started = work.item, work.started_at
        match verdict:
            case Done(state, result, _, follow_ups, credits, cached, miss):
                try:
                    stored = await pack(item.job, result, self._tools.blobs)
                except StoreUnavailable as error:
                    log.warning("result not stored, the job will be done again", job=item.job, reason=error.detail)
                    return self._later(work, self._tools.clock.now() + _STORE_REST, item.failures)
                return Settlement(
                    self.grip,
                    item.job,
                    item.rank,
                    started,
                    state,
                    stored,
                    failures=item.failures,
                    follow_ups=follow_ups,
                    credits=credits,
                    cached=cached,
                    miss=miss,
                )
            case Retry(at, counts=counts):
                return self._later(work, at, item.failures + 1 if counts else item.failures)
            case Onward(lane, trail):
                state = JobState.WAITING
                return Settlement(
                    self.grip, item.job, item.rank, started, state, failures=item.failures, onward=lane, trail=trail
                )

    def _later(self, work: Work, at: datetime, failures: int) -> Settlement:
        item = work.item
        return Settlement(self.grip, item.job, item.rank, work.started_at, JobState.DELAYED, None, at, failures)
