"""Schedules: kept for accounts, and fired by the leader. A moment is fired once, whoever leads when it comes."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from emissary.engine.worker import LANES_TOPIC
from emissary.model.errors import BadRequest
from emissary.model.ids import AccountId, JobId, ScheduleId, keyed_ulid, ulid
from emissary.model.leadership import Term
from emissary.model.schedules import CatchUp, Due, Firing, Schedule, Template, plan
from emissary.model.timing import Timing, next_moment
from emissary.ports.bus import Bus
from emissary.ports.clock import Chance, Clock
from emissary.ports.schedules import Schedules
from emissary.telemetry.metrics import Metrics

__all__ = ["FiringDuty", "Timetable"]

_AT_ONCE = 100
_TOGETHER = 5
_LOOK_AGAIN = timedelta(hours=1)

log = structlog.get_logger(__name__)


class Timetable:
    """The schedules of all accounts, each shown to its own account only."""

    def __init__(self, schedules: Schedules, clock: Clock, chance: Chance) -> None:
        self._schedules = schedules
        self._clock = clock
        self._chance = chance

    async def add(self, template: Template, timing: Timing, catch_up: CatchUp = CatchUp.ONCE) -> Due:
        """Keep a schedule, and tell when it comes due first. One that cannot be read or never comes is a BadRequest."""
        now = self._clock.now()
        first = next_moment(timing, now)
        name = ScheduleId(f"sch_{ulid(now, self._chance.draw(10))}")
        schedule = Schedule(name, template, timing, catch_up, now)
        await self._schedules.add(schedule, first)
        return Due(schedule, first)

    async def remove(self, schedule: ScheduleId, account: AccountId) -> bool:
        return await self._schedules.remove(schedule, account)

    async def of_account(self, account: AccountId, *, after: ScheduleId | None = None, most: int = 100) -> list[Due]:
        return await self._schedules.of_account(account, after=after, most=most)


class FiringDuty:
    """Fires schedules whose moment has come.

    A firing is written under the term, and only if the schedule is still due at the moment it was planned for: of two
    who planned the same, the second changes nothing.
    """

    name = "schedules"
    every = timedelta(seconds=1)

    def __init__(self, schedules: Schedules, bus: Bus, *, clock: Clock, metrics: Metrics) -> None:
        self._schedules = schedules
        self._bus = bus
        self._clock = clock
        self._metrics = metrics

    async def do(self, term: Term, /) -> bool:
        due = await self._schedules.due(self._clock.now(), most=_AT_ONCE)
        for start in range(0, len(due), _TOGETHER):
            await self._fire_together(term, due[start : start + _TOGETHER])
        return len(due) == _AT_ONCE

    async def _fire_together(self, term: Term, due: Sequence[Due]) -> None:
        """Begun together, they are committed together where the store can."""
        outcomes = await asyncio.gather(*(self._fire(term, each) for each in due), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _fire(self, term: Term, due: Due) -> None:
        now = self._clock.now()
        firing = self._plan(due, now)
        made = await self._schedules.fired(term, firing, now)
        self._metrics.fired.inc(len(made))
        for _, job in firing.jobs:
            if job.id in made:
                self._metrics.accepted.labels(job.kind).inc()
                self._bus.say(LANES_TOPIC, job.lane)

    def _plan(self, due: Due, now: datetime) -> Firing:
        schedule = due.schedule
        try:
            found = plan(schedule, due.at, now)
        except BadRequest as error:
            # It could be read when it was made: a time zone must be gone. It is not to hold up the others.
            log.warning("a schedule cannot be read any more", schedule=schedule.id, reason=error.detail)
            return Firing(schedule.id, due.at, now + _LOOK_AGAIN)
        if found.passed_over:
            self._metrics.passed_over.inc()
            log.warning("moments of a schedule were passed over", schedule=schedule.id, since=due.at.isoformat())
        jobs = tuple((moment, schedule.template.job(_name(schedule, moment, now))) for moment in found.moments)
        return Firing(schedule.id, due.at, found.next_at, jobs)


def _name(schedule: Schedule, moment: datetime, now: datetime) -> JobId:
    return JobId(f"job_{keyed_ulid(now, f'{schedule.id} {moment.isoformat()}')}")
