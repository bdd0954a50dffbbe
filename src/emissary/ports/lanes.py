"""The lanes: a durable line of work for each thing that must be used politely."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from emissary.model.ids import JobId, WorkerId
from emissary.model.jobs import NewJob
from emissary.model.lanes import Claim, Claimed, Grip, LaneKey, Report, Taken, Wish

__all__ = ["Lanes"]


class Lanes(Protocol):
    """Work stands in lanes; workers lease lanes, not items.

    A lane is in one holder's hands at a time. Every lease grows the lane's fence, and whatever is told under an older
    fence is not written. A call that returned has been written durably.

    Lanes are handed out in the order of `model.fairness`. The first item of a lane brings further ones along, as long
    as no other flow of work stands before them in line: an item beyond the first is of the flow at the very front of
    all ready lanes that its worker serves, or within a window of that front. An account has at most as many lanes in
    hand as its limit. Nothing of a paused or cancelled batch is handed out.
    """

    async def submit(
        self, jobs: Sequence[NewJob], now: datetime, *, most_queued: int | None = None
    ) -> frozenset[JobId]:
        """Accept jobs and put each into its lane, all of them or none; returns those accepted.

        Not among them: jobs whose mark their batch has seen already, and those of a batch that has ended. Raises
        QueueFull where an account would have more jobs that have not ended than it may: what it was granted, or
        `most_queued` where that says nothing; and InsufficientCredits where their prices come to more than an account
        has available. Whatever else puts jobs into line is not held up by this.
        """
        ...

    async def claim(self, claim: Claim, now: datetime) -> Claimed:
        """Lease ready lanes, first in rank first, with the first items of each.

        Where the claim says what its worker is holding, every other lane in its name is given back first. It rests for
        that gap, or for its own if that is longer, and nobody is blamed.
        """
        ...

    async def take(self, wishes: Sequence[Wish], now: datetime) -> Taken:
        """Further items of lanes that are held, first in rank first."""
        ...

    async def renew(self, grips: Sequence[Grip], until: datetime) -> frozenset[LaneKey]:
        """Hold the lanes until then; returns those that are in other hands by now."""
        ...

    async def settle(self, report: Report, now: datetime) -> frozenset[JobId]:
        """Write what became of items, then give lanes back, in one transaction.

        Returns the jobs whose settlement was written. Not among them: those whose lane has passed into other hands,
        and those that were cancelled meanwhile, alone or with their batch.
        """
        ...

    async def wake(self, now: datetime) -> int:
        """Waiting lanes whose time has come become ready: rested ones, and those whose lease ran out alike."""
        ...

    async def forsake(self, workers: Sequence[WorkerId], now: datetime, gap: timedelta) -> int:
        """Give back every lane of workers that are known to be dead; returns how many.

        When they last used them is unknown, so each lane rests for this gap, or for its own if that is longer. The
        first item of each of those lanes may be what killed them: its `deaths` grow by one. From the second death on
        only items on trial are blamed, and one that has killed three ends as failed, with the outcome `poison`.
        """
        ...

    async def cancel(self, jobs: Sequence[JobId], now: datetime) -> frozenset[JobId]:
        """End jobs that have not ended yet; returns those that this call ended."""
        ...
