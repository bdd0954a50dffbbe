"""How long to wait before trying again. Pure."""

from datetime import datetime, timedelta

__all__ = ["TOLD_FOR", "next_delivery", "next_try"]

_FIRST = timedelta(seconds=2)
_LONGEST = timedelta(seconds=30)

TOLD_FOR = timedelta(days=3)
# Soon at first, since most receivers are back soon; then less and less often.
_TELLING = tuple(timedelta(seconds=seconds) for seconds in (2, 10, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800))
_SPREAD = 0.2


def next_try(failures: int, attempts: int, now: datetime, chance: float) -> datetime | None:
    """When to try again after so many failures: in 2 s, doubled each time; None when no try is left.

    Each wait is up to a fifth longer by `chance` (0 to 1), so that those who failed together do not come back together,
    and 30 s at most with it.
    """
    if failures >= attempts:
        return None
    doublings = min(max(failures - 1, 0), 10)
    # The longest leaves room for chance as well: where all wait for the longest, most would come back together.
    return now + min(_FIRST * (1 << doublings), _LONGEST / (1 + _SPREAD)) * (1 + _SPREAD * chance)


def next_delivery(failures: int, since: datetime, now: datetime, chance: float) -> datetime | None:
    """When to tell an event again after so many failures; None when three days are over since the first was due.

    Waits grow from 2 s to 8 h, each up to a fifth longer by `chance` (0 to 1), so that those who failed together do not
    come back together. The last try is at the very end.
    """
    end = since + TOLD_FOR
    if now >= end:
        return None
    wait = _TELLING[min(max(failures, 1), len(_TELLING)) - 1]
    return min(now + wait * (1 + _SPREAD * chance), end)
