"""How many requests a minute: a bucket of tokens, of which processes take slices."""

import math
from dataclasses import dataclass

__all__ = ["MOST_PER_MINUTE", "Rate", "Slice", "Standing", "draw"]

_MINUTE = 60.0
MOST_PER_MINUTE = 10_000_000


@dataclass(frozen=True, slots=True)
class Rate:
    """Requests a minute, and how many may come at once after a pause; a minute's worth where that is not said."""

    per_minute: int
    burst: int

    def __post_init__(self) -> None:
        if not (1 <= self.per_minute <= MOST_PER_MINUTE and 1 <= self.burst <= MOST_PER_MINUTE):
            raise ValueError(f"a rate and its burst are between 1 and {MOST_PER_MINUTE:,}")

    @property
    def per_second(self) -> float:
        return self.per_minute / _MINUTE

    @property
    def slice(self) -> int:
        """What a process takes at once: the requests of a second. What it takes and does not use, others lack."""
        return max(self.per_minute // 60, 1)


@dataclass(frozen=True, slots=True)
class Slice:
    """What was taken out of a bucket, and what is left in it."""

    taken: int
    left: float


@dataclass(frozen=True, slots=True)
class Standing:
    """How an account stands with its rate after a request, and whether that one was within it."""

    rate: Rate
    allowed: bool
    left: float

    @property
    def remaining(self) -> int:
        return max(int(self.left), 0)

    @property
    def full_after(self) -> int:
        """In how many seconds the bucket is full again, if nothing is asked for meanwhile."""
        return math.ceil(max(self.rate.burst - self.left, 0) / self.rate.per_second)

    @property
    def retry_after(self) -> int:
        """In how many seconds there is a token again; one at least."""
        return max(math.ceil((1 - self.left) / self.rate.per_second), 1)


def draw(rate: Rate, left: float, seconds: float, want: int) -> Slice:
    """Take from a bucket in which there was that much so long ago. A clock that went back takes nothing away."""
    there = min(left + max(seconds, 0.0) * rate.per_second, float(rate.burst))
    taken = min(want, int(there))
    return Slice(taken, there - taken)
