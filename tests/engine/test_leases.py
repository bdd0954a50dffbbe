"""Leases: kept while the store can be reached, given up in time when it cannot, and never used by two."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from workshop import A, B, Gate, Workshop, finished, job, working

from emissary.engine.handlers import Turn, Verdict, Work
from emissary.engine.results import Settler
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import WorkerId
from emissary.model.jobs import FINAL_STATES, JobState, StoredResult
from emissary.model.lanes import Claim, Lease, Pace, Reason, Release, Settlement, Wish
from emissary.testing.clock import FakeClock, SeededChance

pytestmark = pytest.mark.anyio

BOB = WorkerId("wrk_bob")
RENEWAL = 10  # a tenth of the workshop's lease of 100 seconds
WATCH = 5


async def hand_over(workshop: Workshop, seconds: float = 0) -> Lease:
    """Bob claims the one lane so many seconds from now."""
    now = workshop.clock.now() + timedelta(seconds=seconds)
    (lease,) = (await workshop.lanes.claim(Claim(BOB, now + timedelta(hours=1), 1, 9), now)).leases
    return lease


@asynccontextmanager
async def bob_is_there(workshop: Workshop) -> AsyncIterator[None]:
    """Without him, his lanes would be taken back as those of the dead."""
    await workshop.workers.enlist(BOB)
    yield
    await workshop.workers.leave(BOB)


async def test_a_lease_is_renewed_for_as_long_as_the_work_takes(still: Workshop, clock: FakeClock) -> None:
    gate, asked = Gate(), job()
    await still.submit(asked)
    async with working(still.worker(gate.play)):
        await gate.reached.wait()
        for _ in range(30):
            await clock.until_asleep(RENEWAL)
            clock.advance(RENEWAL)
        await clock.until_asleep(RENEWAL)
        assert await still.lanes.wake(clock.now() + timedelta(seconds=80)) == 0
        gate.opened.set()
        (end,) = await still.until_end(asked)
    assert end.state is JobState.COMPLETED
    assert gate.seen == [asked.id]


async def test_a_run_whose_lane_went_to_another_stops_and_writes_nothing(still: Workshop, clock: FakeClock) -> None:
    gate, asked = Gate(), job()
    await still.submit(asked)
    async with bob_is_there(still), working(still.worker(gate.play)):
        await gate.reached.wait()
        await clock.until_asleep(RENEWAL)
        bobs = await hand_over(still, seconds=101)
        clock.advance(RENEWAL)
        await gate.stopped.wait()
    found = await still.see(asked.id)
    assert (found.state, found.result) == (JobState.ACTIVE, None)
    assert await still.lanes.renew([bobs.grip], clock.now() + timedelta(hours=1)) == frozenset()
    assert still.metrics.registry.get_sample_value("emissary_leases_lost_total") == 1


async def test_what_is_told_after_the_lane_went_to_another_is_dropped(still: Workshop) -> None:
    gate, asked = Gate(), job()
    await still.submit(asked)
    async with bob_is_there(still), working(still.worker(gate.play)):
        await gate.reached.wait()
        await hand_over(still, seconds=101)
        gate.opened.set()  # before the next renewal could tell that the lease is lost
    found = await still.see(asked.id)
    assert (found.state, found.result) == (JobState.ACTIVE, None)
    assert still.metrics.registry.get_sample_value("emissary_settlements_fenced_total") == 1


async def test_a_lane_is_left_at_seven_tenths_of_a_lease_that_cannot_be_renewed(
    still: Workshop, clock: FakeClock
) -> None:
    gate, asked = Gate(), job()
    await still.submit(asked)
    async with working(still.worker(gate.play)):
        await gate.reached.wait()
        still.lanes.down = True
        for _ in range(13):
            await clock.until_asleep(WATCH)
            clock.advance(WATCH)
        await clock.until_asleep(WATCH)
        assert not gate.stopped.is_set()
        clock.advance(WATCH)
        await gate.stopped.wait()
        assert clock.monotonic() == 70
        still.lanes.down = False
    assert (await still.see(asked.id)).result is None


async def test_a_lane_is_left_at_seven_tenths_even_if_the_store_does_not_answer_at_all(
    still: Workshop, clock: FakeClock
) -> None:
    gate, asked = Gate(), job()
    await still.submit(asked)
    async with working(still.worker(gate.play)):
        await gate.reached.wait()
        still.lanes.open.clear()
        for _ in range(14):
            await clock.until_asleep(WATCH)
            clock.advance(WATCH)
        await gate.stopped.wait()
        still.lanes.open.set()
    assert (await still.see(asked.id)).result is None


async def test_a_worker_that_gets_a_lane_it_still_serves_goes_on_with_the_new_lease_alone(workshop: Workshop) -> None:
    gate, asked = Gate(), job()
    await workshop.submit(asked)
    async with working(workshop.worker(gate.play)):
        await gate.reached.wait()
        gate.reached.clear()
        # As after a long pause of the machine: the lease is over, and nobody has noticed.
        await workshop.lanes.wake(workshop.clock.now() + timedelta(hours=1))
        await gate.stopped.wait()
        await gate.reached.wait()
        gate.opened.set()
        (end,) = await workshop.until_end(asked)
        later = job()
        await workshop.submit(later)
        await workshop.until_end(later)
    assert end.state is JobState.COMPLETED
    assert gate.seen == [asked.id, asked.id, later.id]


async def test_the_lanes_of_the_dead_rest_and_are_then_served(still: Workshop, clock: FakeClock) -> None:
    gate, asked = Gate(), job()
    gate.opened.set()
    await still.submit(asked)
    await hand_over(still)  # and Bob, who never enlisted, is not there
    async with working(still.worker(gate.play, pace=Pace(timedelta(seconds=10)))):
        await still.until_state(asked.id, JobState.WAITING)
        why = await still.jobs.why_waiting(asked.id)
        assert why is not None
        assert (why.reason, why.until) == ("gap", clock.now() + timedelta(seconds=10))
        assert gate.seen == []
        clock.advance(10)
        await still.until_end(asked)


# A store that fails for a while


async def test_a_store_that_fails_while_results_are_told_loses_none(still: Workshop, clock: FakeClock) -> None:
    gate, asked = Gate(), [job(f"host:{number}.example") for number in range(10)]
    await still.submit(*asked)
    async with working(still.worker(gate.play)):
        async with asyncio.timeout(10):
            while len(gate.seen) < 10:
                await still.see(asked[0].id)
        still.lanes.down = True
        gate.opened.set()
        for _ in range(3):
            await clock.until_asleep(0.5)
            clock.advance(0.5)
        await clock.until_asleep(0.5)
        still.lanes.down = False
        clock.advance(0.5)
        ends = await still.until_end(*asked)
    assert {each.state for each in ends} == {JobState.COMPLETED}
    assert len(gate.seen) == 10
    assert still.metrics.registry.get_sample_value("emissary_settlements_fenced_total") == 0


async def test_a_store_that_fails_while_lanes_are_claimed_does_not_end_the_worker(workshop: Workshop) -> None:
    gate, asked = Gate(), job()
    gate.opened.set()
    await workshop.submit(asked)
    async with working(workshop.worker(gate.play)):
        workshop.lanes.down = True
        for _ in range(20):
            await workshop.see(asked.id)
        workshop.lanes.down = False
        await workshop.until_end(asked)


async def test_what_was_claimed_and_never_heard_of_is_claimed_again(workshop: Workshop) -> None:
    gate, asked = Gate(), job()
    async with working(workshop.worker(gate.play)):
        workshop.lanes.loses_answers = True
        await workshop.submit(asked)
        await workshop.until_state(asked.id, JobState.ACTIVE)
        assert gate.seen == []
        workshop.lanes.loses_answers = False
        await gate.reached.wait()
        gate.opened.set()
        await workshop.until_end(asked)
    assert gate.seen == [asked.id]


async def test_after_a_lost_answer_whatever_is_in_hand_stays_there(workshop: Workshop) -> None:
    gate, asked, later = Gate(), job(A), job(B)
    await workshop.submit(asked)
    async with working(workshop.worker(gate.play)):
        await gate.reached.wait()
        workshop.lanes.loses_answers = True
        await workshop.submit(later)
        await workshop.until_state(later.id, JobState.ACTIVE)
        workshop.lanes.loses_answers = False
        gate.opened.set()
        await workshop.until_end(asked, later)
    assert sorted(gate.seen) == [asked.id, later.id]


async def test_a_lane_is_in_hand_until_it_is_written_that_it_was_given_back(still: Workshop, clock: FakeClock) -> None:
    settler = Settler(still.lanes, still.bus, clock, still.metrics)
    await still.submit(job())
    lease = await hand_over(still)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        still.lanes.down = True
        settler.release(Release(lease.grip, clock.now(), Reason.GAP))
        group.create_task(settler.run())
        await clock.until_asleep(0.5)
        assert settler.releasing == {lease.grip}, "it was told, and not written"
        still.lanes.down = False
        settler.close()
        clock.advance(0.5)
    assert settler.releasing == frozenset()


async def test_a_store_that_fails_while_more_is_asked_for_is_asked_again(still: Workshop, clock: FakeClock) -> None:
    gate, asked = Gate(), [job() for _ in range(4)]
    await still.submit(*asked)
    async with working(still.worker(gate.play, items=1)):
        await gate.reached.wait()
        still.lanes.down = True
        gate.opened.set()
        await clock.until_asleep(0.5)
        still.lanes.down = False
        clock.advance(0.5)
        await still.until_end(*asked)
    assert gate.seen == [each.id for each in asked]


async def test_a_result_too_large_for_an_object_store_that_fails_is_made_again(
    still: Workshop, clock: FakeClock
) -> None:
    body = SeededChance().draw(200_000)

    async def play(work: Work, turn: Turn) -> Verdict:
        return finished(body)

    asked = job()
    still.blobs.down = True
    await still.submit(asked)
    async with working(still.worker(play)):
        delayed = await still.until_state(asked.id, JobState.DELAYED)
        assert delayed.failures == 0, "the job did not fail, the store did"
        still.blobs.down = False
        clock.advance(10)
        (end,) = await still.until_end(asked)
    assert end.result is not None
    assert end.result.body is None
    assert await still.jobs.body_of(end) == body


# The settler


async def test_whoever_asks_for_more_of_a_lost_lane_is_told_so(still: Workshop) -> None:
    await still.submit(job())
    lease = await hand_over(still)
    await hand_over(still, seconds=2 * 3600)
    settler = Settler(still.lanes, still.bus, still.clock, still.metrics)
    async with asyncio.TaskGroup() as group:
        group.create_task(settler.run())
        assert await settler.more(Wish(lease.grip, 5)) is None
        settler.close()


async def test_what_many_have_to_tell_is_gathered_for_a_moment_and_written_together(
    still: Workshop, clock: FakeClock
) -> None:
    asked = [job() for _ in range(6)]
    await still.submit(*asked)
    settler, told = Settler(still.lanes, still.bus, clock, still.metrics), completed(await hand_over(still))
    async with asyncio.TaskGroup() as group:
        group.create_task(settler.run())
        for settlement in told[:4]:
            settler.settle(settlement)
        await still.until_end(*asked[:4])
        await clock.until_asleep(0.02)
        for settlement in told[4:]:
            settler.settle(settlement)
            assert (await still.see(settlement.job)).state not in FINAL_STATES
        clock.advance(0.02)
        await still.until_end(*asked[4:])
        settler.close()
    assert reports_written(still) == 2


async def test_what_one_has_to_tell_is_written_at_once(still: Workshop, clock: FakeClock) -> None:
    asked = [job() for _ in range(3)]
    await still.submit(*asked)
    settler, told = Settler(still.lanes, still.bus, clock, still.metrics), completed(await hand_over(still))
    async with asyncio.TaskGroup() as group:
        group.create_task(settler.run())
        for each, settlement in zip(asked, told, strict=True):
            settler.settle(settlement)
            await still.until_end(each)
        settler.close()
    assert reports_written(still) == 3


async def test_a_settler_that_is_closed_gathers_no_longer(still: Workshop, clock: FakeClock) -> None:
    asked = [job() for _ in range(5)]
    await still.submit(*asked)
    settler, told = Settler(still.lanes, still.bus, clock, still.metrics), completed(await hand_over(still))
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(settler.run())
        for settlement in told[:4]:
            settler.settle(settlement)
        await clock.until_asleep(0.02)
        settler.settle(told[4])
        settler.close()
    assert (await still.see(asked[4].id)).state is JobState.COMPLETED


async def test_nothing_is_settled_before_what_results_point_to_is_on_disk(still: Workshop, clock: FakeClock) -> None:
    asked, durable, begun = job(), asyncio.Event(), asyncio.Event()

    async def beforehand() -> None:
        begun.set()
        await durable.wait()

    await still.submit(asked)
    lease = await hand_over(still)
    settler = Settler(still.lanes, still.bus, clock, still.metrics, beforehand=beforehand)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(settler.run())
        settler.settle(*completed(lease))
        await begun.wait()
        assert (await still.see(asked.id)).state is JobState.ACTIVE
        durable.set()
        await still.until_end(asked)
        settler.close()


async def test_a_report_that_points_to_what_could_not_be_written_is_told_again_as_a_whole(
    still: Workshop, clock: FakeClock
) -> None:
    asked, is_full = [job() for _ in range(3)], True

    async def beforehand() -> None:
        if is_full:
            raise StoreUnavailable("no space left, as the test asked")

    await still.submit(*asked)
    lease = await hand_over(still)
    settler = Settler(still.lanes, still.bus, clock, still.metrics, beforehand=beforehand)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(settler.run())
        for settlement in completed(lease):
            settler.settle(settlement)
        more = settler.more(Wish(lease.grip, 5))
        settler.release(Release(lease.grip, clock.now(), Reason.GAP))
        for _ in range(3):
            await clock.until_asleep(0.5)
            assert {(await still.see(each.id)).state for each in asked} == {JobState.ACTIVE}
            assert not more.done(), "nothing is begun that could not be settled either"
            clock.advance(0.5)
        is_full = False
        await still.until_end(*asked)
        await more
        settler.close()
    assert reports_written(still) == 1
    assert still.metrics.registry.get_sample_value("emissary_settlements_fenced_total") == 0
    await still.submit(job())
    assert (await hand_over(still)).grip.fence > lease.grip.fence, "the lane was given back with the report"


def completed(lease: Lease) -> list[Settlement]:
    """Every item of the lease has come to a good end."""
    result = StoredResult(b'"well"', None)
    return [
        Settlement(lease.grip, item.job, item.rank, item.created_at, JobState.COMPLETED, result) for item in lease.items
    ]


def reports_written(workshop: Workshop) -> float | None:
    return workshop.metrics.registry.get_sample_value("emissary_settle_batch_size_count")
