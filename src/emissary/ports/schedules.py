"""The schedules: what is to be done again and again."""

from datetime import datetime
from typing import Protocol

from emissary.model.ids import AccountId, JobId, ScheduleId
from emissary.model.leadership import Term
from emissary.model.schedules import Due, Fire, Firing, Schedule

__all__ = ["Schedules"]


class Schedules(Protocol):
    """Schedules, when each is due, and what they have fired."""

    async def add(self, schedule: Schedule, next_at: datetime) -> None:
        """Keep the schedule, due at that moment."""
        ...

    async def remove(self, schedule: ScheduleId, account: AccountId) -> bool:
        """Forget the schedule if it is this account's; tells whether it was. The jobs it made stay."""
        ...

    async def of_account(self, account: AccountId, *, after: ScheduleId | None, most: int) -> list[Due]:
        """The account's schedules in the order of their names, those after this one, each with its next moment."""
        ...

    async def fires(self, schedule: ScheduleId, *, most: int) -> list[Fire]:
        """The moments that the schedule was fired for, the latest first."""
        ...

    async def due(self, now: datetime, *, most: int) -> list[Due]:
        """Schedules whose moment has come, those that have waited longest first."""
        ...

    async def fired(self, term: Term, firing: Firing, now: datetime) -> frozenset[JobId]:
        """Submit the jobs of a firing and note when the schedule is due again, in one transaction; returns the jobs.

        None if the schedule is gone, or is not due when the firing says it was: somebody else has fired it. No moment
        of a schedule is fired twice. Raises TermOver, and nothing is written, if another leads by now.
        """
        ...
