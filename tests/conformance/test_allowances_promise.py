"""The promise of `ports.accounts.Allowances`, and that of `Lanes.submit` as to how much may stand in line."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest
from making import ACCOUNT, OTHER, A, B, at, claim, done, fill, hold, hosts, job, onward, open_batch, retry, settle
from openers import Backend

from emissary.model.accounts import AccountLoad, Allowance
from emissary.model.batches import BatchState
from emissary.model.errors import QueueFull
from emissary.model.ids import JobId
from emissary.model.jobs import NewJob

pytestmark = pytest.mark.anyio


async def submit(backend: Backend, jobs: Sequence[NewJob], most: int | None = None) -> int:
    """How many were accepted."""
    return len(await backend.lanes.submit(jobs, at(0), most_queued=most))


async def refused(submitted: Awaitable[frozenset[JobId] | int]) -> bool:
    try:
        await submitted
    except QueueFull:
        return True
    return False


# What was granted


async def test_an_account_to_which_nothing_was_granted_has_the_plain_allowance(backend: Backend) -> None:
    assert await backend.allowances.allowance_of(ACCOUNT) == Allowance()
    await submit(backend, [job()])
    assert await backend.allowances.allowance_of(ACCOUNT) == Allowance()


async def test_what_is_granted_replaces_what_was_granted_before(backend: Backend, neighbour: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(2.3, 5, 1_000_000))
    assert await neighbour.allowances.allowance_of(ACCOUNT) == Allowance(2.3, 5, 1_000_000)
    await neighbour.allowances.grant(ACCOUNT, Allowance(most_queued=0))
    assert await backend.allowances.allowance_of(ACCOUNT) == Allowance(1, None, 0)
    assert await backend.allowances.allowance_of(OTHER) == Allowance()


@pytest.mark.parametrize(
    "nonsense",
    [{"weight": 0}, {"weight": -1}, {"weight": 2e-310}, {"weight": 1e9}, {"most_active": -1}, {"most_queued": -1}],
)
def test_nonsense_cannot_be_granted(nonsense: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="0"):
        Allowance(**nonsense)


async def test_the_limit_for_all_holds_for_lanes_in_hand_where_an_account_has_none_of_its_own(backend: Backend) -> None:
    await backend.allowances.grant(OTHER, Allowance(most_active=3))
    await submit(backend, [job(lane) for lane in hosts(6)])
    await submit(backend, [job(lane, account=OTHER) for lane in hosts(12)[6:]])
    claimed = await claim(backend.lanes, most=20, most_of_account=2)
    assert sorted(lease.items[0].account for lease in claimed.leases) == sorted([ACCOUNT] * 2 + [OTHER] * 3)


# The load


async def test_the_load_is_what_has_not_ended_and_the_lanes_in_hand(backend: Backend) -> None:
    assert await backend.allowances.load_of(ACCOUNT) == AccountLoad(0, 0)
    batch, _ = await fill(backend.batches, backend.lanes, hosts(4))
    await submit(backend, [job(A), job(A), job(B, account=OTHER)])
    assert await backend.allowances.load_of(ACCOUNT) == AccountLoad(6, 0)
    (lease,) = (await claim(backend.lanes, most=1)).leases
    assert await backend.allowances.load_of(ACCOUNT) == AccountLoad(6, 1)
    await settle(backend.lanes, done(lease.grip, lease.items[0]))
    assert await backend.allowances.load_of(ACCOUNT) == AccountLoad(5, 1)
    await backend.batches.mark(batch, BatchState.CANCELLED, at(2))
    singles = 2 - (lease.items[0].batch is None)  # whichever came first
    assert (await backend.allowances.load_of(ACCOUNT)).queued == singles
    assert await backend.allowances.load_of(OTHER) == AccountLoad(1, 0)


# How much may stand in line


async def test_what_is_too_much_is_refused_whole_and_leaves_no_trace(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(most_queued=3))
    assert await submit(backend, [job(), job()]) == 2
    refused_jobs = [job(B), job(B)]
    with pytest.raises(QueueFull, match="3 may stand in line"):
        await submit(backend, refused_jobs)
    assert await backend.jobs.depth() == 2
    assert await backend.jobs.job(refused_jobs[0].id, at(1)) is None
    assert await submit(backend, [job(B)]) == 1


async def test_there_is_room_again_when_something_has_ended(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(most_queued=2))
    lease = await hold(backend.lanes, job(), job())
    assert await refused(submit(backend, [job()]))
    await settle(backend.lanes, done(lease.grip, lease.items[0]))
    assert await submit(backend, [job()]) == 1
    assert await refused(submit(backend, [job()]))
    await backend.lanes.cancel([lease.items[1].job], at(2))
    assert await submit(backend, [job()]) == 1


async def test_a_cancelled_batch_makes_room_at_once(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(most_queued=5))
    batch, _ = await fill(backend.batches, backend.lanes, hosts(5))
    assert await refused(submit(backend, [job()]))
    await backend.batches.mark(batch, BatchState.CANCELLED, at(1))
    assert await submit(backend, [job() for _ in range(5)]) == 5


async def test_the_limit_for_all_holds_where_an_account_has_none_of_its_own(backend: Backend) -> None:
    await backend.allowances.grant(OTHER, Allowance(most_queued=4))
    assert await refused(submit(backend, [job() for _ in range(3)], 2))
    assert await submit(backend, [job(account=OTHER) for _ in range(3)], 2) == 3
    assert await submit(backend, [job() for _ in range(3)], None) == 3


async def test_one_account_that_is_full_does_not_hold_up_another(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(most_queued=0))
    assert await refused(submit(backend, [job()]))
    assert await submit(backend, [job(account=OTHER)]) == 1


async def test_what_a_batch_has_seen_already_takes_no_room(backend: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(most_queued=2))
    batch = await open_batch(backend.batches)
    jobs = [job(batch=batch, mark=bytes([number % 2] * 16)) for number in range(6)]
    assert await submit(backend, jobs) == 2
    assert await submit(backend, [job(batch=batch, mark=bytes(16))]) == 0
    assert await refused(submit(backend, [job(batch=batch, mark=bytes([9] * 16))]))


async def test_a_page_that_was_refused_for_lack_of_room_is_not_taken_for_seen(backend: Backend) -> None:
    batch = await open_batch(backend.batches)
    page = job(batch=batch, mark=bytes(16))
    assert await refused(submit(backend, [page], 0))
    assert await submit(backend, [page], 1) == 1


async def test_what_follows_from_an_accepted_job_is_never_refused(backend: Backend) -> None:
    lease = await hold(backend.lanes, job(), job(), job())
    await backend.allowances.grant(ACCOUNT, Allowance(most_queued=0))
    ends, fails, moves = lease.items
    follow_up = job(B)
    told = (done(lease.grip, ends, None, follow_up), retry(lease.grip, fails, 30), onward(lease.grip, moves, B))
    assert await settle(backend.lanes, *told) == {ends.job, fails.job, moves.job}
    assert await backend.jobs.job(follow_up.id, at(2)) is not None
    assert (await backend.allowances.load_of(ACCOUNT)).queued == 3


async def test_the_limit_holds_however_many_submit_at_the_same_time(backend: Backend, neighbour: Backend) -> None:
    await backend.allowances.grant(ACCOUNT, Allowance(most_queued=25))
    batches = [await open_batch(backend.batches) for _ in range(20)]
    where = hosts(100)  # each has lanes of its own: nothing but the limit lets one wait for another
    answers = await asyncio.gather(
        *(
            refused(submit(side, [job(where.pop(), batch=batch) for _ in range(5)]))
            for side, batch in zip([backend, neighbour] * 10, batches, strict=True)
        )
    )
    assert answers.count(False) == 5
    assert await backend.jobs.depth() == 25


def test_the_wait_is_told_from_what_must_end_before_and_from_what_is_in_hand() -> None:
    second = at(1) - at(0)
    assert QueueFull(most=10, queued=10, more=6, active=2).wait(second) == 3
    assert QueueFull(most=10, queued=10, more=1, active=50).wait(second) == 1
    assert QueueFull(most=10, queued=10, more=1_000_000, active=0).wait(second) == 3600
