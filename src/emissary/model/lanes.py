"""Lanes: each thing that must be used politely, and the work that stands in line for it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import NewType

import msgspec

from emissary.model.ids import AccountId, JobId
from emissary.model.jobs import JobState, Kind, NewJob, Priority, StoredResult

__all__ = [
    "NO_ADVICE",
    "Claimed",
    "Grip",
    "Item",
    "LaneAdvice",
    "LaneKey",
    "LaneState",
    "Lease",
    "Pace",
    "Reason",
    "Release",
    "Report",
    "Settlement",
    "Strain",
    "Taken",
    "WhyWaiting",
    "hook_lane",
    "host_lane",
    "rank_of",
]

LaneKey = NewType("LaneKey", str)


class LaneState(StrEnum):
    """A leased lane is a waiting one whose time is the lease's end: so a dead worker's lanes wake like any other."""

    READY = "ready"
    WAITING = "waiting"
    EMPTY = "empty"
    PAUSED = "paused"


class Reason(StrEnum):
    """Why a lane waits."""

    LEASED = "leased"
    GAP = "gap"
    RETRY_AFTER = "retry_after"
    BACK_OFF = "back_off"


@dataclass(frozen=True, slots=True)
class Pace:
    """How politely a lane is used: at most this many at once, and this long between two."""

    gap: timedelta
    concurrency: int = 1


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of work in a lane, in the hands of whoever holds the lane."""

    job: JobId
    account: AccountId
    kind: Kind
    rank: int
    order: bytes
    failures: int
    created_at: datetime
    trail: bytes | None = None  # what earlier lanes of the same job learned, such as redirects


@dataclass(frozen=True, slots=True)
class Grip:
    """The proof of a lease: a lane and the fence under which it was taken."""

    lane: LaneKey
    fence: int


@dataclass(frozen=True, slots=True)
class Lease:
    """A lane in one worker's hands, with the first items of it."""

    grip: Grip
    items: tuple[Item, ...]
    gap: timedelta | None = None  # what the thing behind the lane asked for, where it did
    stretch: float = 1.0  # by how much the gap is widened because it seemed strained


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim got, and when the next lane will be ready if nothing else happens."""

    leases: tuple[Lease, ...]
    next_ready_at: datetime | None


class Strain(Enum):
    """How the thing behind a lane bears our visits."""

    NONE = "none"
    RISING = "rising"
    HEAVY = "heavy"


@dataclass(frozen=True, slots=True)
class LaneAdvice:
    """What a visit learned about its lane: the gap the site asks for, when it wants to be seen again, its strain."""

    gap: timedelta | None = None
    rest_until: datetime | None = None
    reason: Reason = Reason.GAP
    strain: Strain | None = None  # None where nothing was asked of it


NO_ADVICE = LaneAdvice()


class Settlement(msgspec.Struct, frozen=True):  # one for every item: a dataclass takes ten times as long to make
    """What became of one item. Exactly one of: a final state with its result, a retry, or a move to another lane."""

    grip: Grip
    job: JobId
    rank: int
    started_at: datetime
    state: JobState
    result: StoredResult | None = None
    retry_at: datetime | None = None
    failures: int = 0
    onward: LaneKey | None = None
    trail: bytes | None = None
    follow_ups: tuple[NewJob, ...] = ()


@dataclass(frozen=True, slots=True)
class Release:
    """A lane given back, and how long it should rest."""

    grip: Grip
    rest_until: datetime
    reason: Reason
    gap: timedelta | None = None
    stretch: float = 1.0


@dataclass(frozen=True, slots=True)
class Report:
    """All that a worker has to tell the store at one moment; it is written in one transaction or not at all."""

    settlements: tuple[Settlement, ...] = ()
    releases: tuple[Release, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """Further items of lanes that are held already."""

    items: dict[LaneKey, tuple[Item, ...]]
    lost: frozenset[LaneKey]


@dataclass(frozen=True, slots=True)
class WhyWaiting:
    """Why something has not started, and when it is expected to."""

    lane: LaneKey
    reason: str
    until: datetime | None
    ahead: int


_HEAD_START = {
    Priority.HIGH: timedelta(hours=2),
    Priority.INTERACTIVE: timedelta(hours=1),
    Priority.NORMAL: timedelta(),
    Priority.LOW: timedelta(hours=-1),
}


def rank_of(priority: Priority, now: datetime) -> int:
    """The place in line, smaller first: milliseconds of arrival, less the head start of the priority."""
    return int((now - _HEAD_START[priority]).timestamp() * 1000)


def host_lane(authority: str) -> LaneKey:
    """The lane of a web host."""
    return LaneKey(f"host:{authority}")


def hook_lane(authority: str) -> LaneKey:
    """The lane of a webhook's receiver."""
    return LaneKey(f"hook:{authority}")
