"""The promise of `ports.accounts.Allowances` as to credits, and that of `Lanes.submit` to accept what they pay for."""

import asyncio
from collections.abc import Sequence

import pytest
from making import (
    ACCOUNT,
    OTHER,
    A,
    B,
    at,
    claim,
    done,
    ended,
    fill,
    finished,
    hold,
    hosts,
    job,
    open_batch,
    release,
    retry,
    settle,
)
from openers import Backend

from emissary.model.accounts import Allowance, Balance
from emissary.model.batches import BatchState
from emissary.model.errors import InsufficientCredits
from emissary.model.jobs import JobState, NewJob

pytestmark = pytest.mark.anyio


async def submit(backend: Backend, jobs: Sequence[NewJob]) -> int:
    return len(await backend.lanes.submit(jobs, at(0)))


async def missing(backend: Backend, jobs: Sequence[NewJob]) -> int:
    """How many credits are missing for these jobs; 0 if they were accepted."""
    try:
        await submit(backend, jobs)
    except InsufficientCredits as error:
        return error.needed - error.available
    return 0


async def test_an_account_has_as_many_credits_as_it_likes_until_it_is_given_some(
    backend: Backend, neighbour: Backend
) -> None:
    assert await backend.allowances.balance_of(ACCOUNT) is None
    await backend.allowances.set_credits(ACCOUNT, 5)
    assert await neighbour.allowances.balance_of(ACCOUNT) == Balance(5, 0)
    await neighbour.allowances.add_credits(ACCOUNT, 7)
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(12, 0)
    assert await backend.allowances.balance_of(OTHER) is None
    await backend.allowances.set_credits(ACCOUNT, None)
    assert await neighbour.allowances.balance_of(ACCOUNT) is None
    await backend.allowances.add_credits(ACCOUNT, 3)
    assert await neighbour.allowances.balance_of(ACCOUNT) == Balance(3, 0)


async def test_credits_and_other_limits_do_not_touch_each_other(backend: Backend) -> None:
    await backend.allowances.set_credits(ACCOUNT, 5)
    assert await backend.allowances.allowance_of(ACCOUNT) == Allowance()
    await backend.allowances.grant(ACCOUNT, Allowance(2.0, 3, 4))
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(5, 0)
    assert await backend.allowances.allowance_of(ACCOUNT) == Allowance(2.0, 3, 4)


async def test_what_is_in_line_is_reserved_and_what_is_beyond_it_refused_whole(backend: Backend) -> None:
    await backend.allowances.set_credits(ACCOUNT, 3)
    assert await submit(backend, [job(), job()]) == 2
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(3, 2)
    beyond = [job(B), job(B), job(B)]
    assert await missing(backend, beyond) == 2
    assert await backend.jobs.job(beyond[0].id, at(1)) is None
    assert await backend.jobs.depth() == 2
    assert await submit(backend, [job(B)]) == 1
    assert await missing(backend, [job(B)]) == 1
    assert await submit(backend, [job(account=OTHER) for _ in range(9)]) == 9


async def test_what_cannot_cost_anything_is_accepted_without_credits(backend: Backend) -> None:
    await backend.allowances.set_credits(ACCOUNT, 2)
    assert await submit(backend, [job(price=0), job(price=0), job(), job()]) == 4
    assert await submit(backend, [job(price=0)]) == 1
    assert await missing(backend, [job(), job(price=0)]) == 1
    await backend.allowances.set_credits(ACCOUNT, 0)
    assert await submit(backend, [job(price=0)]) == 1


async def test_what_was_used_is_gone_and_the_rest_is_given_back(backend: Backend, neighbour: Backend) -> None:
    await backend.allowances.set_credits(ACCOUNT, 3)
    lease = await hold(backend.lanes, job(), job(), job())
    page, refusal, cancelled = lease.items
    told = (ended(lease.grip, page, JobState.COMPLETED, 1), ended(lease.grip, refusal, JobState.REFUSED))
    await settle(backend.lanes, *told)
    assert await neighbour.allowances.balance_of(ACCOUNT) == Balance(2, 1)
    await backend.lanes.cancel([cancelled.job], at(2))
    assert await neighbour.allowances.balance_of(ACCOUNT) == Balance(2, 0)
    assert await missing(neighbour, [job() for _ in range(3)]) == 1
    assert await submit(neighbour, [job() for _ in range(2)]) == 2


