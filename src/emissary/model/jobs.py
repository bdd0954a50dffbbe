"""Jobs: what was asked for, by whom, and what became of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

import msgspec

from emissary.model.ids import AccountId, BatchId, JobId
from emissary.model.webhooks import Notice

__all__ = ["FINAL_STATES", "Job", "JobState", "Kind", "NewJob", "Priority", "StoredResult"]

Kind = NewType("Kind", str)


class _Coded(msgspec.Struct):
    code: str | None = None


_read_code = msgspec.json.Decoder(_Coded).decode


class JobState(StrEnum):
    """A job ends in exactly one of the last four states, whatever is killed."""

    CREATED = "created"
    WAITING = "waiting"
    ACTIVE = "active"
    DELAYED = "delayed"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"


FINAL_STATES = frozenset({JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED, JobState.REFUSED})


class Priority(StrEnum):
    """A head start in line. `interactive` is not asked for: it is what a caller who waits gets."""

    LOW = "low"
    NORMAL = "normal"
    INTERACTIVE = "interactive"
    HIGH = "high"


class NewJob(msgspec.Struct, frozen=True, gc=False):  # one for every job: a dataclass takes ten times as long to make
    """A job to be accepted: its lane is the polite way to what it needs, its order is the handler's business."""

    id: JobId
    account: AccountId
    kind: Kind
    lane: str
    order: bytes
    priority: Priority = Priority.NORMAL
    not_before: datetime | None = None
    batch: BatchId | None = None
    mark: bytes | None = None  # 16 bytes of what it reads: a batch accepts one job for each mark
    price: int = 1  # credits that it may use at most
    notice: Notice | None = None  # of a delivery: what the log says of it


class StoredResult(msgspec.Struct, frozen=True, gc=False):
    """A result as it is kept: a short outcome beside the job, and the body, here or in the object store."""

    outcome: bytes
    body: bytes | None = None
    blob: str | None = None

    @property
    def code(self) -> str | None:
        """What came of it in one word, where the outcome has one."""
        try:
            return _read_code(self.outcome).code
        except msgspec.ValidationError:
            return None


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its owner sees it."""

    id: JobId
    account: AccountId
    kind: Kind
    state: JobState
    lane: str
    order: bytes
    failures: int
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    result: StoredResult | None = None
    batch: BatchId | None = None
    position: int = 0
