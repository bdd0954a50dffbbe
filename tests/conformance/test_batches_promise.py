"""The promise of `ports.batches.Batches`: what a batch is, what it takes in, and when it ends."""

import asyncio

import pytest
from making import (
    ACCOUNT,
    OTHER,
    RESULT,
    A,
    B,
    C,
    at,
    claim,
    done,
    ended,
    fill,
    finished,
    hold,
    hosts,
    job,
    lease_one,
    new_batch,
    open_batch,
    release,
    retry,
    settle,
    show,
    tidy_up,
    work_off,
)
from openers import Backend

from emissary.model.batches import BatchState, Counts
from emissary.model.ids import BatchId
from emissary.model.jobs import JobState, Priority

pytestmark = pytest.mark.anyio


# Opening and finding


async def test_a_batch_is_shown_as_it_was_opened(backend: Backend) -> None:
    asked = new_batch(OTHER, Priority.HIGH, "the first")
    await backend.batches.open(asked, at(5))
    found = await show(backend.batches, asked.id)
    assert (found.id, found.account, found.kind, found.name) == (asked.id, OTHER, asked.kind, "the first")
    assert (found.order, found.priority, found.created_at) == (asked.order, Priority.HIGH, at(5))
    assert (found.state, found.sealed, found.total, found.active) == (BatchState.RUNNING, False, 0, 0)
    assert (found.counts, found.finished_at) == (Counts(), None)
    assert await backend.ledger.order_of(asked.id) == asked.order


async def test_a_batch_that_nobody_opened_is_not_known(backend: Backend) -> None:
    nobody = BatchId("bat_nobody")
    assert await backend.batches.find(nobody) is None
    assert await backend.ledger.order_of(nobody) is None
    assert not await backend.batches.mark(nobody, BatchState.CANCELLED, at(0))
    assert await backend.batches.again(nobody, {JobState.FAILED}, at(0), most=10) == 0
    assert await backend.lanes.submit([job(batch=nobody)], at(0)) == frozenset()
    assert await backend.jobs.depth() == 0


async def test_a_name_is_given_to_one_batch(backend: Backend) -> None:
    asked = new_batch()
    await backend.batches.open(asked, at(0))
    with pytest.raises(backend.clash):
        await backend.batches.open(asked, at(0))


async def test_an_account_sees_its_own_batches_the_latest_first(backend: Backend) -> None:
    own = [await open_batch(backend.batches, ACCOUNT) for _ in range(5)]
    await open_batch(backend.batches, OTHER)
    found = await backend.ledger.of_account(ACCOUNT, before=None, most=3)
    assert [each.id for each in found] == own[:1:-1]
    found = await backend.ledger.of_account(ACCOUNT, before=found[-1].id, most=3)
    assert [each.id for each in found] == [own[1], own[0]]
    assert await backend.ledger.of_account(ACCOUNT, before=own[0], most=3) == []


async def test_a_job_says_to_which_batch_it_belongs_and_where_it_stands_there(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, [A, B, A])
    await backend.lanes.submit([job(C)], at(0))
    found = [await backend.jobs.job(each.id, at(0)) for each in jobs]
    assert [(each.batch, each.position) for each in found if each] == [(batch, 0), (batch, 1), (batch, 2)]
    handed_out = {item.job: item.batch for lease in (await claim(backend.lanes)).leases for item in lease.items}
    assert [handed_out.pop(each.id) for each in jobs] == [batch] * 3
    assert list(handed_out.values()) == [None]


async def test_positions_go_on_where_they_were(backend: Backend) -> None:
    batch = await open_batch(backend.batches)
    for _ in range(3):
        await backend.lanes.submit([job(batch=batch) for _ in range(2)], at(0))
    lines = await backend.ledger.lines(batch, after=-1, most=10)
    assert [line.position for line in lines] == [0, 1, 2, 3, 4, 5]


# Counting


async def test_a_batch_counts_how_its_jobs_ended(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A] * 7)
    lease = await lease_one(backend.lanes)
    page, stored, wall, broken, later, _, behind = lease.items
    await settle(
        backend.lanes,
        ended(lease.grip, page, JobState.COMPLETED, 3),
        ended(lease.grip, stored, JobState.COMPLETED, 1, cached=True),
        ended(lease.grip, wall, JobState.REFUSED),
        ended(lease.grip, broken, JobState.FAILED, 2),
        retry(lease.grip, later, 30),
    )
    await backend.lanes.cancel([behind.job], at(2))
    found = await show(backend.batches, batch)
    assert found.counts == Counts(completed=2, refused=1, failed=1, cancelled=1, cached=1, credits=6)
    assert (found.total, found.counts.ended, found.state) == (7, 5, BatchState.RUNNING)


