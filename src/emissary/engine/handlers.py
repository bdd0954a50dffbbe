"""The single turn back up: what a product promises the engine about its kind of work."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Protocol

import msgspec

from emissary.model.jobs import JobState, NewJob
from emissary.model.lanes import NO_ADVICE, Item, LaneAdvice, LaneKey

__all__ = ["Done", "Handler", "Onward", "Result", "Retry", "Turn", "Verdict", "Work"]


class Turn(Protocol):
    """Waits for the lane's next polite moment; whatever uses the thing behind the lane does so inside."""

    def __call__(self, gap: timedelta | None = None, /) -> AbstractAsyncContextManager[None]:
        """`gap` is what the thing behind the lane asks for, where that is known by now."""
        ...


class Work(msgspec.Struct, frozen=True, gc=False):
    """One item, and the moment its handling began."""

    item: Item
    lane: LaneKey
    started_at: datetime


class Result(msgspec.Struct, frozen=True, gc=False):
    """What a job leaves behind: a short outcome, and a body that may be large. Both are JSON."""

    outcome: bytes
    body: bytes | None = None


class Done(msgspec.Struct, frozen=True, gc=False):
    """The job has ended in this state."""

    state: JobState
    result: Result
    advice: LaneAdvice = NO_ADVICE
    follow_ups: tuple[NewJob, ...] = ()
    credits: int = 0
    cached: bool = False
    miss: bytes | None = None  # the mark of what was asked for in vain


class Retry(msgspec.Struct, frozen=True):
    """The job is to be tried again at this time."""

    at: datetime
    advice: LaneAdvice = NO_ADVICE
    counts: bool = True  # whether an attempt was made; where nobody was asked, there was none


class Onward(msgspec.Struct, frozen=True):
    """The job goes on in another lane, with what it learned so far."""

    lane: LaneKey
    trail: bytes
    advice: LaneAdvice = NO_ADVICE


Verdict = Done | Retry | Onward


class Handler(Protocol):
    """Does one kind of work. It may be run more than once for the same item; only one verdict is ever written."""

    async def handle(self, work: Work, turn: Turn) -> Verdict: ...

    def broken(self, work: Work, reason: str) -> Done:
        """What is written when handling itself failed."""
        ...

    def given_up(self, work: Work) -> Done:
        """What is written when nobody was there for so long that this item is not even tried."""
        ...
