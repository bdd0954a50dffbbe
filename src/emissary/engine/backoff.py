"""How long to wait before trying again. Pure."""

from datetime import datetime, timedelta

__all__ = ["next_try"]

_FIRST = timedelta(seconds=2)
_LONGEST = timedelta(seconds=30)


def next_try(failures: int, attempts: int, now: datetime) -> datetime | None:
    """When to try again after so many failures: in 2 s, doubled each time, 30 s at most; None when no try is left."""
    if failures >= attempts:
        return None
    doublings = min(max(failures - 1, 0), 10)
    return now + min(_FIRST * (1 << doublings), _LONGEST)
