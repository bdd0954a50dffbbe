"""The promise of `ports.schedules.Schedules`: kept, due in order, and no moment fired twice."""

import asyncio
from datetime import datetime, timedelta

import pytest
from making import ACCOUNT, ANN, BOB, A, at, job
from sides import Side

from emissary.model.errors import TermOver
from emissary.model.ids import AccountId, ScheduleId
from emissary.model.jobs import JobState, Kind, NewJob, Priority
from emissary.model.leadership import Term
from emissary.model.schedules import CatchUp, Due, Fire, Firing, Schedule, Template
from emissary.model.timing import Cron, Every, Timing

pytestmark = pytest.mark.anyio

LEASE = timedelta(seconds=15)
HOURLY = Cron("0 * * * *", "Europe/Berlin")


def a_schedule(
    name: str = "sch_1", timing: Timing = HOURLY, account: AccountId = ACCOUNT, catch_up: CatchUp = CatchUp.ALL
) -> Schedule:
    template = Template(account, Kind("test"), A, b'{"number":1}', Priority.HIGH)
    return Schedule(ScheduleId(name), template, timing, catch_up, at(0))


def firing(*moments: datetime, due_at: datetime, next_at: datetime, name: str = "sch_1") -> Firing:
    return Firing(ScheduleId(name), due_at, next_at, tuple((moment, job()) for moment in moments))


def jobs_of(fired: Firing) -> list[NewJob]:
    return [each for _, each in fired.jobs]


async def leader(side: Side) -> Term:
    term = await side.leadership.lead(ANN, LEASE, at(0))
    assert term is not None
    return term


@pytest.mark.parametrize(
    "timing", [HOURLY, Every(timedelta(hours=6), at(60)), Every(timedelta(days=2), at(0), "Asia/Tokyo")]
)
async def test_a_schedule_is_kept_as_it_is(side: Side, other_side: Side, timing: Timing) -> None:
    kept = a_schedule(timing=timing)
    await side.schedules.add(kept, at(60))
    assert await other_side.schedules.of_account(ACCOUNT, after=None, most=9) == [Due(kept, at(60))]


async def test_schedules_are_listed_by_account_and_page(side: Side) -> None:
    for name in ("sch_3", "sch_1", "sch_2"):
        await side.schedules.add(a_schedule(name), at(60))
    await side.schedules.add(a_schedule("sch_0", account=AccountId("acc_two")), at(60))
    first = await side.schedules.of_account(ACCOUNT, after=None, most=2)
    rest = await side.schedules.of_account(ACCOUNT, after=first[-1].schedule.id, most=2)
    assert [due.schedule.id for due in [*first, *rest]] == ["sch_1", "sch_2", "sch_3"]


async def test_what_is_due_comes_in_the_order_of_its_moments(side: Side) -> None:
    for name, seconds in (("sch_1", 30), ("sch_2", 10), ("sch_3", 20), ("sch_4", 31)):
        await side.schedules.add(a_schedule(name), at(seconds))
    assert [due.schedule.id for due in await side.schedules.due(at(30), most=9)] == ["sch_2", "sch_3", "sch_1"]
    assert [due.at for due in await side.schedules.due(at(30), most=1)] == [at(10)]
    assert await side.schedules.due(at(9), most=9) == []


async def test_only_its_own_account_removes_a_schedule(side: Side) -> None:
    await side.schedules.add(a_schedule(), at(0))
    assert not await side.schedules.remove(ScheduleId("sch_1"), AccountId("acc_two"))
    assert await side.schedules.remove(ScheduleId("sch_1"), ACCOUNT)
    assert not await side.schedules.remove(ScheduleId("sch_1"), ACCOUNT)
    assert await side.schedules.due(at(99), most=9) == []


