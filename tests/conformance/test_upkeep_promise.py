"""The promise of `ports.upkeep`: what is old goes, in portions; what is young, open or still needed stays."""

import secrets
from datetime import date, timedelta

import msgspec
import pytest
from making import (
    ACCOUNT,
    ANN,
    A,
    B,
    C,
    at,
    claim,
    done,
    fill,
    hold,
    job,
    lease_one,
    open_batch,
    release,
    settle,
    tidy_up,
    work_off,
)
from sides import Side

from emissary.model.alerts import Alert
from emissary.model.batches import BatchState
from emissary.model.ids import EventId, JobId, ScheduleId, ulid
from emissary.model.jobs import Kind, NewJob, StoredResult
from emissary.model.lanes import LaneKey
from emissary.model.scaling import Load
from emissary.model.schedules import CatchUp, Firing, Schedule, Template
from emissary.model.timing import Cron
from emissary.model.usage import UsageBy
from emissary.model.webhooks import Notice, Try

pytestmark = pytest.mark.anyio

DAY = 86_400
OLD, YOUNG = 10 * DAY, 40 * DAY
WHEN = at(30 * DAY)


def dated(seconds: float, lane: LaneKey = A) -> NewJob:
    """A job whose name says that it is of that moment."""
    return msgspec.structs.replace(job(lane), id=JobId(f"job_{ulid(at(seconds), secrets.token_bytes(10))}"))


async def finish(side: Side, *jobs: NewJob, result: StoredResult | None = None, seconds: float = OLD) -> None:
    """Submit jobs of one lane at that moment, and end them."""
    await side.lanes.submit(jobs, at(seconds))
    lease = await lease_one(side.lanes, seconds=seconds, items=len(jobs))
    told = [done(lease.grip, item) if result is None else done(lease.grip, item, result) for item in lease.items]
    await settle(side.lanes, *told, release(lease.grip, seconds), seconds=seconds)


async def drop_all(side: Side, most: int = 100) -> int:
    """Drop until nothing is left to drop; returns in how many portions."""
    portions = 0
    while await side.retention.drop_before(WHEN, most=most):
        portions += 1
    return portions


async def is_there(side: Side, job: NewJob) -> bool:
    return await side.jobs.job(job.id, at(YOUNG)) is not None


async def test_jobs_that_have_ended_go_when_they_are_old(side: Side, other_side: Side) -> None:
    old, young = dated(OLD), dated(YOUNG)
    await finish(side, old)
    await finish(side, young, seconds=YOUNG)
    await drop_all(side)
    assert not await is_there(other_side, old)
    assert await is_there(other_side, young)
    found = await other_side.jobs.job(young.id, at(YOUNG))
    assert found is not None
    assert found.result is not None
    assert found.result.body == b"the body"


async def test_a_job_that_has_not_ended_is_kept_however_old_it_is(side: Side) -> None:
    waiting = dated(OLD)
    await side.lanes.submit([waiting], at(OLD))
    await drop_all(side)
    assert await is_there(side, waiting)
    (item,) = await work_off(side.lanes, seconds=YOUNG)
    assert item.job == waiting.id


async def test_what_is_old_goes_in_portions(side: Side) -> None:
    await finish(side, *(dated(OLD) for _ in range(5)))
    assert await drop_all(side, most=2) >= 3


async def test_dropping_twice_does_no_harm(side: Side, other_side: Side) -> None:
    await finish(side, dated(OLD))
    await drop_all(side)
    assert await other_side.retention.drop_before(WHEN, most=9) == 0


async def test_a_result_with_an_object_stays_until_that_is_forgotten(side: Side) -> None:
    large, small, young = dated(OLD), dated(OLD + 1), dated(YOUNG)
    await finish(side, large, result=StoredResult(b"{}", None, "results/large"))
    await finish(side, small)
    await finish(side, young, result=StoredResult(b"{}", None, "results/young"), seconds=YOUNG)
    assert await side.retention.bodies_before(WHEN, most=9) == {large.id: "results/large"}
    await drop_all(side)
    assert [await is_there(side, each) for each in (large, small, young)] == [True, False, True]
    await side.retention.forget_bodies([large.id])
    assert await side.retention.bodies_before(WHEN, most=9) == {}
    await drop_all(side)
    assert [await is_there(side, each) for each in (large, young)] == [False, True]


