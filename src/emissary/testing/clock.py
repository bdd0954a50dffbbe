"""Time that a test moves and chance that a test can foresee."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

__all__ = ["FakeClock", "SeededChance"]

_SOME_DAY = datetime(2030, 1, 1, tzinfo=UTC)


class FakeClock:
    """Keeps the promise of `ports.clock.Clock`; its time stands still until somebody advances it."""

    def __init__(self, start: datetime = _SOME_DAY) -> None:
        self._start = start
        self._passed = timedelta()  # exact, where adding up floats would drift
        self._sleepers: list[tuple[timedelta, asyncio.Future[None]]] = []
        self._fell_asleep = asyncio.Event()

    def now(self) -> datetime:
        return self._start + self._passed

    def monotonic(self) -> float:
        return self._passed.total_seconds()

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Rounded up: whoever sleeps wakes late rather than early, as with a real clock.
        entry = (self._passed + max(timedelta(seconds=seconds), timedelta.resolution), sleeper)
        self._sleepers.append(entry)
        self._fell_asleep.set()
        try:
            await sleeper
        finally:
            self._sleepers.remove(entry)

    def advance(self, seconds: float) -> None:
        """Let time pass and wake those whose time has come, the earliest first."""
        self._passed += timedelta(seconds=seconds)
        due = sorted((entry for entry in self._sleepers if entry[0] <= self._passed), key=lambda entry: entry[0])
        for _, sleeper in due:
            if not sleeper.done():
                sleeper.set_result(None)

    @property
    def waits(self) -> list[float]:
        """How many seconds each sleeper still has to wait, the earliest first."""
        left = [until - self._passed for until, sleeper in self._sleepers if not sleeper.done()]
        return sorted(each.total_seconds() for each in left)

    async def until_asleep(self, seconds: float, sleepers: int = 1) -> None:
        """Come back when so many sleepers wait for exactly so many seconds."""
        while self.waits.count(seconds) < sleepers:
            self._fell_asleep.clear()
            await self._fell_asleep.wait()


class SeededChance:
    """Keeps the promise of `ports.clock.Chance` but for one thing: with the seed, its bytes can be guessed."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - to be foreseen is what it is for

    def draw(self, count: int) -> bytes:
        return self._random.randbytes(count)
