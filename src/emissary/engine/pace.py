"""Pacing in memory: a lane's holder keeps its gap and its concurrency, and hands the rest over when it lets go."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from emissary.model.lanes import LaneAdvice, Lease, Pace, Reason, Strain
from emissary.ports.clock import Clock

__all__ = ["LanePace"]

_RISING, _HEAVY, _EASING = 1.5, 2.0, 0.9
_MOST_STRETCH = 64.0
_LONG_WAIT = 2.0  # seconds: less is not worth giving a lane back and claiming it anew
_STRAINED_GAP = 0.5  # seconds: what a stretch is a multiple of where no gap was asked for
_BREAKER_STRIKES = 5  # so often in a row must nobody be there before the lane is left alone for a while
_BREAKER_REST, _BREAKER_LONGEST = timedelta(seconds=30), timedelta(minutes=5)
_GIVEN_UP_STRIKES = 9  # by then it has been left alone, and looked for in vain, for some eight minutes


class LanePace:
    """The pace of one lane while it is held: the gap runs from the end of one use to the beginning of the next."""

    def __init__(self, pace: Pace, lease: Lease, clock: Clock, jitter: Callable[[], float]) -> None:
        self._least_gap = pace.gap
        self._asked_gap = max(pace.gap, lease.gap or timedelta())
        self.stretch = lease.stretch
        self.strikes = lease.strikes
        self._gap = self._stretched()
        self._clock = clock
        self._jitter = jitter
        self._places = asyncio.Semaphore(pace.concurrency)
        self._order = asyncio.Lock()
        self._waiting: set[asyncio.Task[object]] = set()
        self._nobody_waits = False
        self._used_at: float | None = None
        self._rest_until: datetime | None = None
        self._reason = Reason.GAP

    def turn(self, gap: timedelta | None = None, /) -> "_Turn":
        """Wait for the next polite moment, by what was asked for by now; the lane is used inside."""
        if gap is not None:
            self._asked_gap = max(self._least_gap, gap)
            self._gap = self._stretched()
        return _Turn(self)

    def heed(self, advice: LaneAdvice) -> None:
        """A site may ask for more patience than we plan, never for less; where it strains, we come less often."""
        if advice.gap is not None:
            self._asked_gap = max(self._least_gap, advice.gap)
        match advice.strain:
            case Strain.NONE:
                self.stretch = max(self.stretch * _EASING, 1.0)
            case Strain.RISING:
                self.stretch = min(self.stretch * _RISING, _MOST_STRETCH)
            case Strain.HEAVY:
                self.stretch = min(self.stretch * _HEAVY, _MOST_STRETCH)
            case None:
                pass
        self._gap = self._stretched()
        if advice.rest_until is not None:
            self._rest(advice.rest_until, advice.reason)
        if advice.found is not None:
            self._count(found=advice.found)

    def _count(self, *, found: bool) -> None:
        """The breaker: where nobody is, again and again, we look less and less often."""
        self.strikes = 0 if found else self.strikes + 1
        if self.strikes >= _BREAKER_STRIKES:
            doublings = min(self.strikes - _BREAKER_STRIKES, 10)
            rest = min(_BREAKER_REST * (1 << doublings), _BREAKER_LONGEST)
            self._rest(self._clock.now() + rest, Reason.BREAKER)

    def _rest(self, until: datetime, reason: Reason) -> None:
        if self._rest_until is None or until > self._rest_until:
            self._rest_until, self._reason = until, reason

    @property
    def is_probing(self) -> bool:
        """Whether nobody was there for so long that one visit at a time is enough to see whether somebody is."""
        return self.strikes >= _BREAKER_STRIKES

    @property
    def is_given_up(self) -> bool:
        """Whether nobody was there for so long that what stands in line need not be tried one by one."""
        return self.strikes >= _GIVEN_UP_STRIKES

    def give_up_waiting(self) -> None:
        """End those who only wait for their turn, now or later: what they would have done goes back into line."""
        self._nobody_waits = True
        for task in self._waiting:
            task.cancel()

    @property
    def must_rest(self) -> bool:
        """Whether the thing behind the lane asked to be left alone for a while."""
        return self._rest_until is not None and self._rest_until > self._clock.now()

    @property
    def waits_long(self) -> bool:
        """Whether the next turn is so far away that the lane had better be given back for that time."""
        return self._left() > _LONG_WAIT

    def rest(self) -> tuple[datetime, Reason]:
        """Until when the lane rests once it is let go, and why."""
        gap_ends = self._clock.now() + timedelta(seconds=max(self._gap_left(), 0))
        if self._rest_until is not None and self._rest_until > gap_ends:
            return self._rest_until, self._reason
        return gap_ends, Reason.GAP

    async def begin(self) -> None:
        await self._places.acquire()
        try:
            if self._order.locked() or self._left() > 0:
                async with self._order:
                    await self._wait()
            self._used_at = self._clock.monotonic()
        except BaseException:
            self._places.release()
            raise

    def end(self) -> None:
        self._used_at = self._clock.monotonic()
        self._places.release()

    async def _wait(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "turns are taken by tasks"
        self._waiting.add(task)
        late = self._gap * self._jitter()
        try:
            while (wait := self._left()) > 0:
                if self._nobody_waits:  # it was still in use, or behind others, when those who waited were told
                    raise asyncio.CancelledError
                await self._clock.sleep(wait + late)
                late = 0.0  # a timer that came early, or a rest that was drawn out, is waited for without more of it
        finally:
            self._waiting.discard(task)

    def _left(self) -> float:
        return max(self._gap_left(), self._rest_left())

    def _stretched(self) -> float:
        """The gap in seconds, reckoned where it changes: it is looked at several times for every use."""
        return max(self._asked_gap.total_seconds() * self.stretch, (self.stretch - 1.0) * _STRAINED_GAP)

    def _gap_left(self) -> float:
        return 0.0 if self._used_at is None else self._used_at + self._gap - self._clock.monotonic()

    def _rest_left(self) -> float:
        return 0.0 if self._rest_until is None else (self._rest_until - self._clock.now()).total_seconds()


class _Turn:
    __slots__ = ("_pace",)

    def __init__(self, pace: LanePace) -> None:
        self._pace = pace

    async def __aenter__(self) -> None:
        await self._pace.begin()

    async def __aexit__(self, *_: object) -> None:
        self._pace.end()
