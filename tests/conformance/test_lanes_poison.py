"""The promise of `ports.lanes.Lanes.forsake`: what kills its workers is found out, and nothing else is blamed."""

import json

import pytest
from making import (
    ANN,
    BOB,
    LEASE_SECONDS,
    A,
    B,
    at,
    claim,
    fill,
    hold,
    job,
    jobs_of,
    lease_one,
    onward,
    release,
    retry,
    settle,
    show,
    take,
)
from openers import Backend

from emissary.model.ids import WorkerId
from emissary.model.jobs import JobState
from emissary.model.lanes import Lease, Trial
from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords

pytestmark = pytest.mark.anyio


async def die(lanes: Lanes, worker: WorkerId = ANN, seconds: float = 0) -> None:
    """The worker dies with all that it has in hand; its lanes rest for no time at all."""
    await lanes.forsake([worker], at(seconds), at(0) - at(0))


def deaths(lease: Lease) -> list[int]:
    return [item.deaths for item in lease.items]


async def test_the_first_item_in_hand_may_have_killed_its_worker(lanes: Lanes) -> None:
    assert deaths(await hold(lanes, job(), job(), job())) == [0, 0, 0]
    await die(lanes)
    assert deaths(await lease_one(lanes, BOB)) == [1, 0, 0]


async def test_in_each_lane_that_the_dead_held_one_is_blamed(lanes: Lanes) -> None:
    await lanes.submit([job(lane) for lane in (A, B) for _ in range(2)], at(0))
    await claim(lanes)
    await die(lanes)
    leases = (await claim(lanes, BOB)).leases
    assert sorted(deaths(lease) for lease in leases) == [[1, 0], [1, 0]]


async def test_what_was_not_in_hand_is_not_blamed(lanes: Lanes) -> None:
    await lanes.submit([job()], at(0))
    await lease_one(lanes, items=0)
    await die(lanes)
    assert deaths(await lease_one(lanes, BOB)) == [0]


async def test_what_was_put_off_is_not_blamed(lanes: Lanes) -> None:
    later, now = job(), job()
    lease = await hold(lanes, later, now)
    await settle(lanes, retry(lease.grip, lease.items[0], 10))
    await die(lanes, seconds=1)
    lease = await lease_one(lanes, BOB, 10)
    assert (jobs_of(lease), deaths(lease)) == ([later.id, now.id], [0, 1])


async def test_a_lease_that_runs_out_blames_nobody(lanes: Lanes) -> None:
    await hold(lanes, job())
    assert deaths(await lease_one(lanes, BOB, LEASE_SECONDS)) == [0]


async def test_a_job_is_not_blamed_a_second_time_unless_it_is_on_trial(lanes: Lanes) -> None:
    await hold(lanes, job(), job())
    for _ in range(5):
        await die(lanes)
        assert deaths(await lease_one(lanes)) == [1, 0]


async def test_whoever_dies_while_a_job_is_on_trial_was_killed_by_it(lanes: Lanes) -> None:
    lease = await hold(lanes, job(), job())
    await die(lanes)
    lease = await lease_one(lanes)
    await settle(lanes, Trial(lease.grip, lease.items[0].job))
    await die(lanes, seconds=1)
    assert deaths(await lease_one(lanes, seconds=1))[0] == 2


async def test_a_job_that_has_killed_three_ends_as_poison(lanes: Lanes, jobs: JobRecords) -> None:
    poison, innocent = job(), job()
    await lanes.submit([poison, innocent], at(0))
    for seconds in range(3):
        lease = await lease_one(lanes, seconds=seconds)
        await settle(lanes, Trial(lease.grip, poison.id), seconds=seconds)
        await die(lanes, seconds=seconds)
    found = await jobs.job(poison.id, at(3))
    assert found is not None
    assert (found.state, found.finished_at) == (JobState.FAILED, at(2))
    assert found.result is not None
    outcome = json.loads(found.result.outcome)
    assert (outcome["kind"], outcome["code"]) == ("invalid", "poison")
    assert outcome["detail"]
    assert await jobs.depth() == 1
    assert jobs_of(await lease_one(lanes, seconds=3)) == [innocent.id]


async def test_a_trial_that_ended_well_is_over(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    await die(lanes)
    for seconds in (1, 2, 3):
        lease = await lease_one(lanes, seconds=seconds)
        await settle(lanes, Trial(lease.grip, lease.items[0].job), seconds=seconds)
        await settle(lanes, retry(lease.grip, lease.items[0], seconds), seconds=seconds)
        await die(lanes, seconds=seconds)
    assert deaths(await lease_one(lanes, seconds=4)) == [1]


async def test_a_trial_is_over_with_its_lease(lanes: Lanes) -> None:
    await hold(lanes, job())
    await die(lanes)
    lease = await lease_one(lanes)
    await settle(lanes, Trial(lease.grip, lease.items[0].job), release(lease.grip))
    await lease_one(lanes, seconds=1)
    await die(lanes, seconds=1)
    assert deaths(await lease_one(lanes, seconds=1)) == [1]


async def test_a_zombie_puts_nothing_on_trial(lanes: Lanes) -> None:
    old = await hold(lanes, job())
    await die(lanes)
    await lease_one(lanes, BOB)
    await settle(lanes, Trial(old.grip, old.items[0].job))
    await die(lanes, BOB)
    assert deaths(await lease_one(lanes)) == [1]


async def test_a_job_that_goes_on_elsewhere_takes_its_deaths_along(lanes: Lanes) -> None:
    await hold(lanes, job(A))
    await die(lanes)
    lease = await lease_one(lanes)
    await settle(lanes, onward(lease.grip, lease.items[0], B), release(lease.grip))
    lease = await lease_one(lanes, seconds=1)
    assert (lease.grip.lane, deaths(lease)) == (B, [1])


async def test_a_trial_does_not_go_along_to_another_lane(lanes: Lanes) -> None:
    suspect = job(A)
    await hold(lanes, suspect)
    await die(lanes)
    lease = await lease_one(lanes)
    assert lease.grip.fence == 2
    told = [Trial(lease.grip, suspect.id), onward(lease.grip, lease.items[0], B), release(lease.grip)]
    await settle(lanes, *told[:1])
    await settle(lanes, *told[1:])
    elsewhere = await lease_one(lanes, seconds=1)
    await settle(lanes, release(elsewhere.grip))
    assert (await lease_one(lanes, seconds=1)).grip.fence == 2, "the same as that of the trial"
    await die(lanes, seconds=1)
    assert deaths(await lease_one(lanes, seconds=1)) == [1]


async def test_further_items_say_how_often_they_killed(lanes: Lanes) -> None:
    suspect, other = job(), job()
    await hold(lanes, suspect, other)
    await die(lanes)
    lease = await lease_one(lanes, items=0)
    assert [item.deaths for item in await take(lanes, lease.grip, 2, seconds=0)] == [1, 0]


async def test_poison_counts_as_a_failure_of_its_batch(backend: Backend) -> None:
    batch, (poison,) = await fill(backend.batches, backend.lanes, [A])
    for seconds in range(3):
        lease = await lease_one(backend.lanes, seconds=seconds)
        await settle(backend.lanes, Trial(lease.grip, poison.id), seconds=seconds)
        await die(backend.lanes, seconds=seconds)
    found = await show(backend.batches, batch)
    assert (found.counts.failed, found.counts.ended, found.total) == (1, 1, 1)
    (line,) = await backend.ledger.finished(batch, after="", most=10)
    assert (line.line.job, line.line.state) == (poison.id, JobState.FAILED)
