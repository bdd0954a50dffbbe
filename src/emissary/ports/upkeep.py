"""Upkeep: what is dropped when its time is over, and how much there is to do."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from emissary.model.ids import JobId
from emissary.model.scaling import Load

__all__ = ["Retention", "Workload"]


class Retention(Protocol):
    """Drops what is old, a portion at a time, so that nobody else has to wait. Doing it twice does no harm.

    A job is as old as its name says. One that has not ended is kept however old it is.
    """

    async def make_room(self, now: datetime) -> None:
        """See to it that what comes in the next days can be dropped by the day."""
        ...

    async def bodies_before(self, when: datetime, *, most: int) -> dict[JobId, str]:
        """The names of objects that belong to results of jobs from before then."""
        ...

    async def forget_bodies(self, jobs: Collection[JobId]) -> None:
        """The objects of these jobs' results have been deleted."""
        ...

    async def drop_before(self, when: datetime, *, most: int) -> int:
        """Drop up to `most` jobs from before then, with their results, and what else is as old; 0 when all is gone.

        A whole day that is dropped at once counts as one. Batches go when they have ended and none of their jobs is
        left. Whatever still has objects stays until those are forgotten.
        """
        ...

    async def drop_lanes(self, before: datetime, *, most: int) -> int:
        """Drop up to `most` lanes that have been empty since before then. No job that is kept may be that old."""
        ...


class Workload(Protocol):
    """How much there is to do."""

    async def load(self, now: datetime) -> Load:
        """The lanes that are ready, those in hand, and how long they have waited; cheap enough to be asked often."""
        ...

    async def mend(self, now: datetime) -> int:
        """Put lanes back into line that stand empty although something stands in them; how many they were.

        There should be none. This is the net below whoever changes a lane while others put something into it.
        """
        ...
