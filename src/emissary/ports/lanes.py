"""The lanes: a durable line of work for each thing that must be used politely."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from emissary.model.ids import JobId, WorkerId
from emissary.model.jobs import NewJob
from emissary.model.lanes import Claimed, Grip, LaneKey, Report, Taken

__all__ = ["Lanes"]


class Lanes(Protocol):
    """Work stands in lanes; workers lease lanes, not items.

    A lane is in one holder's hands at a time. Every lease grows the lane's fence, and whatever is told under an older
    fence is not written. A call that returned has been written durably.
    """

    async def submit(self, jobs: Sequence[NewJob], now: datetime) -> None:
        """Accept jobs and put each into its lane, all of them or none."""
        ...

    async def claim(self, worker: WorkerId, until: datetime, now: datetime, *, lanes: int, items: int) -> Claimed:
        """Lease up to `lanes` ready lanes until then, first in rank first, with up to `items` items of each."""
        ...

    async def take(self, grips: Sequence[Grip], items: int, now: datetime) -> Taken:
        """Further items, at most `items` of each, of lanes that are held; none is handed out twice under one fence."""
        ...

    async def renew(self, grips: Sequence[Grip], until: datetime) -> frozenset[LaneKey]:
        """Hold the lanes until then; returns those that are in other hands by now."""
        ...

    async def settle(self, report: Report, now: datetime) -> frozenset[JobId]:
        """Write what became of items, then give lanes back, in one transaction.

        Returns the jobs whose settlement was written. Not among them: those whose lane has passed into other hands,
        and those that were cancelled meanwhile.
        """
        ...

    async def wake(self, now: datetime) -> int:
        """Waiting lanes whose time has come become ready: rested ones, and those of dead workers alike."""
        ...

    async def forsake(self, workers: Sequence[WorkerId], now: datetime, gap: timedelta) -> int:
        """Give back every lane of workers that are known to be dead; returns how many.

        When they last used them is unknown, so each lane rests for this gap, or for its own if that is longer.
        """
        ...

    async def cancel(self, jobs: Sequence[JobId], now: datetime) -> frozenset[JobId]:
        """End jobs that have not ended yet; returns those that this call ended."""
        ...
