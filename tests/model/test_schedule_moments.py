"""When schedules come due: by the clocks of their time zone, in spring and in autumn, and after an outage."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import pytest
from cronsim import CronSim
from hypothesis import given, settings

from cron_expressions import crons, timings
from emissary.model.errors import BadRequest
from emissary.model.ids import AccountId, ScheduleId
from emissary.model.jobs import Kind
from emissary.model.schedules import CatchUp, Schedule, Template, plan
from emissary.model.timing import Cron, Every, Timing, moments, next_moment

BERLIN = "Europe/Berlin"
DAY = timedelta(days=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def by_the_clock(timing: Timing, after: str, count: int) -> list[str]:
    """The first so many moments after this one, as the clocks of the time zone show them."""
    begin = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(timing.zone))
    shown = (moment.astimezone(ZoneInfo(timing.zone)) for moment in islice(moments(timing, begin), count))
    return [f"{moment:%m-%d %H:%M%z}" for moment in shown]


# By the clocks of the time zone


def test_a_cron_expression_is_read_in_its_time_zone() -> None:
    assert next_moment(Cron("30 9 * * MON", "Asia/Kathmandu"), utc("2026-01-05 00:00")) == utc("2026-01-05 03:45")


def test_a_moment_comes_after_the_one_that_is_asked_from_and_not_with_it() -> None:
    assert next_moment(Cron("0 0 * * *"), utc("2026-01-05 00:00")) == utc("2026-01-06 00:00")
    assert next_moment(Every(DAY, utc("2026-01-05 00:00")), utc("2026-01-05 00:00")) == utc("2026-01-06 00:00")


def test_a_fixed_time_that_is_left_out_in_spring_comes_as_soon_as_the_clocks_go_on() -> None:
    days = by_the_clock(Cron("30 2 * * *", BERLIN), "2026-03-27 12:00", 3)
    assert days == ["03-28 02:30+0100", "03-29 03:00+0200", "03-30 02:30+0200"]


def test_a_fixed_time_that_comes_twice_in_autumn_is_fired_the_first_time_only() -> None:
    days = by_the_clock(Cron("30 2 * * *", BERLIN), "2026-10-24 12:00", 2)
    assert days == ["10-25 02:30+0200", "10-26 02:30+0100"]


def test_whoever_begins_to_look_in_the_hour_that_comes_twice_does_not_go_back_in_time() -> None:
    second_time = datetime(2026, 10, 25, 2, 10, tzinfo=ZoneInfo(BERLIN), fold=1)
    assert next_moment(Cron("30 2 * * *", BERLIN), second_time) == utc("2026-10-26 01:30")


def test_what_goes_by_every_minute_goes_on_through_both_changes() -> None:
    spring = by_the_clock(Cron("*/30 * * * *", BERLIN), "2026-03-29 01:15", 3)
    autumn = by_the_clock(Cron("*/30 * * * *", BERLIN), "2026-10-25 02:15", 4)
    assert spring == ["03-29 01:30+0100", "03-29 03:00+0200", "03-29 03:30+0200"]
    assert autumn == ["10-25 02:30+0200", "10-25 02:00+0100", "10-25 02:30+0100", "10-25 03:00+0100"]


def test_an_interval_of_whole_days_keeps_its_time_of_day() -> None:
    first = datetime(2026, 3, 27, 9, 0, tzinfo=ZoneInfo(BERLIN))
    days = by_the_clock(Every(2 * DAY, first, BERLIN), "2026-03-26 00:00", 3)
    assert days == ["03-27 09:00+0100", "03-29 09:00+0200", "03-31 09:00+0200"]


def test_an_interval_of_days_whose_time_is_left_out_is_late_by_as_much_as_the_clocks_were_moved() -> None:
    first = datetime(2026, 3, 28, 2, 30, tzinfo=ZoneInfo(BERLIN))
    days = by_the_clock(Every(DAY, first, BERLIN), "2026-03-28 12:00", 2)
    assert days == ["03-29 03:30+0200", "03-30 02:30+0200"]


def test_an_interval_of_days_whose_time_comes_twice_is_fired_the_first_time_only() -> None:
    first = datetime(2026, 10, 24, 2, 30, tzinfo=ZoneInfo(BERLIN))
    days = by_the_clock(Every(DAY, first, BERLIN), "2026-10-24 12:00", 2)
    assert days == ["10-25 02:30+0200", "10-26 02:30+0100"]


def test_a_shorter_interval_does_not_care_for_the_clocks() -> None:
    first = datetime(2026, 3, 28, 18, 0, tzinfo=ZoneInfo(BERLIN))
    found = list(islice(moments(Every(timedelta(hours=6), first, BERLIN), first), 3))
    assert [moment - first.astimezone(UTC) for moment in found] == [timedelta(hours=hours) for hours in (6, 12, 18)]


def test_an_interval_begins_with_its_first_moment() -> None:
    first = utc("2026-05-01 08:00")
    assert next_moment(Every(timedelta(hours=1), first), utc("2026-01-01 00:00")) == first


@given(timings, st.integers(0, 10_000_000), st.lists(st.integers(0, 100_000), min_size=1, max_size=3))
@settings(deadline=None, max_examples=200)
def test_the_moments_do_not_depend_on_where_one_begins_to_look(timing: Timing, start: int, later: list[int]) -> None:
    begin = utc("2026-01-01 00:00") + timedelta(seconds=start)
    try:
        all_of_them = list(islice(moments(timing, begin), 60))
    except BadRequest:
        return  # the 30th of February, and the like
    assert all(earlier < after for earlier, after in pairwise([begin, *all_of_them]))
    for seconds in later:
        middle = begin + timedelta(seconds=seconds)
        rest = [moment for moment in all_of_them if moment > middle]
        assert list(islice(moments(timing, middle), len(rest))) == rest


CHANGES = [utc("2026-03-29 01:00"), utc("2026-10-25 01:00"), utc("2026-04-04 15:00"), utc("2026-10-03 15:30")]


@given(crons, st.sampled_from(CHANGES), st.integers(-300, 300))
@settings(deadline=None, max_examples=200)
def test_a_cron_expression_comes_whenever_the_clocks_show_it(timing: Cron, change: datetime, start: int) -> None:
    begin = change + timedelta(minutes=start)
    minutes = [begin + timedelta(minutes=number) for number in range(1, 600)]
    found = set(takewhile(lambda moment: moment <= minutes[-1], moments(timing, begin)))
    for minute in minutes:
        shown = minute.astimezone(ZoneInfo(timing.zone)).replace(tzinfo=None, fold=0)
        is_shown = next(CronSim(timing.expression, shown - timedelta(seconds=1))) == shown
        if is_fixed(timing):
            is_shown = is_shown and not shown_before(minute, timing.zone)
        assert is_shown <= (minute in found)
        assert (minute in found) <= (is_shown or (is_fixed(timing) and is_end_of_gap(minute, timing.zone)))


def is_fixed(timing: Cron) -> bool:
    return not any(field.startswith("*") for field in timing.expression.split()[:2])


def shown_before(minute: datetime, zone: str) -> bool:
    return minute.astimezone(ZoneInfo(zone)).fold == 1


def is_end_of_gap(minute: datetime, zone: str) -> bool:
    now, before = (each.astimezone(ZoneInfo(zone)).utcoffset() for each in (minute, minute - timedelta(minutes=1)))
    assert now is not None
    assert before is not None
    return now > before


# What cannot be read


@pytest.mark.parametrize(
    ("timing", "said"),
    [
        (Cron("* * * *"), "five fields"),
        (Cron("* * * * * *"), "five fields"),
        (Cron("61 * * * *"), "bad minute"),
        (Cron("* * 30 2 *"), "bad day-of-month"),
        (Cron("x" * 201), "200 characters"),
        (Cron("0 0 * * *", "Mars/Olympus"), "not a time zone"),
        (Cron("0 0 * * *", "../etc/passwd"), "not a time zone"),
        (Cron("0 0 * * *", "Europe"), "not a time zone"),
        (Cron("0 0 * * *", ""), "not a time zone"),
        (Every(timedelta(0), utc("2026-01-01")), "whole seconds"),
        (Every(timedelta(seconds=-5), utc("2026-01-01")), "whole seconds"),
        (Every(timedelta(seconds=1.5), utc("2026-01-01")), "whole seconds"),
        (Every(timedelta(days=400), utc("2026-01-01")), "whole seconds"),
    ],
)
def test_what_cannot_be_read_is_said(timing: Timing, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        next_moment(timing, utc("2026-01-01"))


@given(st.text(alphabet="0123456789*/-,#LW MONJAN", max_size=30))
@settings(deadline=None, max_examples=300)
def test_whatever_is_written_for_a_cron_expression_is_read_or_refused(text: str) -> None:
    try:
        found = next_moment(Cron(text, BERLIN), utc("2026-01-01"))
    except BadRequest:
        return
    assert found > utc("2026-01-01")


# After an outage


def a_schedule(timing: Timing, catch_up: CatchUp) -> Schedule:
    template = Template(AccountId("acc_1"), Kind("test"), "host:a.example", b"{}")
    return Schedule(ScheduleId("sch_1"), template, timing, catch_up, utc("2026-01-01"))


HOURLY = Cron("0 * * * *")
DUE, NOW = utc("2026-01-01 01:00"), utc("2026-01-01 05:20")


@pytest.mark.parametrize("catch_up", CatchUp)
def test_what_comes_due_in_time_is_fired_once_whatever_the_policy(catch_up: CatchUp) -> None:
    found = plan(a_schedule(HOURLY, catch_up), DUE, DUE + timedelta(seconds=30))
    assert (found.moments, found.passed_over, found.next_at) == ((DUE,), False, DUE + timedelta(hours=1))


@pytest.mark.parametrize(
    ("catch_up", "hours"), [(CatchUp.SKIP, []), (CatchUp.ONCE, [5]), (CatchUp.ALL, [1, 2, 3, 4, 5])]
)
def test_after_an_outage_the_policy_says_what_is_made_up_for(catch_up: CatchUp, hours: list[int]) -> None:
    found = plan(a_schedule(HOURLY, catch_up), DUE, NOW)
    assert [moment.hour for moment in found.moments] == hours
    assert found.passed_over is (len(hours) < 5)
    assert found.next_at == utc("2026-01-01 06:00")


def test_skipping_goes_on_with_a_moment_that_has_just_come() -> None:
    found = plan(a_schedule(HOURLY, CatchUp.SKIP), DUE, utc("2026-01-01 05:00:40"))
    assert (found.moments, found.passed_over) == ((utc("2026-01-01 05:00"),), True)


def test_no_more_than_the_last_hundred_are_made_up_for() -> None:
    found = plan(a_schedule(Cron("* * * * *"), CatchUp.ALL), utc("2025-01-01"), NOW)
    assert found.passed_over
    assert len(found.moments) == 100
    assert (found.moments[0], found.moments[-1]) == (NOW - timedelta(minutes=99), NOW)


@given(timings, st.integers(0, 3_000_000), st.integers(0, 400_000))
@settings(deadline=None, max_examples=150)
def test_what_is_made_up_for_is_the_end_of_all_that_came(timing: Timing, start: int, length: int) -> None:
    begin = utc("2026-03-01 00:00") + timedelta(seconds=start)
    try:
        due = next_moment(timing, begin)
    except BadRequest:
        return
    now = due + timedelta(seconds=length)
    found = plan(a_schedule(timing, CatchUp.ALL), due, now)
    came = []
    for moment in moments(timing, begin):
        if moment > now:
            break
        came.append(moment)
    assert list(found.moments) == came[-100:]
    assert found.passed_over is (len(came) > 100)
    assert plan(a_schedule(timing, CatchUp.ONCE), due, now).moments == tuple(came[-1:])
