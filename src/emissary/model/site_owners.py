"""What the owners of sites have told us."""

from dataclasses import dataclass
from datetime import datetime, timedelta

__all__ = ["OptOut", "Ownership"]


@dataclass(frozen=True, slots=True)
class OptOut:
    """An owner wants us to stay away from a host, and from everything below it."""

    host: str
    at: datetime
    contact: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ownership:
    """The operator has shown that a host is theirs, and set its pace."""

    host: str
    gap: timedelta
    concurrency: int
    proven_at: datetime
