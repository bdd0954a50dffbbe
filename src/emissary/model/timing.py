"""When something comes again and again: by a cron expression or evenly, by the clocks of a time zone. Pure."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import assert_never
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from emissary.model.errors import BadRequest

__all__ = ["Cron", "Every", "Timing", "moments", "next_moment"]

_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_LONGEST_INTERVAL = timedelta(days=366)
_LONGEST_EXPRESSION = 200
_LARGEST_CHANGE = timedelta(hours=3)  # of the clocks, anywhere


@dataclass(frozen=True, slots=True)
class Cron:
    """Moments as a cron expression of five fields tells them.

    As with Debian's cron, a fixed time that the clocks leave out in spring comes as soon as they go on, and one that
    they show twice in autumn comes the first time only. Where hour or minute begins with `*`, it comes as often as the
    clocks show it.
    """

    expression: str
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Every:
    """Moments at even distances from the first. Whole days keep the time of day."""

    interval: timedelta
    first: datetime
    zone: str = "UTC"


Timing = Cron | Every


def next_moment(timing: Timing, after: datetime) -> datetime:
    """The first moment after this one; what can never come, or cannot be read, is a BadRequest."""
    found = next(moments(timing, after), None)
    if found is None:
        raise BadRequest("this schedule never comes due: no date fits the cron expression")
    return found


def moments(timing: Timing, after: datetime) -> Iterator[datetime]:
    """All moments after this one, in order. Which they are does not depend on where one begins to look."""
    since = after.astimezone(UTC)  # by other clocks, an hour later would be what they show then
    match timing:
        case Cron():
            return _cron_moments(timing, since)
        case Every():
            return _even_moments(timing, since)
        case _:
            assert_never(timing)


def _cron_moments(timing: Cron, after: datetime) -> Iterator[datetime]:
    fields = timing.expression.split()
    if len(timing.expression) > _LONGEST_EXPRESSION:
        raise BadRequest(f"a cron expression has {_LONGEST_EXPRESSION} characters at most")
    if len(fields) != 5:
        raise BadRequest("a cron expression has five fields: minute, hour, day of month, month, day of week")
    zone = _zone(timing.zone)
    try:
        # What the clocks show is all that cronsim is asked for: when they do so is told below.
        shown = CronSim(timing.expression, _before_it_repeats(after, zone))
    except CronSimError as error:
        raise BadRequest(f"the cron expression cannot be read: {str(error).lower()}") from None
    is_fixed = not (fields[0].startswith("*") or fields[1].startswith("*"))
    return _growing(_fixed_times(shown, zone) if is_fixed else _as_often_as_shown(shown, zone), after)


def _before_it_repeats(after: datetime, zone: tzinfo) -> datetime:
    """What the clocks show at that moment; earlier, if they are about to be set back and to show it again."""
    now, soon = (moment.astimezone(zone).replace(tzinfo=None, fold=0) for moment in (after, after + _LARGEST_CHANGE))
    return now - _LARGEST_CHANGE if soon - now < _LARGEST_CHANGE else now


def _growing(found: Iterable[datetime], after: datetime) -> Iterator[datetime]:
    for moment in found:
        if moment > after:
            yield moment
            after = moment


def _fixed_times(shown: Iterable[datetime], zone: tzinfo) -> Iterator[datetime]:
    for local in shown:
        while not (found := _moments_of(local, zone)):
            local += _MINUTE  # noqa: PLW2901 - to the end of what is left out
        yield found[0]


def _as_often_as_shown(shown: Iterable[datetime], zone: tzinfo) -> Iterator[datetime]:
    again: deque[datetime] = deque()  # when something is shown for the second time
    for local in shown:
        found = _moments_of(local, zone)
        if found:
            while again and again[0] < found[0]:
                yield again.popleft()
            yield found[0]
            again.extend(found[1:])


def _moments_of(local: datetime, zone: tzinfo) -> list[datetime]:
    """When the clocks show this: once, never in an hour that they leave out, twice in one that they repeat."""
    both = {local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(moment for moment in both if moment.astimezone(zone).replace(tzinfo=None, fold=0) == local)


def _even_moments(timing: Every, after: datetime) -> Iterator[datetime]:
    interval, zone = timing.interval, _zone(timing.zone)
    if interval % _SECOND or not _SECOND <= interval <= _LONGEST_INTERVAL:
        raise BadRequest(f"an interval is whole seconds, one at least and {_LONGEST_INTERVAL.days} days at most")
    if interval % _DAY or zone is UTC:
        return _evenly(timing.first.astimezone(UTC), interval, after)
    return _by_time_of_day(timing.first.astimezone(zone), interval, after)


def _evenly(first: datetime, interval: timedelta, after: datetime) -> Iterator[datetime]:
    steps = max((after - first) // interval + 1, 0)
    while True:
        yield first + steps * interval
        steps += 1


def _by_time_of_day(first: datetime, interval: timedelta, after: datetime) -> Iterator[datetime]:
    begun = first.replace(tzinfo=None)
    steps = max((after.astimezone(first.tzinfo).replace(tzinfo=None) - begun) // interval - 1, 0)
    while True:
        # A time that the clocks leave out is read as if they had not been moved: as much later by those that were.
        moment = (begun + steps * interval).replace(tzinfo=first.tzinfo).astimezone(UTC)
        if moment > after and moment >= first:
            yield moment
        steps += 1


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadRequest(f"{name!r} is not a time zone: write one such as Europe/Berlin, or UTC") from None
