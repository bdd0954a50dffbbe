"""Batches: many jobs under one name, with one state and exact counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from emissary.model.ids import AccountId, BatchId, JobId
from emissary.model.jobs import JobState, Kind, Priority, StoredResult

__all__ = [
    "INTAKE_LOST",
    "LOST_AFTER",
    "MISS_KEPT",
    "Batch",
    "BatchState",
    "Counts",
    "Finished",
    "LedgerLine",
    "NewBatch",
]

INTAKE_LOST = "intake_lost"
LOST_AFTER = timedelta(minutes=1)  # so long nothing was heard of lines that should still come
MISS_KEPT = timedelta(hours=24)


class BatchState(StrEnum):
    """A batch ends when everything in it has ended, or when it is cancelled."""

    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch to be opened. `order` is what all its jobs have in common; a job's own order is what it has beside."""

    id: BatchId
    account: AccountId
    kind: Kind
    name: str | None
    order: bytes
    priority: Priority = Priority.NORMAL


@dataclass(frozen=True, slots=True)
class Counts:
    """How many jobs of a batch ended how. Those that have not ended are the rest of the total."""

    completed: int = 0
    refused: int = 0
    failed: int = 0
    cancelled: int = 0
    cached: int = 0  # of the completed ones: those for which nobody was asked
    credits: int = 0

    @property
    def ended(self) -> int:
        return self.completed + self.refused + self.failed + self.cancelled


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as its owner sees it."""

    id: BatchId
    account: AccountId
    kind: Kind
    name: str | None
    order: bytes
    priority: Priority
    state: BatchState
    sealed: bool  # nothing more will come into it
    total: int
    active: int
    created_at: datetime
    finished_at: datetime | None = None
    counts: Counts = field(default_factory=Counts)
    outcomes: Mapping[str, int] = field(default_factory=dict)  # how many came to which outcome, by its code
    reason: str | None = None  # why it was cancelled, where nobody asked for that


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One job of a batch, without what it left behind."""

    job: JobId
    position: int
    state: JobState
    lane: str
    order: bytes
    failures: int
    outcome: bytes | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Finished:
    """A job of a batch that has ended, with what it left behind, and the cursor that leads on behind it."""

    cursor: str
    line: LedgerLine
    result: StoredResult
