"""A leadership that fails and schedules that stall, when they are told to."""

import asyncio
from datetime import datetime, timedelta

from emissary.model.errors import StoreUnavailable
from emissary.model.ids import AccountId, JobId, ScheduleId, WorkerId
from emissary.model.leadership import Term
from emissary.model.schedules import Due, Fire, Firing, Schedule
from emissary.ports.leadership import Leadership
from emissary.ports.schedules import Schedules

__all__ = ["ShakyLeadership", "StallingSchedules"]


class ShakyLeadership:
    """Keeps the promise of `ports.leadership.Leadership` as its store does, but for when it is `down` or not `open`."""

    def __init__(self, leadership: Leadership) -> None:
        self._leadership = leadership
        self.open = asyncio.Event()  # cleared, calls hang until it is set
        self.open.set()
        self.down = False

    async def lead(self, candidate: WorkerId, lease: timedelta, now: datetime) -> Term | None:
        return await (await self._reach()).lead(candidate, lease, now)

    async def resign(self, term: Term) -> None:
        await (await self._reach()).resign(term)

    async def _reach(self) -> Leadership:
        await self.open.wait()
        if self.down:
            raise StoreUnavailable("the store is down, as the test asked")
        return self._leadership


class StallingSchedules:
    """Keeps the promise of `ports.schedules.Schedules`; while `stalled`, whoever has planned a firing cannot write it.

    So is a process that is paused between looking and writing.
    """

    def __init__(self, schedules: Schedules) -> None:
        self._schedules = schedules
        self._go = asyncio.Event()
        self._go.set()
        self.waiting = 0

    def stall(self) -> None:
        self._go.clear()

    def go_on(self) -> None:
        self._go.set()

    async def add(self, schedule: Schedule, next_at: datetime) -> None:
        await self._schedules.add(schedule, next_at)

    async def remove(self, schedule: ScheduleId, account: AccountId) -> bool:
        return await self._schedules.remove(schedule, account)

    async def of_account(self, account: AccountId, *, after: ScheduleId | None, most: int) -> list[Due]:
        return await self._schedules.of_account(account, after=after, most=most)

    async def fires(self, schedule: ScheduleId, *, most: int) -> list[Fire]:
        return await self._schedules.fires(schedule, most=most)

    async def due(self, now: datetime, *, most: int) -> list[Due]:
        return await self._schedules.due(now, most=most)

    async def fired(self, term: Term, firing: Firing, now: datetime) -> frozenset[JobId]:
        self.waiting += 1
        await self._go.wait()
        self.waiting -= 1
        return await self._schedules.fired(term, firing, now)