async def test_a_firing_makes_its_jobs_and_moves_the_schedule_on(side: Side, other_side: Side) -> None:
    term = await leader(side)
    await side.schedules.add(a_schedule(), at(0))
    told = firing(at(0), at(60), due_at=at(0), next_at=at(120))
    assert await side.schedules.fired(term, told, at(61)) == {each.id for each in jobs_of(told)}
    for each in jobs_of(told):
        found = await other_side.jobs.job(each.id, at(61))
        assert found is not None
        assert (found.state, found.account, found.lane, found.order) == (JobState.WAITING, ACCOUNT, A, each.order)
    assert await other_side.schedules.due(at(119), most=9) == []
    assert [due.at for due in await other_side.schedules.due(at(120), most=9)] == [at(120)]
    made = [job.id for job in jobs_of(told)]
    assert await other_side.schedules.fires(ScheduleId("sch_1"), most=9) == [
        Fire(at(60), made[1]),
        Fire(at(0), made[0]),
    ]


async def test_of_two_who_planned_the_same_firing_the_second_changes_nothing(side: Side, other_side: Side) -> None:
    term = await leader(side)
    await side.schedules.add(a_schedule(), at(0))
    first = firing(at(0), due_at=at(0), next_at=at(60))
    second = firing(at(0), due_at=at(0), next_at=at(60))
    outcomes = await asyncio.gather(
        side.schedules.fired(term, first, at(1)), other_side.schedules.fired(term, second, at(1))
    )
    assert sorted(len(outcome) for outcome in outcomes) == [0, 1]
    assert await side.jobs.depth() == 1


async def test_whoever_planned_too_long_ago_does_not_set_the_schedule_back(side: Side, other_side: Side) -> None:
    term = await leader(side)
    await side.schedules.add(a_schedule(), at(0))
    await side.schedules.fired(term, firing(at(0), at(60), due_at=at(0), next_at=at(120)), at(61))
    late = firing(at(0), at(30), due_at=at(0), next_at=at(60))
    assert await other_side.schedules.fired(term, late, at(62)) == frozenset()
    assert [due.at for due in await side.schedules.of_account(ACCOUNT, after=None, most=9)] == [at(120)]
    assert await side.jobs.depth() == 2


async def test_a_moment_is_not_fired_again_even_if_the_schedule_is_due_at_it_again(side: Side) -> None:
    term = await leader(side)
    await side.schedules.add(a_schedule(), at(0))
    await side.schedules.fired(term, firing(at(0), due_at=at(0), next_at=at(0)), at(1))
    again = firing(at(0), at(60), due_at=at(0), next_at=at(120))
    assert await side.schedules.fired(term, again, at(61)) == {jobs_of(again)[1].id}


async def test_whoever_does_not_lead_any_more_fires_nothing(side: Side, other_side: Side) -> None:
    old = await side.leadership.lead(ANN, timedelta(), at(0))
    assert old is not None
    await side.schedules.add(a_schedule(), at(0))
    new = await other_side.leadership.lead(BOB, LEASE, at(0))
    assert new is not None
    late = firing(at(0), due_at=at(0), next_at=at(60))
    with pytest.raises(TermOver):
        await side.schedules.fired(old, late, at(1))
    assert await side.jobs.depth() == 0
    assert [due.at for due in await side.schedules.due(at(9), most=9)] == [at(0)], "it is still to be done"
    assert await other_side.schedules.fired(new, firing(at(0), due_at=at(0), next_at=at(60)), at(1)) != frozenset()


async def test_a_schedule_that_was_removed_fires_nothing_more(side: Side) -> None:
    term = await leader(side)
    await side.schedules.add(a_schedule(), at(0))
    await side.schedules.fired(term, firing(at(0), due_at=at(0), next_at=at(60)), at(1))
    await side.schedules.remove(ScheduleId("sch_1"), ACCOUNT)
    assert await side.schedules.fired(term, firing(at(60), due_at=at(60), next_at=at(120)), at(61)) == frozenset()
    assert await side.schedules.fires(ScheduleId("sch_1"), most=9) == []
    assert await side.jobs.depth() == 1, "and what it fired before stays"


async def test_a_firing_without_moments_only_moves_the_schedule_on(side: Side) -> None:
    term = await leader(side)
    await side.schedules.add(a_schedule(), at(0))
    assert await side.schedules.fired(term, firing(due_at=at(0), next_at=at(60)), at(1)) == frozenset()
    assert [due.at for due in await side.schedules.due(at(60), most=9)] == [at(60)]
