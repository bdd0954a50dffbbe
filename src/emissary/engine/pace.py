"""Pacing in memory: a lane's holder keeps its gap and its concurrency, and hands the rest over when it lets go."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from emissary.model.lanes import LaneAdvice, Pace, Reason
from emissary.ports.clock import Clock

__all__ = ["LanePace"]


class LanePace:
    """The pace of one lane while it is held: the gap runs from the end of one use to the beginning of the next."""

    def __init__(self, pace: Pace, asked_gap: timedelta | None, clock: Clock) -> None:
        self._least_gap = pace.gap
        self._gap = max(pace.gap, asked_gap or timedelta())
        self._clock = clock
        self._places = asyncio.Semaphore(pace.concurrency)
        self._order = asyncio.Lock()
        self._used_at: float | None = None
        self._rest_until: datetime | None = None
        self._reason = Reason.GAP

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the next polite moment; the lane is used inside."""
        async with self._places:
            async with self._order:
                while (wait := max(self._gap_left(), self._rest_left())) > 0:
                    await self._clock.sleep(wait)
                self._used_at = self._clock.monotonic()
            try:
                yield
            finally:
                self._used_at = self._clock.monotonic()

    def heed(self, advice: LaneAdvice) -> None:
        """A site may ask for more patience than we plan, never for less."""
        if advice.gap is not None:
            self._gap = max(self._least_gap, advice.gap)
        if advice.rest_until is not None and (self._rest_until is None or advice.rest_until > self._rest_until):
            self._rest_until, self._reason = advice.rest_until, advice.reason

    @property
    def must_rest(self) -> bool:
        """Whether the thing behind the lane asked to be left alone for a while."""
        return self._rest_left() > 0

    def rest(self) -> tuple[datetime, Reason]:
        """Until when the lane rests once it is let go, and why."""
        gap_ends = self._clock.now() + timedelta(seconds=self._gap_left())
        if self._rest_until is not None and self._rest_until > gap_ends:
            return self._rest_until, self._reason
        return gap_ends, Reason.GAP

    def _gap_left(self) -> float:
        """Measured with the gap of this moment: a longer one holds from the end of the visit that learned of it."""
        if self._used_at is None:
            return 0.0
        return max(self._used_at + self._gap.total_seconds() - self._clock.monotonic(), 0.0)

    def _rest_left(self) -> float:
        if self._rest_until is None:
            return 0.0
        return max((self._rest_until - self._clock.now()).total_seconds(), 0.0)
