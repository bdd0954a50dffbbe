"""Lists of jobs: which are wanted, and a page of them."""

from dataclasses import dataclass
from datetime import datetime

from emissary.model.ids import AccountId, BatchId, JobId
from emissary.model.jobs import JobState, Kind

__all__ = ["LOOKED_AT", "JobLine", "JobPage", "JobWish"]

LOOKED_AT = 10_000
"""So many jobs are looked at for one page, whatever is wanted of them."""


@dataclass(frozen=True, slots=True)
class JobWish:
    """Which jobs of an account are wanted."""

    account: AccountId
    state: JobState | None = None
    batch: BatchId | None = None
    lane: str | None = None


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job in a list: without what it left behind."""

    id: JobId
    kind: Kind
    state: JobState
    lane: str
    batch: BatchId | None
    order: bytes
    failures: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    outcome: bytes | None


@dataclass(frozen=True, slots=True)
class JobPage:
    """Some jobs, and where to go on; None where there is nothing more.

    There may be fewer than were asked for, or none, and more to come: no more than `LOOKED_AT` are looked at at once.
    """

    jobs: list[JobLine]
    next: JobId | None