async def test_a_batch_counts_what_is_in_hand(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A, A, A, B, C])
    other = await open_batch(backend.batches)
    leases = {lease.grip.lane: lease for lease in (await claim(backend.lanes, most=2, items=2)).leases}
    assert set(leases) == {A, B}
    assert [(await show(backend.batches, each)).active for each in (batch, other)] == [3, 0]
    await settle(backend.lanes, done(leases[A].grip, leases[A].items[0]))
    assert (await show(backend.batches, batch)).active == 2
    await settle(backend.lanes, retry(leases[A].grip, leases[A].items[1], 30), release(leases[B].grip))
    assert (await show(backend.batches, batch)).active == 0


async def test_the_depth_counts_what_batches_have_left(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A, B, C])
    await fill(backend.batches, backend.lanes, [A, B])
    await backend.lanes.submit([job()], at(0))
    assert await backend.jobs.depth() == 6
    await backend.batches.mark(batch, BatchState.CANCELLED, at(1))
    assert await backend.jobs.depth() == 3
    await tidy_up(backend.batches)
    assert await backend.jobs.depth() == 3
    await work_off(backend.lanes)
    assert await backend.jobs.depth() == 0


# Marks


async def test_a_batch_takes_in_one_job_for_each_mark(backend: Backend) -> None:
    batch, other = await open_batch(backend.batches), await open_batch(backend.batches)
    red, blue = b"r" * 16, bytes(16)
    jobs = [job(batch=batch, mark=mark) for mark in (red, blue, red, None, None)]
    first, second, again, *unmarked = (each.id for each in jobs)
    assert await backend.lanes.submit(jobs, at(0)) == {first, second, *unmarked}
    assert await backend.jobs.job(again, at(0)) is None
    assert await backend.lanes.submit([job(batch=batch, mark=blue)], at(1)) == frozenset()
    elsewhere = job(batch=other, mark=red)
    assert await backend.lanes.submit([elsewhere], at(1)) == {elsewhere.id}
    assert [(await show(backend.batches, each)).total for each in (batch, other)] == [4, 1]


async def test_of_two_who_submit_the_same_mark_one_is_accepted(backend: Backend, neighbour: Backend) -> None:
    batch = await open_batch(backend.batches)
    marks = [number.to_bytes(16, "big") for number in range(20)]
    both = await asyncio.gather(
        *(
            side.lanes.submit(
                [job(lane, batch=batch, mark=mark) for lane, mark in zip(hosts(20), marks, strict=True)], at(0)
            )
            for side in (backend, neighbour)
        )
    )
    assert sum(len(accepted) for accepted in both) == 20
    assert (await show(backend.batches, batch)).total == 20


async def test_a_mark_is_not_kept_where_its_job_was_not(backend: Backend) -> None:
    batch, taken, mark = await open_batch(backend.batches), job(), b"m" * 16
    await backend.lanes.submit([taken], at(0))
    fresh = job(batch=batch, mark=mark)
    with pytest.raises(backend.clash):
        await backend.lanes.submit([fresh, taken], at(0))
    assert await backend.lanes.submit([fresh], at(0)) == {fresh.id}


async def test_what_follows_is_held_against_the_marks_as_well(backend: Backend) -> None:
    batch, mark = await open_batch(backend.batches), b"m" * 16
    lease = await hold(backend.lanes, job(batch=batch, mark=mark))
    known, news = job(B, batch=batch, mark=mark), job(B, batch=batch, mark=b"n" * 16)
    await settle(backend.lanes, done(lease.grip, lease.items[0], None, known, news), release(lease.grip))
    assert await backend.jobs.job(known.id, at(2)) is None
    assert (await show(backend.batches, batch)).total == 2


# Admitting


async def test_no_more_jobs_begin_than_are_let_in(backend: Backend, neighbour: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, hosts(6))
    sides = [backend.batches, neighbour.batches] * 3
    told = await asyncio.gather(*(side.admit(batch, each.id, most=4) for side, each in zip(sides, jobs, strict=True)))
    assert sum(told) == 4
    again = [await backend.batches.admit(batch, each.id, most=4) for each in jobs]
    assert again == told, "whoever was let in once is let in again"
    assert await backend.batches.admit(batch, jobs[told.index(False)].id, most=5)
    assert not await backend.batches.admit(BatchId("bat_nobody"), jobs[0].id, most=5)


# Ending


