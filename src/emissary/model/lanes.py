"""Lanes: each thing that must be used politely, and the work that stands in line for it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import NewType

import msgspec

from emissary.model.ids import AccountId, BatchId, JobId, WorkerId
from emissary.model.jobs import JobState, Kind, NewJob, StoredResult

__all__ = [
    "LEFT_ALONE",
    "NO_ADVICE",
    "Claim",
    "Claimed",
    "Grip",
    "Holding",
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
    "Thing",
    "Trial",
    "WhyWaiting",
    "Wish",
    "hook_lane",
    "host_lane",
]

LaneKey = NewType("LaneKey", str)


class Thing(StrEnum):
    """What can be behind a lane: the beginning of the lane's key."""

    HOST = "host"
    HOOK = "hook"


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
    BREAKER = "breaker"
    EGRESS = "egress"


LEFT_ALONE = frozenset({Reason.BREAKER, Reason.EGRESS})
"""Why nothing will come of a lane for a while: that is better told than waited for."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How politely a lane is used: at most this many at once, and this long between two."""

    gap: timedelta
    concurrency: int = 1


class Item(msgspec.Struct, frozen=True, gc=False):
    """One piece of work in a lane, in the hands of whoever holds the lane."""

    job: JobId
    account: AccountId
    kind: Kind
    rank: int
    order: bytes
    failures: int
    created_at: datetime
    trail: bytes | None = None  # what earlier lanes of the same job learned, such as redirects
    batch: BatchId | None = None
    deaths: int = 0  # how many workers died with it in their hands


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
    strikes: int = 0  # how many uses in a row found nothing there


@dataclass(frozen=True, slots=True)
class Holding:
    """What a worker knows to be in its hands, and how long whatever else is in its name must rest before it is used."""

    grips: frozenset[Grip]
    gap: timedelta


@dataclass(frozen=True, slots=True)
class Claim:
    """What a worker asks for: so many lanes until then, with so many items of each.

    The `urgent` places come on top, for lanes in which somebody waits for an answer; of what they leave, some may go to
    whoever has just come. `most_held` bounds what all workers together may hold, `most_of_account` what they may hold
    for an account that has no limit of its own. A worker that may not have heard the answer to an earlier claim says
    what it is `holding`: the other lanes in its name go back into line first. One that serves some `things` only gets
    no other lanes.
    """

    worker: WorkerId
    until: datetime
    lanes: int
    items: int
    urgent: int = 0
    most_held: int | None = None
    holding: Holding | None = None
    most_of_account: int | None = None
    things: frozenset[Thing] | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """Further items of a held lane: so many, beyond those that its holder has."""

    grip: Grip
    items: int
    in_hand: frozenset[JobId] = frozenset()
    things: frozenset[Thing] | None = None  # what its holder serves: nothing else competes


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


class LaneAdvice(msgspec.Struct, frozen=True, gc=False):
    """What a visit learned about its lane: the gap the site asks for, when it wants to be seen again, its strain."""

    gap: timedelta | None = None
    rest_until: datetime | None = None
    reason: Reason = Reason.GAP
    strain: Strain | None = None  # None where nothing was asked of it
    found: bool | None = None  # whether there was anybody there; None where nobody looked


NO_ADVICE = LaneAdvice()


class Settlement(msgspec.Struct, frozen=True, gc=False):  # made for every item: a dataclass takes ten times as long
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
    credits: int = 0
    cached: bool = False  # it ended well without asking anybody
    miss: bytes | None = None  # the mark of a page that was asked for in vain: the account may leave it out for a day


@dataclass(frozen=True, slots=True)
class Release:
    """A lane given back, and how long it should rest."""

    grip: Grip
    rest_until: datetime
    reason: Reason
    gap: timedelta | None = None
    stretch: float = 1.0
    strikes: int = 0


@dataclass(frozen=True, slots=True)
class Trial:
    """An item that may have killed a worker is about to be handled: should this one die as well, it is to blame."""

    grip: Grip
    job: JobId


@dataclass(frozen=True, slots=True)
class Report:
    """All that a worker has to tell the store at one moment; it is written in one transaction or not at all."""

    settlements: tuple[Settlement, ...] = ()
    releases: tuple[Release, ...] = ()
    trials: tuple[Trial, ...] = ()


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


def host_lane(authority: str) -> LaneKey:
    """The lane of a web host."""
    return LaneKey(f"{Thing.HOST}:{authority}")


def hook_lane(authority: str) -> LaneKey:
    """The lane of a webhook's receiver."""
    return LaneKey(f"{Thing.HOOK}:{authority}")
