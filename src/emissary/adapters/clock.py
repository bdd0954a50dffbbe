"""The real clock and real chance: the one home of both."""

import asyncio
import os
import time
from datetime import UTC, datetime

__all__ = ["SystemChance", "SystemClock"]


class SystemClock:
    """Keeps the promise of `ports.clock.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))


class SystemChance:
    """Keeps the promise of `ports.clock.Chance`."""

    def draw(self, count: int) -> bytes:
        return os.urandom(count)