async def test_a_batch_is_completed_once_it_is_sealed_and_all_has_ended(backend: Backend) -> None:
    batch = await open_batch(backend.batches)
    lease = await hold(backend.lanes, job(batch=batch))
    await settle(backend.lanes, *finished([lease]), seconds=3)
    assert (await show(backend.batches, batch)).state is BatchState.RUNNING
    await backend.batches.seal(batch)
    found = await show(backend.batches, batch)
    assert (found.state, found.sealed) == (BatchState.COMPLETED, True)
    await tidy_up(backend.batches, 4)
    found = await show(backend.batches, batch)
    assert found.state is BatchState.COMPLETED
    assert found.finished_at is not None
    assert at(3) <= found.finished_at <= at(4)


async def test_a_sealed_batch_is_completed_with_its_last_job(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A, A])
    lease = await lease_one(backend.lanes)
    await settle(backend.lanes, done(lease.grip, lease.items[0]), seconds=3)
    assert (await show(backend.batches, batch)).state is BatchState.RUNNING
    await backend.lanes.cancel([lease.items[1].job], at(4))
    assert (await show(backend.batches, batch)).state is BatchState.COMPLETED
    await tidy_up(backend.batches, 4)
    assert (await show(backend.batches, batch)).finished_at == at(4)


async def test_a_sealed_batch_takes_in_what_follows_until_it_has_ended(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A])
    lease = await lease_one(backend.lanes)
    last = job(B, batch=batch)
    await settle(backend.lanes, done(lease.grip, lease.items[0], None, last), release(lease.grip))
    found = await show(backend.batches, batch)
    assert (found.state, found.total, found.counts.completed) == (BatchState.RUNNING, 2, 1)
    await work_off(backend.lanes)
    assert (await show(backend.batches, batch)).state is BatchState.COMPLETED
    await tidy_up(backend.batches)
    assert await backend.lanes.submit([job(batch=batch)], at(3)) == frozenset()
    assert await backend.jobs.depth() == 0


async def test_a_sealed_batch_takes_in_nothing_from_the_moment_its_last_job_has_ended(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A])
    lease = await lease_one(backend.lanes)
    more = job(B, batch=batch)
    assert await backend.lanes.submit([more], at(1)) == {more.id}, "it has not ended yet"
    follow_up = job(C, batch=batch)
    other = await lease_one(backend.lanes, seconds=1)
    await settle(backend.lanes, done(other.grip, other.items[0]), release(other.grip))
    await settle(backend.lanes, done(lease.grip, lease.items[0], RESULT, follow_up), release(lease.grip))
    found = await show(backend.batches, batch)
    assert (found.state, found.total) == (BatchState.RUNNING, 3), "what its last job leads to belongs to it"
    assert {item.job for item in await work_off(backend.lanes)} == {follow_up.id}
    assert await backend.lanes.submit([job(A, batch=batch)], at(2)) == frozenset(), "though nobody has tidied up"
    found = await show(backend.batches, batch)
    assert (found.state, found.total) == (BatchState.COMPLETED, 3)


async def test_who_submits_while_a_sealed_batch_ends_is_accepted_or_not_and_never_half(
    backend: Backend, neighbour: Backend
) -> None:
    for _ in range(10):
        batch, _ = await fill(backend.batches, backend.lanes, [A])
        lease = await lease_one(backend.lanes, seconds=1)
        more = job(B, batch=batch)
        accepted, _ = await asyncio.gather(
            neighbour.lanes.submit([more], at(1)), settle(backend.lanes, *finished([lease]))
        )
        await tidy_up(backend.batches)
        found = await show(backend.batches, batch)
        assert (found.state, found.total) == ((BatchState.RUNNING, 2) if accepted else (BatchState.COMPLETED, 1))
        await work_off(backend.lanes, seconds=2)


async def test_an_empty_batch_is_completed_when_it_is_sealed(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [])
    assert (await show(backend.batches, batch)).state is BatchState.COMPLETED


async def test_of_a_call_only_what_is_of_ended_batches_is_left_out(backend: Backend) -> None:
    over, _ = await fill(backend.batches, backend.lanes, [])
    await tidy_up(backend.batches)
    running = await open_batch(backend.batches)
    late, early, single = job(A, batch=over), job(B, batch=running), job(C)
    assert await backend.lanes.submit([late, early, single], at(0)) == {early.id, single.id}


async def test_a_batch_that_has_ended_stays_so(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A])
    await work_off(backend.lanes)
    for state in (BatchState.PAUSED, BatchState.CANCELLED, BatchState.RUNNING):
        assert not await backend.batches.mark(batch, state, at(5))
    assert (await show(backend.batches, batch)).state is BatchState.COMPLETED


async def test_nobody_can_say_that_a_batch_is_completed(backend: Backend) -> None:
    batch = await open_batch(backend.batches)
    with pytest.raises(ValueError, match="completed"):
        await backend.batches.mark(batch, BatchState.COMPLETED, at(0))
    assert (await show(backend.batches, batch)).state is BatchState.RUNNING
