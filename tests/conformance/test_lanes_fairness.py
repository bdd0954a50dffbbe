"""The promise of `ports.lanes.Lanes`: flows of work share the turns, and further items come only within the window."""

from collections import Counter

import pytest
from making import (
    ACCOUNT,
    OTHER,
    THIRD,
    A,
    B,
    C,
    at,
    claim,
    fill,
    finished,
    hosts,
    job,
    jobs_of,
    keys_of,
    lease_one,
    open_batch,
    release,
    settle,
    take,
    work_off,
)
from openers import Backend

from emissary.model.accounts import Allowance
from emissary.model.fairness import ONE, WINDOW, rank_of, tag_of, window_from
from emissary.model.ids import BatchId
from emissary.model.jobs import Priority
from emissary.model.lanes import Item
from emissary.ports.lanes import Lanes

pytestmark = pytest.mark.anyio

_PER_WINDOW = WINDOW // ONE


def share_out(items: list[Item], turns: int) -> Counter[str]:
    """How many of the first turns each account got."""
    return Counter(item.account for item in items[:turns])


# Shares


async def test_of_three_equal_flows_each_gets_every_third_turn(backend: Backend) -> None:
    for account in (ACCOUNT, OTHER, THIRD):
        await fill(backend.batches, backend.lanes, hosts(5) * 12, account)
    handed_out = await work_off(backend.lanes)
    assert len(handed_out) == 180
    for turns in range(3, 181):
        shares = share_out(handed_out, turns)
        assert max(shares.values()) - min(shares.values()) <= 2, f"after {turns} turns: {shares}"


async def test_with_many_lanes_at_once_shares_differ_by_no_more_than_the_window_lets_them(backend: Backend) -> None:
    for account in (ACCOUNT, OTHER, THIRD):
        await fill(backend.batches, backend.lanes, hosts(20) * 30, account)
    handed_out = await work_off(backend.lanes, most=4, items=10)
    assert len(handed_out) == 1_800
    for turns in range(30, 1_801, 30):
        shares = share_out(handed_out, turns)
        assert max(shares[name] for name in (ACCOUNT, OTHER, THIRD)) <= turns / 3 + _PER_WINDOW + 40


async def test_a_weight_of_three_gets_three_turns_for_one(backend: Backend) -> None:
    await backend.allowances.grant(OTHER, Allowance(3))
    for account in (ACCOUNT, OTHER):
        await fill(backend.batches, backend.lanes, hosts(4) * 25, account)
    handed_out = await work_off(backend.lanes, 100)
    for turns in (20, 40, 60, 80, 100):
        assert abs(share_out(handed_out, turns)[OTHER] - turns * 3 / 4) <= 2


async def test_a_flow_that_was_idle_has_saved_up_nothing(backend: Backend) -> None:
    await fill(backend.batches, backend.lanes, hosts(4) * 50, ACCOUNT)
    await work_off(backend.lanes, 100)
    await fill(backend.batches, backend.lanes, hosts(4) * 20, OTHER)
    shares = share_out(await work_off(backend.lanes, 40), 40)
    assert abs(shares[OTHER] - 20) <= 2


async def turns_until_done(lanes: Lanes, batch: BatchId, size: int) -> int:
    """How many items are handed out, ten to a lane, until all of the batch's are."""
    left, turns = size, 0
    while left:
        handed_out = await work_off(lanes, 1, most=10, items=10)
        turns += len(handed_out)
        left -= sum(item.batch == batch for item in handed_out)
    return turns


async def test_a_small_batch_among_many_has_every_second_turn(backend: Backend) -> None:
    hundred = hosts(100)
    await fill(backend.batches, backend.lanes, hundred * 1_000, ACCOUNT)
    small, _ = await fill(backend.batches, backend.lanes, hundred * 10, OTHER)
    assert await turns_until_done(backend.lanes, small, 1_000) == pytest.approx(2_000, rel=0.05)


async def test_a_batch_that_comes_late_does_not_wait_for_what_was_passed_over_before(backend: Backend) -> None:
    hundred = hosts(100)
    await fill(backend.batches, backend.lanes, hundred * 100, ACCOUNT)
    before = await work_off(backend.lanes, 500, most=10, items=10)
    assert max(tag_of(item.rank) for item in before) // ONE > 900, "lanes bring along what stands far behind"
    small, _ = await fill(backend.batches, backend.lanes, hundred * 10, OTHER)
    assert await turns_until_done(backend.lanes, small, 1_000) == pytest.approx(2_000, rel=0.05)


async def test_an_account_does_not_get_more_turns_by_splitting_its_work(backend: Backend) -> None:
    await fill(backend.batches, backend.lanes, hosts(4) * 30, OTHER)
    for batch in [await open_batch(backend.batches, ACCOUNT) for _ in range(3)]:
        await backend.lanes.submit([job(lane, batch=batch) for lane in hosts(4) * 10], at(0))
    shares = share_out(await work_off(backend.lanes, 60), 60)
    assert abs(shares[OTHER] - 30) <= 4


