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
        self._next = clock.monotonic()
        self._rest_until: datetime | None = None
        self._reason = Reason.GAP

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the next polite moment; the lane is used inside."""
        async with self._places:
            async with self._order:
                while (wait := self._next - self._clock.monotonic()) > 0:
                    await self._clock.sleep(wait)
                self._next = self._clock.monotonic() + self._gap.total_seconds()
            try:
                yield
            finally:
                self._next = self._clock.monotonic() + self._gap.total_seconds()

    def heed(self, advice: LaneAdvice) -> None:
        """A site may ask for more patience than we plan, never for less."""
        if advice.gap is not None:
            self._gap = max(self._least_gap, advice.gap)
        if advice.rest_until is not None and (self._rest_until is None or advice.rest_until > self._rest_until):
            self._rest_until, self._reason = advice.rest_until, advice.reason

    @property
    def must_rest(self) -> bool:
        """Whether the thing behind the lane asked to be left alone for a while."""
        return self._rest_until is not None and self._rest_until > self._clock.now()

    def rest(self) -> tuple[datetime, Reason]:
        """Until when the lane rests once it is let go, and why."""
        gap_ends = self._clock.now() + timedelta(seconds=max(self._next - self._clock.monotonic(), 0))
        if self._rest_until is not None and self._rest_until > gap_ends:
            return self._rest_until, self._reason
        return gap_ends, Reason.GAP
