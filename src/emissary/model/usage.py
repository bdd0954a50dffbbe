"""What accounts used: jobs that came to an end of their own, by day, kind of work and host."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

__all__ = ["USAGE_KEPT_LONGER", "UsageBy", "UsageRow", "add_up"]

USAGE_KEPT_LONGER = timedelta(days=60)
"""Than jobs: ninety days, where those are kept for thirty."""


class UsageBy(StrEnum):
    """By what usage is added up."""

    DAY = "day"
    KIND = "kind"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What was used of one day, kind or host. Those that were cached, failed or refused are among the jobs."""

    key: str
    jobs: int = 0
    credits: int = 0
    cached: int = 0
    failed: int = 0
    refused: int = 0


def add_up(rows: list[UsageRow]) -> UsageRow:
    """All of it together."""
    names = ("jobs", "credits", "cached", "failed", "refused")
    return UsageRow("", **{name: sum(getattr(row, name) for row in rows) for name in names})
