"""Schedules: when work is due again and again, and what of it is made up for after an outage. Pure."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import takewhile

from emissary.model.ids import AccountId, JobId, ScheduleId
from emissary.model.jobs import Kind, NewJob, Priority
from emissary.model.timing import Timing, moments, next_moment

__all__ = ["CatchUp", "Due", "Fire", "Firing", "Plan", "Schedule", "Template", "plan"]

_SECOND = timedelta(seconds=1)
_IN_TIME = timedelta(minutes=1)
_MOST_CAUGHT_UP = 100
_FIRST_LOOK_BACK = timedelta(hours=1)


class CatchUp(StrEnum):
    """What becomes of moments that passed while nobody was there to see to them."""

    SKIP = "skip"  # nothing, but for the last of them if it passed within the last minute
    ONCE = "once"  # the last of them stands for all
    ALL = "all"  # each of them, but for those before the last hundred


@dataclass(frozen=True, slots=True)
class Template:
    """The job that a schedule makes, but for its name."""

    account: AccountId
    kind: Kind
    lane: str
    order: bytes
    priority: Priority = Priority.NORMAL

    def job(self, name: JobId) -> NewJob:
        return NewJob(name, self.account, self.kind, self.lane, self.order, self.priority)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A job to be made again and again."""

    id: ScheduleId
    template: Template
    timing: Timing
    catch_up: CatchUp
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Due:
    """A schedule whose moment has come; others may have come since."""

    schedule: Schedule
    at: datetime


@dataclass(frozen=True, slots=True)
class Fire:
    """A moment of a schedule, and the job that was made for it."""

    moment: datetime
    job: JobId


@dataclass(frozen=True, slots=True)
class Firing:
    """What is done about a schedule that was due: jobs for these moments, and the moment it is due again.

    `due_at` is what the schedule said when this was planned. If it says otherwise by now, somebody else has fired it.
    """

    schedule: ScheduleId
    due_at: datetime
    next_at: datetime
    jobs: tuple[tuple[datetime, NewJob], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Which moments are to be fired, whether others were passed over, and when the next one is."""

    moments: tuple[datetime, ...]
    passed_over: bool
    next_at: datetime


def plan(schedule: Schedule, due_at: datetime, now: datetime) -> Plan:
    """What to do at this moment about a schedule that has been due since then."""
    most = _MOST_CAUGHT_UP if schedule.catch_up is CatchUp.ALL else 1
    found, is_all = _last_moments(schedule.timing, due_at, now, most)
    if schedule.catch_up is CatchUp.SKIP and found and now - found[-1] > _IN_TIME:
        found, is_all = (), False
    return Plan(found, not is_all, next_moment(schedule.timing, now))


def _last_moments(timing: Timing, since: datetime, now: datetime, most: int) -> tuple[tuple[datetime, ...], bool]:
    """The last so many moments of a stretch of time, and whether these are all there were in it.

    We look back from its end, further each time: after a year's outage there may be half a million, and few count.
    """
    look_back = _FIRST_LOOK_BACK
    while True:
        start = max(since, now - look_back)
        came = takewhile(lambda moment: moment <= now, moments(timing, start - _SECOND))
        last = deque(came, maxlen=most + 1)
        if len(last) > most:
            return tuple(last)[-most:], False
        if start == since:
            return tuple(last), True
        look_back *= 2
