"""The promise of `ports.lanes.Lanes`: how much may be in hand, of one account and of all, and what is kept free."""

from collections.abc import Sequence

import pytest
from making import (
    ACCOUNT,
    ANN,
    BOB,
    LEASE_SECONDS,
    OTHER,
    A,
    B,
    C,
    at,
    claim,
    fill,
    finished,
    hosts,
    job,
    keys_of,
    lease_one,
    open_batch,
    release,
    settle,
)
from openers import Backend

from emissary.model.accounts import Allowance
from emissary.model.ids import AccountId, WorkerId
from emissary.model.jobs import Priority
from emissary.model.lanes import Claim
from emissary.ports.lanes import Lanes

pytestmark = pytest.mark.anyio


# Of one account


async def test_an_account_has_no_more_lanes_in_hand_than_its_limit(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(1, 2))
    await fill(backend.batches, backend.lanes, hosts(6))
    first = await claim(backend.lanes, ANN)
    assert len(first.leases) == 2
    assert (await claim(backend.lanes, BOB)).leases == ()
    await settle(backend.lanes, release(first.leases[0].grip))
    assert len((await claim(backend.lanes, BOB, 1)).leases) == 1


async def test_the_limit_of_one_account_does_not_hold_up_another(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(1, 2))
    await fill(backend.batches, backend.lanes, hosts(30), ACCOUNT)
    await fill(backend.batches, backend.lanes, hosts(40)[30:], ACCOUNT)
    await backend.lanes.submit([job(lane, Priority.LOW, account=OTHER) for lane in (A, B, C)], at(0))
    claimed = await claim(backend.lanes, most=5)
    assert keys_of(claimed) >= {A, B, C}
    assert len(claimed.leases) == 5


async def test_the_limit_counts_all_that_an_account_does(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(1, 3))
    await fill(backend.batches, backend.lanes, hosts(4))
    await backend.lanes.submit([job(A, Priority.INTERACTIVE), job(B), job(C, Priority.LOW)], at(0))
    claimed = await claim(backend.lanes, most=10)
    assert len(claimed.leases) == 3
    assert A in keys_of(claimed), "the most urgent goes first"
    assert C not in keys_of(claimed)


async def test_a_lane_counts_for_the_account_whose_turn_it_was(backend: Backend) -> None:
    await backend.allowances.grant(OTHER, Allowance(1, 1))
    await backend.lanes.submit([job(A)], at(0))
    lease = await lease_one(backend.lanes)
    await backend.lanes.submit([job(A, account=OTHER), job(B, account=OTHER)], at(1))
    assert keys_of(await claim(backend.lanes, seconds=1)) == {B}
    await settle(backend.lanes, *finished([lease]))
    assert (await claim(backend.lanes, seconds=1)).leases == ()


async def test_the_lanes_of_a_dead_worker_count_no_more(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(1, 1))
    await fill(backend.batches, backend.lanes, hosts(3))
    await claim(backend.lanes, ANN)
    await backend.lanes.forsake([ANN], at(1), at(1) - at(0))
    assert len((await claim(backend.lanes, BOB, 1)).leases) == 1
    assert len((await claim(backend.lanes, ANN, LEASE_SECONDS + 1)).leases) == 1, "the lease has run out"


async def test_an_account_without_a_limit_has_none(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(1, 1))
    await backend.allowances.grant(ACCOUNT, Allowance(1))
    await fill(backend.batches, backend.lanes, hosts(8))
    assert len((await claim(backend.lanes)).leases) == 8


# Of all


async def test_all_workers_together_hold_no_more_than_that(lanes: Lanes) -> None:
    await lanes.submit([job(lane) for lane in hosts(10)], at(0))
    first = await claim(lanes, ANN, most=3, most_held=5)
    assert len(first.leases) == 3
    assert len((await claim(lanes, BOB, most_held=5)).leases) == 2
    assert (await claim(lanes, BOB, most_held=5)).leases == ()
    assert (await claim(lanes, BOB, most_held=4)).leases == ()
    await settle(lanes, release(first.leases[0].grip))
    assert len((await claim(lanes, BOB, 1, most_held=5)).leases) == 1


# Urgent claims


async def _busy_batch(backend: Backend, lanes: Sequence[str], account: AccountId = ACCOUNT) -> None:
    """A batch with these lanes, and one more that is in hand."""
    batch = await open_batch(backend.batches, account)
    held = f"host:{batch}.example"
    await backend.lanes.submit([job(held, batch=batch, account=account)], at(0))
    assert held in keys_of(await claim(backend.lanes, WorkerId("wrk_busy")))
    await backend.lanes.submit([job(lane, batch=batch, account=account) for lane in lanes], at(0))


async def test_urgent_places_are_for_lanes_in_which_somebody_waits(backend: Backend) -> None:
    await _busy_batch(backend, [*hosts(5), C])
    await backend.lanes.submit([job(A, Priority.INTERACTIVE), job(B, Priority.HIGH)], at(0))
    claimed = await claim(backend.lanes, urgent=True)
    assert [lease.grip.lane for lease in claimed.leases] == [B, A]
    assert (await claim(backend.lanes, urgent=True)).leases == ()
    assert len((await claim(backend.lanes)).leases) == 6


async def test_urgent_places_come_on_top(backend: Backend) -> None:
    await _busy_batch(backend, hosts(5))
    await backend.lanes.submit([job(lane, Priority.INTERACTIVE) for lane in (A, B, C)], at(0))
    claimed = await backend.lanes.claim(Claim(BOB, at(60), 1, 1, 1), at(0))
    assert keys_of(claimed) < {A, B, C}
    assert len(claimed.leases) == 2
    more = await backend.lanes.claim(Claim(BOB, at(60), 2, 1, 3), at(0))
    assert len(more.leases) == 2, "nobody waits any more, and what has just come is in hand already"


async def test_an_urgent_claim_brings_no_other_work_along_that_is_not_due(backend: Backend) -> None:
    await _busy_batch(backend, [])
    await _busy_batch(backend, [B, C], OTHER)
    await backend.lanes.submit([job(A, batch=None) for _ in range(100)], at(0))
    await backend.lanes.submit([job(A, Priority.INTERACTIVE)], at(0))
    (lease,) = (await claim(backend.lanes, urgent=True, items=90)).leases
    assert lease.grip.lane == A
    assert len(lease.items) <= 53, "the one that is urgent, and what is within the window of those who wait"


async def test_an_urgent_claim_keeps_to_the_limits(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(1, 1))
    await backend.lanes.submit([job(lane, Priority.HIGH) for lane in (A, B)], at(0))
    await backend.lanes.submit([job(C, Priority.HIGH, account=OTHER)], at(0))
    assert (await claim(backend.lanes, urgent=True, most_held=0)).leases == ()
    assert len((await claim(backend.lanes, urgent=True)).leases) == 2


# Strikes


async def test_how_often_nothing_was_there_comes_back_with_the_next_lease(lanes: Lanes) -> None:
    await lanes.submit([job()], at(0))
    for strikes in (0, 3, 4, 0):
        lease = await lease_one(lanes)
        await settle(lanes, release(lease.grip, strikes=strikes))
        assert (await lease_one(lanes, seconds=1)).strikes == strikes
        await lanes.wake(at(2 * LEASE_SECONDS))
