"""Time and chance, so that tests can move the one and fix the other."""

from datetime import datetime
from typing import Protocol

__all__ = ["Chance", "Clock"]


class Clock(Protocol):
    """The time of day, time that never jumps, and waiting."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Come back when this many seconds have passed; at once if they are not positive."""
        ...


class Chance(Protocol):
    """Bytes nobody can guess."""

    def draw(self, count: int) -> bytes: ...
