"""The promise of `ports.lanes.Lanes`: a lane rests as long as it was told to, and no work is forgotten meanwhile."""

import asyncio
import random

import pytest
from making import (
    ANN,
    BOB,
    LEASE_SECONDS,
    A,
    B,
    at,
    claim,
    done,
    hold,
    job,
    jobs_of,
    keys_of,
    lease_one,
    release,
    retry,
    settle,
)
from openers import Backend

from emissary.model.ids import JobId
from emissary.model.jobs import JobState
from emissary.model.lanes import Grip, Holding, Reason
from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords

pytestmark = pytest.mark.anyio


async def test_a_lane_that_was_given_back_rests_as_long_as_it_was_told_to(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    await settle(lanes, release(lease.grip, rest=10))
    claimed = await claim(lanes, BOB, seconds=9)
    assert (claimed.leases, claimed.next_ready_at) == ((), at(10))
    assert keys_of(await claim(lanes, BOB, seconds=10)) == {A}


async def test_a_rest_is_not_cut_short_by_a_fraction_of_a_millisecond(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    await settle(lanes, release(lease.grip, rest=10.0009))
    assert (await claim(lanes, BOB, seconds=10.0002)).leases == ()
    assert keys_of(await claim(lanes, BOB, seconds=10.001)) == {A}


async def test_the_next_moment_is_that_of_the_lane_that_is_ready_first(lanes: Lanes) -> None:
    await lanes.submit([job(A), job(B)], at(0))
    for lease, rest in zip((await claim(lanes)).leases, (20, 10), strict=True):
        await settle(lanes, release(lease.grip, rest=rest))
    assert (await claim(lanes, seconds=2)).next_ready_at == at(10)


async def test_work_submitted_while_its_lane_rests_waits_for_the_rest(lanes: Lanes, jobs: JobRecords) -> None:
    lease = await hold(lanes, job())
    rest = release(lease.grip, rest=60, reason=Reason.RETRY_AFTER)
    await settle(lanes, done(lease.grip, lease.items[0]), rest)
    eager = job()
    await lanes.submit([eager], at(2))
    assert (await claim(lanes, seconds=59)).leases == ()
    why = await jobs.why_waiting(eager.id, at(3))
    assert why is not None
    assert (why.reason, why.until) == ("retry_after", at(60))
    assert jobs_of(await lease_one(lanes, seconds=60)) == [eager.id]


async def test_a_rest_is_never_made_shorter_by_a_retry_that_is_due_sooner(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    await settle(lanes, retry(lease.grip, lease.items[0], 5), release(lease.grip, rest=60))
    claimed = await claim(lanes, seconds=10)
    assert (claimed.leases, claimed.next_ready_at) == ((), at(60))


async def test_a_lane_rests_until_the_later_of_its_rest_and_its_delayed_work(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    await settle(lanes, retry(lease.grip, lease.items[0], 90), release(lease.grip, rest=60))
    claimed = await claim(lanes, seconds=61)
    assert (claimed.leases, claimed.next_ready_at) == ((), at(90))


# Dead workers


async def test_the_lanes_of_a_dead_worker_rest_and_then_go_to_others(lanes: Lanes) -> None:
    asked = job()
    lease = await hold(lanes, asked, worker=ANN)
    assert await lanes.forsake([ANN], at(0), at(5) - at(0)) == 1
    claimed = await claim(lanes, BOB, seconds=4)
    assert (claimed.leases, claimed.next_ready_at) == ((), at(5))
    again = await lease_one(lanes, BOB, seconds=5)
    assert jobs_of(again) == [asked.id]
    assert await settle(lanes, done(lease.grip, lease.items[0]), seconds=6) == frozenset()


async def test_the_lanes_of_the_living_are_not_touched(lanes: Lanes) -> None:
    await hold(lanes, job(A), worker=ANN)
    held = await hold(lanes, job(B), worker=BOB)
    assert await lanes.forsake([ANN], at(0), at(5) - at(0)) == 1
    assert await lanes.forsake([], at(0), at(5) - at(0)) == 0
    assert await lanes.renew([held.grip], at(LEASE_SECONDS)) == frozenset()


async def test_work_submitted_after_its_worker_died_waits_for_the_rest_too(lanes: Lanes) -> None:
    await hold(lanes, job(), worker=ANN)
    await lanes.forsake([ANN], at(0), at(5) - at(0))
    await lanes.submit([job()], at(1))
    assert (await claim(lanes, BOB, seconds=4)).leases == ()
    assert len((await lease_one(lanes, BOB, seconds=5)).items) == 2


# Answers that were lost


def knowing_of(*grips: Grip, gap: float = 0) -> Holding:
    """What a worker says that may not have heard the answer to its last claim."""
    return Holding(frozenset(grips), at(gap) - at(0))


async def test_a_claim_gives_back_what_its_worker_never_heard_of(lanes: Lanes) -> None:
    known = await hold(lanes, job(A))
    unheard = await hold(lanes, job(B))
    assert (await claim(lanes, seconds=1)).leases == (), "whoever does not say what it holds keeps all of it"
    (lease,) = (await claim(lanes, seconds=1, holding=knowing_of(known.grip))).leases
    assert (lease.grip.lane, lease.grip.fence > unheard.grip.fence) == (B, True)
    assert [item.deaths for item in lease.items] == [0], "nobody died"
    assert await lanes.renew([known.grip, lease.grip], at(2 * LEASE_SECONDS)) == frozenset()


async def test_what_a_worker_never_heard_of_goes_to_others_after_its_rest(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    await settle(lanes, release(lease.grip, gap=at(7) - at(0)))
    await lease_one(lanes, seconds=1)
    claimed = await claim(lanes, seconds=2, holding=knowing_of(gap=5))
    assert (claimed.leases, claimed.next_ready_at) == ((), at(9))
    assert keys_of(await claim(lanes, BOB, seconds=9)) == {A}


async def test_a_lane_that_was_held_before_is_not_known_under_its_new_fence(lanes: Lanes) -> None:
    before = await hold(lanes, job())
    await settle(lanes, release(before.grip))
    await lease_one(lanes, seconds=1)
    again = await claim(lanes, seconds=2, holding=knowing_of(before.grip))
    assert keys_of(again) == {A}


async def test_who_says_what_it_holds_leaves_the_lanes_of_others_alone(lanes: Lanes) -> None:
    await hold(lanes, job(A), worker=ANN)
    others = await hold(lanes, job(B), worker=BOB)
    assert keys_of(await claim(lanes, ANN, seconds=1, holding=knowing_of())) == {A}
    assert await lanes.renew([others.grip], at(2 * LEASE_SECONDS)) == frozenset()


# Cancelling


async def test_a_waiting_job_can_be_cancelled(lanes: Lanes, jobs: JobRecords) -> None:
    stays, goes = job(), job()
    await lanes.submit([stays, goes], at(0))
    assert await lanes.cancel([goes.id], at(1)) == {goes.id}
    found = await jobs.job(goes.id, at(1))
    assert found is not None
    assert (found.state, found.finished_at) == (JobState.CANCELLED, at(1))
    assert jobs_of(await lease_one(lanes, seconds=2)) == [stays.id]


async def test_a_lane_is_empty_once_its_last_job_was_cancelled(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    await lanes.submit([asked], at(0))
    await lanes.cancel([asked.id], at(1))
    claimed = await claim(lanes, seconds=2)
    assert (claimed.leases, claimed.next_ready_at, await jobs.depth()) == ((), None, 0)


async def test_what_became_of_a_job_that_was_cancelled_in_hand_is_dropped(lanes: Lanes, jobs: JobRecords) -> None:
    asked, other, news = job(), job(), job(B)
    lease = await hold(lanes, asked, other)
    assert await lanes.cancel([asked.id], at(1)) == {asked.id}
    told = [done(lease.grip, lease.items[0], None, news), done(lease.grip, lease.items[1])]
    assert await settle(lanes, *told, release(lease.grip)) == {other.id}
    found = await jobs.job(asked.id, at(3))
    assert found is not None
    assert (found.state, found.result) == (JobState.CANCELLED, None)
    assert await jobs.job(news.id, at(3)) is None


async def test_a_job_that_has_ended_or_never_was_cannot_be_cancelled(lanes: Lanes, jobs: JobRecords) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    await settle(lanes, done(lease.grip, lease.items[0]))
    assert await lanes.cancel([asked.id, JobId("job_nobody")], at(2)) == frozenset()
    found = await jobs.job(asked.id, at(3))
    assert found is not None
    assert found.state is JobState.COMPLETED


async def test_of_two_who_cancel_a_job_one_ends_it(backend: Backend, neighbour: Backend) -> None:
    asked = job()
    await backend.lanes.submit([asked], at(0))
    both = await asyncio.gather(*(side.lanes.cancel([asked.id], at(1)) for side in (backend, neighbour)))
    assert sorted(both, key=len) == [frozenset(), {asked.id}]


async def test_a_lane_does_not_wake_for_a_delayed_job_that_was_cancelled(lanes: Lanes) -> None:
    soon, later = job(not_before=at(10)), job(not_before=at(50))
    await lanes.submit([soon, later], at(0))
    await lanes.cancel([soon.id], at(1))
    assert (await claim(lanes, seconds=20)).next_ready_at == at(50)


# Nothing is forgotten


@pytest.mark.parametrize("seed", range(5))
async def test_work_submitted_at_the_moment_its_lane_is_given_back_is_not_forgotten(
    seed: int, backend: Backend, neighbour: Backend
) -> None:
    chance, sides = random.Random(seed), (backend, neighbour)
    await backend.lanes.submit([job()], at(0))
    for seconds in range(1, 31):
        lease = await lease_one(chance.choice(sides).lanes, seconds=seconds)
        late = [job() for _ in range(chance.randint(1, 3))]
        steps = [chance.choice(sides).lanes.submit([each], at(seconds)) for each in late]
        told = [done(lease.grip, item) for item in lease.items]
        steps.append(settle(chance.choice(sides).lanes, *told, release(lease.grip), seconds=seconds))
        chance.shuffle(steps)
        await asyncio.gather(*steps)
        again = await lease_one(chance.choice(sides).lanes, seconds=seconds)
        assert set(jobs_of(again)) == {each.id for each in late}
        await settle(backend.lanes, release(again.grip), seconds=seconds)


async def test_two_processes_on_one_store_settle_every_job_once(backend: Backend, neighbour: Backend) -> None:
    asked = [job(lane) for lane in (A, B) for _ in range(40)]
    written: list[JobId] = []

    async def work(side: Backend) -> None:
        while await side.jobs.depth():
            for lease in (await claim(side.lanes, most=1, items=3)).leases:
                told = [done(lease.grip, item) for item in lease.items]
                written.extend(await settle(side.lanes, *told, release(lease.grip)))

    await backend.lanes.submit(asked, at(0))
    async with asyncio.TaskGroup() as group:
        for side in (backend, neighbour, backend, neighbour):
            group.create_task(work(side))
    assert sorted(written) == [each.id for each in asked]
