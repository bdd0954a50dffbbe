"""The promise of `ports.lanes.Lanes`: who gets which lane, with which items, and for how long."""

import asyncio
import json
from datetime import timedelta

import msgspec
import pytest
from making import (
    ANN,
    BOB,
    LEASE_SECONDS,
    OTHER,
    A,
    B,
    C,
    at,
    claim,
    done,
    hold,
    job,
    jobs_of,
    keys_of,
    lease_one,
    release,
    settle,
    take,
)
from openers import Backend

from emissary.model.ids import WorkerId
from emissary.model.jobs import Priority
from emissary.model.lanes import LaneKey, Thing, Wish, hook_lane
from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords

pytestmark = pytest.mark.anyio

# Submitting


async def test_a_submitted_job_is_claimed_as_it_was_ordered(lanes: Lanes) -> None:
    order = {"url": "https://a.example/ü?q=\"'\\", "nothing": None, "deep": [[{"n": 1.5, "zero": "\0"}]]}
    asked = msgspec.structs.replace(job(), order=json.dumps(order).encode())
    lease = await hold(lanes, asked)
    (item,) = lease.items
    assert (item.job, item.account, item.kind) == (asked.id, asked.account, asked.kind)
    assert json.loads(item.order) == order
    assert (item.failures, item.created_at, item.trail) == (0, at(0), None)


async def test_jobs_are_accepted_all_or_none(backend: Backend) -> None:
    old, new = job(A), job(B)
    await backend.lanes.submit([old], at(0))
    with pytest.raises(backend.clash):
        await backend.lanes.submit([new, old], at(0))
    assert await backend.jobs.job(new.id, at(0)) is None
    assert await backend.jobs.depth() == 1
    assert keys_of(await claim(backend.lanes)) == {A}


async def test_submitting_nothing_changes_nothing(lanes: Lanes) -> None:
    await lanes.submit([], at(0))
    assert (await claim(lanes)).leases == ()


async def test_a_job_does_not_start_before_its_time(lanes: Lanes) -> None:
    await lanes.submit([job(A, not_before=at(10))], at(0))
    claimed = await claim(lanes)
    assert (claimed.leases, claimed.next_ready_at) == ((), at(10))
    assert keys_of(await claim(lanes, seconds=10)) == {A}


# Claiming


async def test_lanes_are_claimed_first_in_rank_first(lanes: Lanes) -> None:
    await lanes.submit([job(B)], at(0))
    await lanes.submit([job(C)], at(1))
    await lanes.submit([job(A, Priority.INTERACTIVE)], at(2))
    order = [(await claim(lanes, seconds=3, most=1)).leases[0].grip.lane for _ in range(3)]
    assert order == [A, B, C]


async def test_a_lane_that_slept_has_the_rank_of_its_work_and_no_better(lanes: Lanes) -> None:
    await lanes.submit([job(B)], at(0))
    await lanes.submit([job(A, not_before=at(5))], at(1))
    assert keys_of(await claim(lanes, seconds=10, most=1)) == {B}


async def test_a_lane_moves_up_when_urgent_work_comes_into_it(lanes: Lanes) -> None:
    await lanes.submit([job(A), job(B)], at(0))
    await lanes.submit([job(B, Priority.HIGH)], at(1))
    assert keys_of(await claim(lanes, seconds=2, most=1)) == {B}


async def test_a_claim_takes_no_more_lanes_and_items_than_asked_for(lanes: Lanes) -> None:
    await lanes.submit([job(lane) for lane in (A, B, C) for _ in range(4)], at(0))
    claimed = await claim(lanes, most=2, items=3)
    assert [len(lease.items) for lease in claimed.leases] == [3, 3]


async def test_the_items_of_a_lane_come_in_the_order_of_their_rank(lanes: Lanes) -> None:
    first, second, urgent, low = job(), job(), job(priority=Priority.INTERACTIVE), job(priority=Priority.LOW)
    await lanes.submit([low], at(0))
    await lanes.submit([first], at(1))
    await lanes.submit([second], at(2))
    await lanes.submit([urgent], at(3))
    assert jobs_of(await lease_one(lanes, seconds=4)) == [urgent.id, first.id, second.id, low.id]