async def test_objects_are_told_in_portions(side: Side) -> None:
    await finish(side, *(dated(OLD) for _ in range(5)), result=StoredResult(b"{}", None, "results/some"))
    first = await side.retention.bodies_before(WHEN, most=3)
    await side.retention.forget_bodies(list(first))
    rest = await side.retention.bodies_before(WHEN, most=3)
    assert (len(first), len(rest), len(first | rest)) == (3, 2, 5)


async def test_usage_is_kept_sixty_days_longer_than_jobs(side: Side) -> None:
    async def days() -> list[str]:
        found = await side.usage.of_account(ACCOUNT, date(2000, 1, 1), date(2100, 1, 1), UsageBy.DAY)
        return [row.key for row in found]

    day = WHEN - timedelta(days=61)
    for number, lane in enumerate((A, B, C)):
        await side.lanes.submit([dated(OLD, lane)], day)
        await work_off(side.lanes, seconds=(day - at(0)).total_seconds() + number * DAY)
    while await side.usage.fold(most=9):
        pass
    assert len(await days()) == 3
    await drop_all(side)
    assert await days() == [(WHEN - timedelta(days=days_ago)).date().isoformat() for days_ago in (60, 59)]


async def test_a_batch_goes_when_it_has_ended_and_its_jobs_are_gone(side: Side) -> None:
    batch, _ = await fill(side.batches, side.lanes, [A, B])
    await work_off(side.lanes, seconds=OLD)
    while await side.batches.tidy(at(OLD), most=9):
        pass
    await drop_all(side)
    assert await side.batches.find(batch) is None
    assert await side.jobs.depth() == 0


async def test_a_batch_that_has_not_ended_is_kept(side: Side) -> None:
    batch, _ = await fill(side.batches, side.lanes, [A, B])
    await work_off(side.lanes, 1, seconds=OLD)
    await drop_all(side)
    found = await side.batches.find(batch)
    assert found is not None
    assert found.state is BatchState.RUNNING
    assert await side.jobs.depth() == 1


async def test_what_a_batch_has_seen_goes_with_it(side: Side) -> None:
    batch = await open_batch(side.batches)
    await side.lanes.submit([job(batch=batch, mark=bytes([number] * 16)) for number in range(5)], at(OLD))
    await side.batches.seal(batch)
    await work_off(side.lanes, seconds=OLD)
    while await side.batches.tidy(at(OLD), most=9):
        pass
    assert await drop_all(side, most=2) >= 6
    assert await side.batches.find(batch) is None


async def test_old_firings_and_alerts_go(side: Side) -> None:
    term = await side.leadership.lead(ANN, timedelta(seconds=15), at(OLD))
    assert term is not None
    template = Template(ACCOUNT, Kind("test"), A, b"{}")
    schedule = Schedule(ScheduleId("sch_1"), template, Cron("0 0 * * *"), CatchUp.ALL, at(0))
    await side.schedules.add(schedule, at(OLD))
    fires = tuple((at(seconds), dated(seconds)) for seconds in (OLD, YOUNG))
    await side.schedules.fired(term, Firing(schedule.id, at(OLD), at(YOUNG + DAY), fires), at(YOUNG))
    for seconds in (OLD, YOUNG):
        await side.alerts.note(term, Alert("worker.dead", f"wrk_{seconds}", at(seconds)), [])
    await drop_all(side)
    assert [fire.moment for fire in await side.schedules.fires(schedule.id, most=9)] == [at(YOUNG)]
    assert [alert.at for alert in await side.alerts.latest(most=9)] == [at(YOUNG)]
    assert len(await side.schedules.of_account(ACCOUNT, after=None, most=9)) == 1, "the schedule itself stays"