async def test_where_an_account_is_alone_its_batches_share_alike(backend: Backend) -> None:
    first, _ = await fill(backend.batches, backend.lanes, hosts(4) * 10)
    second, _ = await fill(backend.batches, backend.lanes, hosts(4) * 10)
    shares = Counter(item.batch for item in await work_off(backend.lanes, 40))
    assert abs(shares[first] - shares[second]) <= 2


# Urgency


async def test_urgent_work_goes_before_all_that_stands_in_line(backend: Backend) -> None:
    await fill(backend.batches, backend.lanes, hosts(4) * 25, OTHER)
    await work_off(backend.lanes, 10)
    low, normal, answer, high = (
        job(lane, priority)
        for lane, priority in zip(
            (A, A, B, C), (Priority.LOW, Priority.NORMAL, Priority.INTERACTIVE, Priority.HIGH), strict=True
        )
    )
    await backend.lanes.submit([low, normal, answer, high], at(1))
    first, second, *others = await work_off(backend.lanes)
    assert [first.job, second.job] == [high.id, answer.id]
    assert [item.job for item in others][-1] == low.id
    assert normal.id in [item.job for item in others[:3]]


async def test_urgent_work_makes_up_for_nothing_and_pays_for_itself_only(backend: Backend) -> None:
    await backend.lanes.submit([job(A, Priority.INTERACTIVE) for _ in range(30)], at(0))
    for account in (ACCOUNT, OTHER):
        await fill(backend.batches, backend.lanes, hosts(4) * 10, account)
    handed_out = await work_off(backend.lanes)
    assert all(item.batch is None for item in handed_out[:30])
    assert abs(share_out(handed_out[30:], 40)[OTHER] - 20) <= 2


# The window


async def test_a_lane_alone_brings_all_its_items_along(lanes: Lanes) -> None:
    await lanes.submit([job(A) for _ in range(200)], at(0))
    assert len((await lease_one(lanes, items=150)).items) == 150


async def test_of_the_flow_at_the_front_a_lane_brings_all_its_items_along(lanes: Lanes) -> None:
    await lanes.submit([job(A) for _ in range(200)] + [job(B)], at(0))
    (lease,) = (await claim(lanes, most=1, items=150)).leases
    assert (lease.grip.lane, len(lease.items)) == (A, 150)


async def test_where_another_flow_waits_further_items_come_within_the_window_only(lanes: Lanes) -> None:
    await lanes.submit([job(A) for _ in range(200)], at(0))
    await lanes.submit([job(B, account=OTHER)], at(0))
    (lease,) = (await claim(lanes, most=1, items=150)).leases
    assert lease.grip.lane == A
    front = rank_of(0, Priority.NORMAL)
    assert max(item.rank for item in lease.items) == window_from(front)
    assert len(lease.items) == _PER_WINDOW + 1
    assert await take(lanes, lease.grip, 150, seconds=1, in_hand=jobs_of(lease)) == [], (
        "the holder gives the lane back then"
    )


async def test_the_first_item_of_a_lane_comes_however_far_behind_it_is(lanes: Lanes) -> None:
    await lanes.submit([job(A) for _ in range(100)] + [job(B), job(B)], at(0))
    await lanes.submit([job(C, account=OTHER), job(C, account=OTHER)], at(0))
    claimed = await claim(lanes, most=3, items=1)
    assert keys_of(claimed) == {A, B, C}
    await settle(lanes, *(release(lease.grip) for lease in claimed.leases if lease.grip.lane in (A, B)))
    # Lane C is held: nothing but the account's own lanes is ready, so B, far behind A, brings along what it has.
    (first, second) = (await claim(lanes, seconds=1, items=5)).leases
    assert [len(first.items), len(second.items)] == [5, 2]


async def test_items_of_another_flow_are_taken_once_it_is_their_turn(lanes: Lanes) -> None:
    late = [job(A) for _ in range(100)]
    await lanes.submit(late, at(0))
    await lanes.submit([job(B, account=OTHER)], at(0))
    (lease, other) = (await claim(lanes, items=1)).leases
    assert (lease.grip.lane, other.grip.lane) == (A, B)
    # Nothing else is ready now: whoever holds A has it to himself.
    assert len(await take(lanes, lease.grip, 99, seconds=1, in_hand=jobs_of(lease))) == 99
    await settle(lanes, release(other.grip))
    assert len(await take(lanes, lease.grip, 99, seconds=1, in_hand=jobs_of(lease))) == _PER_WINDOW
    await settle(lanes, *finished([other]))


async def test_taking_goes_on_in_the_order_of_rank(lanes: Lanes) -> None:
    await lanes.submit([job(A) for _ in range(3)], at(0))
    lease = await lease_one(lanes, items=1)
    urgent = job(A, Priority.HIGH)
    await lanes.submit([urgent], at(1))
    taken = await take(lanes, lease.grip, 2, seconds=1, in_hand=jobs_of(lease))
    assert taken[0].job == urgent.id
    assert [item.rank for item in taken] == sorted(item.rank for item in taken)