async def test_one_that_is_tried_again_reserves_and_pays_once(backend: Backend) -> None:
    await backend.allowances.set_credits(ACCOUNT, 1)
    lease = await hold(backend.lanes, job())
    await settle(backend.lanes, retry(lease.grip, lease.items[0], 10), release(lease.grip))
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(1, 1)
    (later,) = (await claim(backend.lanes, seconds=20)).leases
    await settle(backend.lanes, ended(later.grip, later.items[0], JobState.COMPLETED, 1), seconds=20)
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(0, 0)


async def test_the_balance_is_the_same_before_and_after_usage_is_added_up(backend: Backend) -> None:
    await backend.allowances.set_credits(ACCOUNT, 10)
    lease = await hold(backend.lanes, *(job() for _ in range(4)))
    for item in lease.items[:3]:
        await settle(backend.lanes, ended(lease.grip, item, JobState.COMPLETED, 1))
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(7, 1)
    assert await backend.usage.fold(most=2) == 2
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(7, 1)
    assert await backend.usage.fold(most=2) == 1
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(7, 1)


async def test_what_was_used_before_credits_were_set_does_not_count(backend: Backend) -> None:
    lease = await hold(backend.lanes, *(job() for _ in range(3)))
    await settle(backend.lanes, *(ended(lease.grip, item, JobState.COMPLETED, 1) for item in lease.items[:2]))
    await backend.allowances.set_credits(ACCOUNT, 5)
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(5, 1)
    await backend.usage.fold(most=10)
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(5, 1)
    await settle(backend.lanes, ended(lease.grip, lease.items[2], JobState.COMPLETED, 1))
    await backend.usage.fold(most=10)
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(4, 0)


async def test_a_cancelled_batch_gives_back_what_it_had_reserved(backend: Backend) -> None:
    await backend.allowances.set_credits(ACCOUNT, 5)
    batch, _ = await fill(backend.batches, backend.lanes, hosts(5))
    assert await missing(backend, [job()]) == 1
    await backend.batches.mark(batch, BatchState.CANCELLED, at(1))
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(5, 0)


async def test_what_follows_from_an_accepted_job_is_not_refused_and_may_overdraw(backend: Backend) -> None:
    await backend.allowances.set_credits(ACCOUNT, 1)
    lease = await hold(backend.lanes, job())
    await settle(backend.lanes, done(lease.grip, lease.items[0], None, job(B), job(B)), release(lease.grip))
    balance = await backend.allowances.balance_of(ACCOUNT)
    assert balance is not None
    assert (balance, balance.available) == (Balance(1, 2), 0)
    assert await missing(backend, [job(A)]) == 1


async def test_no_more_is_accepted_than_there_is_however_many_submit(backend: Backend, neighbour: Backend) -> None:
    await backend.allowances.set_credits(ACCOUNT, 25)
    batches = [await open_batch(backend.batches) for _ in range(20)]
    where = hosts(100)  # each has lanes of its own: nothing but the credits lets one wait for another
    answers = await asyncio.gather(
        *(
            missing(side, [job(where.pop(), batch=batch) for _ in range(5)])
            for side, batch in zip([backend, neighbour] * 10, batches, strict=True)
        )
    )
    assert answers.count(0) == 5
    assert await backend.allowances.balance_of(ACCOUNT) == Balance(25, 25)


async def test_credits_are_exact_while_some_submit_others_settle_and_a_third_adds_up(
    backend: Backend, neighbour: Backend
) -> None:
    await backend.allowances.set_credits(ACCOUNT, 40)
    where = iter(hosts(400))

    async def submit_often(side: Backend) -> int:
        accepted = 0
        for _ in range(20):
            jobs = [job(next(where)) for _ in range(2)]
            accepted += 0 if await missing(side, jobs) else 2
        return accepted

    async def settle_often(side: Backend) -> int:
        used = 0
        for _ in range(30):
            leases = (await claim(side.lanes, most=2)).leases
            told = [ended(lease.grip, item, JobState.COMPLETED, 1) for lease in leases for item in lease.items]
            used += len(await settle(side.lanes, *told, *(release(lease.grip) for lease in leases)))
            await side.usage.fold(most=3)
        return used

    first, second, used, used_too = await asyncio.gather(
        submit_often(backend), submit_often(neighbour), settle_often(backend), settle_often(neighbour)
    )
    assert first + second == 40, "each credit was reserved once, whatever was used meanwhile"
    while leases := (await claim(backend.lanes, most=100)).leases:
        await settle(backend.lanes, *finished(leases))
    balance = await backend.allowances.balance_of(ACCOUNT)
    assert balance == Balance(40 - used - used_too, 0)