async def test_the_log_of_deliveries_goes_with_their_jobs(side: Side) -> None:
    old, waiting, young = (
        msgspec.structs.replace(each, notice=Notice(None, EventId("evt_1"), "job.failed", each.id))
        for each in (dated(OLD), dated(OLD, B), dated(YOUNG))
    )
    await finish(side, old)
    await side.lanes.submit([waiting], at(OLD))
    await side.lanes.submit([young], at(YOUNG))
    for each in (old, waiting, young):
        await side.deliveries.note(each.id, Try(at(YOUNG), 500, None))
    await drop_all(side)
    assert [(await side.deliveries.standing(each.id)).attempts for each in (old, waiting, young)] == [0, 1, 1]


async def test_lanes_that_have_been_empty_for_long_go_and_come_back_with_their_next_job(side: Side) -> None:
    await finish(side, dated(OLD, A))
    await finish(side, dated(YOUNG, B), seconds=YOUNG)
    await side.lanes.submit([dated(OLD, C)], at(OLD))
    await drop_all(side)
    assert await side.retention.drop_lanes(WHEN, most=9) == 1
    assert await side.retention.drop_lanes(WHEN, most=9) == 0
    await side.lanes.submit([dated(YOUNG, A)], at(YOUNG))
    leased = {lease.grip.lane for lease in (await claim(side.lanes, seconds=YOUNG + 60)).leases}
    assert leased == {A, C}


async def test_a_lane_whose_only_job_was_cancelled_lately_is_kept(side: Side) -> None:
    cancelled = dated(YOUNG)
    await finish(side, dated(OLD))
    await side.lanes.submit([cancelled], at(YOUNG))
    await side.lanes.cancel([cancelled.id], at(YOUNG))
    await drop_all(side)
    assert await side.retention.drop_lanes(WHEN, most=9) == 0
    assert await is_there(side, cancelled)


async def test_a_lane_in_which_a_paused_batch_waits_is_kept_however_long(side: Side) -> None:
    paused, waiting = await open_batch(side.batches), dated(OLD, C)
    await side.lanes.submit([msgspec.structs.replace(waiting, batch=paused)], at(OLD))
    await side.batches.seal(paused)
    await side.batches.mark(paused, BatchState.PAUSED, at(OLD))
    await tidy_up(side.batches, OLD)
    await drop_all(side)
    await side.retention.drop_lanes(WHEN, most=99)
    await side.batches.mark(paused, BatchState.RUNNING, at(YOUNG))
    await tidy_up(side.batches, YOUNG)
    leases = (await claim(side.lanes, seconds=YOUNG)).leases
    assert [item.job for lease in leases for item in lease.items] == [waiting.id]


async def test_lanes_go_in_portions(side: Side) -> None:
    for number in range(5):
        await finish(side, dated(OLD, LaneKey(f"host:{number}.example")))
    await drop_all(side)
    assert [await side.retention.drop_lanes(WHEN, most=2) for _ in range(4)] == [2, 2, 1, 0]


async def test_making_room_twice_does_no_harm(side: Side, other_side: Side) -> None:
    for each in (side, other_side, side):
        await each.retention.make_room(at(OLD))
    await finish(side, dated(OLD))
    await side.retention.make_room(at(OLD + DAY))


# How much there is to do


async def test_the_load_counts_lanes_that_are_ready_and_those_in_hand(side: Side, other_side: Side) -> None:
    assert await side.workload.load(at(0)) == Load(0, 0, timedelta())
    await hold(side.lanes, job(A), job(A))
    await side.lanes.submit([job(B)], at(10))
    await side.lanes.submit([job(C)], at(20))
    assert await other_side.workload.load(at(60)) == Load(2, 1, timedelta(seconds=50))


async def test_a_lane_has_waited_since_it_could_have_been_served(side: Side) -> None:
    lease = await hold(side.lanes, job(A), job(A))
    (first, *_) = lease.items
    await settle(side.lanes, done(lease.grip, first), release(lease.grip, 30), seconds=5)
    assert (await side.workload.load(at(20))).ready_lanes == 0, "it rests"
    await side.lanes.wake(at(40))
    assert (await side.workload.load(at(70))).oldest_wait in (timedelta(seconds=40), timedelta(seconds=30))


async def test_a_further_job_does_not_make_a_lane_wait_anew(side: Side) -> None:
    await side.lanes.submit([job(A)], at(0))
    await side.lanes.submit([job(A)], at(50))
    assert (await side.workload.load(at(60))).oldest_wait == timedelta(seconds=60)