async def test_a_lane_is_in_one_holders_hands_at_a_time(lanes: Lanes) -> None:
    await hold(lanes, job(A), job(A))
    claimed = await claim(lanes, BOB, seconds=LEASE_SECONDS - 1)
    assert claimed.leases == ()
    assert claimed.next_ready_at == at(LEASE_SECONDS)


async def test_every_lease_grows_the_fence(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    fences = [lease.grip.fence]
    for seconds in (1, 2, 3):
        await settle(lanes, release(lease.grip), seconds=seconds)
        lease = await lease_one(lanes, seconds=seconds)
        fences.append(lease.grip.fence)
    assert fences == sorted(set(fences))


async def test_claims_at_the_same_moment_share_no_lane(backend: Backend, neighbour: Backend) -> None:
    keys = [LaneKey(f"host:{number}.example") for number in range(60)]
    await backend.lanes.submit([job(key) for key in keys], at(0))
    async with asyncio.TaskGroup() as group:
        claims = [
            group.create_task(claim(side.lanes, WorkerId(f"wrk_{number}"), most=4))
            for number in range(10)
            for side in (backend, neighbour)
        ]
    held = [lease.grip.lane for task in claims for lease in task.result().leases]
    assert sorted(held) == sorted(keys)


async def test_an_item_that_was_given_back_unsettled_is_handed_out_again(lanes: Lanes) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    await settle(lanes, release(lease.grip))
    assert jobs_of(await lease_one(lanes, BOB, seconds=1)) == [asked.id]


async def test_what_a_site_asked_for_comes_back_with_the_next_lease(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    assert lease.gap is None
    await settle(lanes, release(lease.grip, gap=timedelta(seconds=7.5)))
    lease = await lease_one(lanes, seconds=1)
    assert lease.gap == timedelta(seconds=7.5)
    await settle(lanes, release(lease.grip))
    assert (await lease_one(lanes, seconds=2)).gap == timedelta(seconds=7.5)


# Kinds of lanes

HOSTS, HOOKS = frozenset({Thing.HOST}), frozenset({Thing.HOOK})
HOOK = hook_lane("receiver.example")


async def test_whoever_serves_some_kinds_of_lanes_gets_no_others(lanes: Lanes) -> None:
    await lanes.submit([job(A), job(HOOK)], at(0))
    assert keys_of(await claim(lanes, things=HOOKS)) == {HOOK}
    assert (await claim(lanes, things=HOOKS)).leases == ()
    assert keys_of(await claim(lanes, BOB, things=HOSTS)) == {A}


async def test_whoever_says_nothing_serves_all_kinds_of_lanes(lanes: Lanes) -> None:
    await lanes.submit([job(A), job(HOOK)], at(0))
    assert keys_of(await claim(lanes)) == {A, HOOK}


async def test_lanes_of_other_kinds_are_passed_over_whatever_their_rank_and_whoever_waits_there(lanes: Lanes) -> None:
    await lanes.submit([job(lane) for lane in (A, B, C)] + [job(HOOK)], at(0))
    urgent = job(A, Priority.INTERACTIVE)
    await lanes.submit([urgent], at(0))
    assert keys_of(await claim(lanes, most=1, things=HOOKS)) == {HOOK}
    assert (await claim(lanes, BOB, urgent=True, things=HOOKS)).leases == ()
    assert keys_of(await claim(lanes, BOB, most=1, urgent=True, things=HOSTS)) == {A}


async def test_a_lane_is_of_its_kind_whoever_had_it_before(lanes: Lanes) -> None:
    lease = await hold(lanes, job(HOOK), job(HOOK))
    await settle(lanes, done(lease.grip, lease.items[0]), release(lease.grip))
    assert (await claim(lanes, seconds=2, things=HOSTS)).leases == ()
    again = await claim(lanes, seconds=2, things=HOOKS)
    assert keys_of(again) == {HOOK}


async def test_what_a_worker_does_not_serve_does_not_compete_with_what_it_does(lanes: Lanes) -> None:
    await lanes.submit([job(HOOK, account=OTHER)], at(0))
    await lanes.submit([job(A) for _ in range(200)], at(0))
    (lease,) = (await claim(lanes, items=100, things=HOSTS)).leases
    assert len(lease.items) == 100
    in_hand = frozenset(jobs_of(lease))
    assert not (await lanes.take([Wish(lease.grip, 100, in_hand)], at(1))).items, "another flow waits for this worker"
    taken = await lanes.take([Wish(lease.grip, 100, in_hand, HOSTS)], at(1))
    assert len(taken.items[A]) == 100


# Taking


async def test_what_its_holder_has_in_hand_is_not_handed_out_again(lanes: Lanes) -> None:
    asked = [job() for _ in range(5)]
    await lanes.submit(asked, at(0))
    lease = await lease_one(lanes, items=2)
    handed_out = jobs_of(lease)
    for _ in range(3):
        handed_out += [item.job for item in await take(lanes, lease.grip, 2, seconds=1, in_hand=handed_out)]
    assert handed_out == [each.id for each in asked]


async def test_work_that_came_while_the_lane_was_held_is_found_by_its_holder(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    late = job()
    await lanes.submit([late], at(1))
    assert [item.job for item in await take(lanes, lease.grip, 10, seconds=2, in_hand=jobs_of(lease))] == [late.id]


async def test_taking_tells_which_lanes_are_in_other_hands(lanes: Lanes) -> None:
    await lanes.submit([job(A), job(B)], at(0))
    old = {lease.grip.lane: lease.grip for lease in (await claim(lanes, items=0)).leases}
    assert await lanes.renew([old[B]], at(2 * LEASE_SECONDS)) == frozenset()
    assert keys_of(await claim(lanes, BOB, LEASE_SECONDS, items=0)) == {A}
    taken = await lanes.take([Wish(grip, 10) for grip in old.values()], at(LEASE_SECONDS))
    assert taken.lost == {A}
    assert set(taken.items) == {B}


# Renewing and waking


async def test_a_lease_that_ran_out_goes_to_another(lanes: Lanes) -> None:
    asked = job()
    lease = await hold(lanes, asked)
    assert await lanes.wake(at(LEASE_SECONDS - 1)) == 0
    assert await lanes.wake(at(LEASE_SECONDS)) == 1
    again = await lease_one(lanes, BOB, LEASE_SECONDS)
    assert jobs_of(again) == [asked.id]
    assert again.grip.fence > lease.grip.fence


async def test_a_renewed_lease_does_not_run_out(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    assert await lanes.renew([lease.grip], at(2 * LEASE_SECONDS)) == frozenset()
    assert await lanes.wake(at(LEASE_SECONDS + 1)) == 0
    assert (await claim(lanes, BOB, LEASE_SECONDS + 1)).leases == ()


async def test_renewing_tells_which_lanes_are_in_other_hands_and_leaves_those_alone(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    other = await lease_one(lanes, BOB, LEASE_SECONDS)
    assert await lanes.renew([lease.grip], at(9 * LEASE_SECONDS)) == {A}
    assert await lanes.wake(at(2 * LEASE_SECONDS)) == 1
    assert await lanes.renew([other.grip], at(9 * LEASE_SECONDS)) == {A}, "after waking, the lane is nobody's"


async def test_a_rested_lane_wakes(lanes: Lanes) -> None:
    lease = await hold(lanes, job())
    await settle(lanes, release(lease.grip, rest=10))
    assert await lanes.wake(at(9)) == 0
    assert await lanes.wake(at(10)) == 1
    assert await lanes.wake(at(10)) == 0


async def test_a_lane_whose_work_is_done_is_not_claimed_again(lanes: Lanes, jobs: JobRecords) -> None:
    lease = await hold(lanes, job())
    await settle(lanes, done(lease.grip, lease.items[0]), release(lease.grip, rest=2))
    claimed = await claim(lanes, ANN, seconds=100)
    assert (claimed.leases, claimed.next_ready_at) == ((), None)
    assert await jobs.depth() == 0
