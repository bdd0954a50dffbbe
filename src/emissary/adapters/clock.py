"""The real clock and real chance: the one home of both."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

__all__ = ["CarriedClock", "SystemChance", "SystemClock"]


class SystemClock:
    """Keeps the promise of `ports.clock.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))


class CarriedClock:
    """A clock that is kept elsewhere, carried on by this machine's steady one between two looks at it.

    Machines that share a database share its time, whatever their own clocks say or do.
    """

    def __init__(self, look: Callable[[], Awaitable[datetime]]) -> None:
        self._look = look
        self._seen = datetime.min.replace(tzinfo=UTC)
        self._seen_at = 0.0
        self._latest = self._seen

    async def correct(self) -> None:
        """Look at it again. The moment seen is taken for that in the middle between asking and being told."""
        asked = time.monotonic()
        seen = await self._look()
        self._seen, self._seen_at = seen, (asked + time.monotonic()) / 2

    def now(self) -> datetime:
        """The time there; a correction may let it stand still, but never takes it back."""
        self._latest = max(self._latest, self._seen + timedelta(seconds=time.monotonic() - self._seen_at))
        return self._latest

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))


class SystemChance:
    """Keeps the promise of `ports.clock.Chance`."""

    def draw(self, count: int) -> bytes:
        return os.urandom(count)
