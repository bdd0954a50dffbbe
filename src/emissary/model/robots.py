"""A robots.txt file as it was found, and how long it counts as known."""

from dataclasses import dataclass
from datetime import datetime, timedelta

__all__ = ["RobotsFile"]

_FRESH = timedelta(hours=24)
_FRESH_IF_BROKEN = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """What asking for a robots.txt gave: its status, its text, and when.

    One that says no more than where the file is has a `location` and no status: whoever overlooks the one finds by the
    other that nothing is allowed.
    """

    status: int | None
    body: bytes
    fetched_at: datetime
    retry_at: datetime | None = None  # when its host wants to be asked again, where it could not answer and said so
    location: str | None = None

    @property
    def is_broken(self) -> bool:
        """5xx says nothing about what is allowed; nor does 429, which asks for patience and not for a free hand."""
        return self.status is None or self.status >= 500 or self.status == 429

    @property
    def fresh_until(self) -> datetime:
        """For a day. A broken one for five minutes, or for as long as its host asked for patience, up to that day."""
        if self.location is not None or not self.is_broken:
            return self.fetched_at + _FRESH
        soonest = self.fetched_at + _FRESH_IF_BROKEN
        return soonest if self.retry_at is None else min(max(soonest, self.retry_at), self.fetched_at + _FRESH)
