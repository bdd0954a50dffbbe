"""The promise of `ports.batches.Batches`: paused, resumed, cancelled or done again, at once and to the last job."""

import asyncio

import pytest
from making import (
    ACCOUNT,
    ANN,
    BOB,
    OTHER,
    A,
    B,
    C,
    at,
    claim,
    done,
    ended,
    fill,
    finished,
    hosts,
    job,
    jobs_of,
    keys_of,
    lease_one,
    onward,
    open_batch,
    release,
    retry,
    settle,
    show,
    take,
    tidy_up,
    work_off,
)
from openers import Backend

from emissary.model.batches import BatchState, Counts
from emissary.model.fairness import PARKED
from emissary.model.ids import BatchId
from emissary.model.jobs import JobState, NewJob, Priority
from emissary.ports.records import JobRecords

pytestmark = pytest.mark.anyio

PAUSED, RUNNING, CANCELLED = BatchState.PAUSED, BatchState.RUNNING, BatchState.CANCELLED


async def states_of(jobs: JobRecords, asked: list[NewJob], seconds: float = 3) -> list[JobState]:
    found = [await jobs.job(each.id, at(seconds)) for each in asked]
    return [each.state for each in found if each is not None]


# Pausing


async def test_nothing_of_a_paused_batch_is_handed_out(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, [A, A, B, C])
    (lease,) = (await claim(backend.lanes, most=1, items=1)).leases
    assert await backend.batches.mark(batch, PAUSED, at(1))
    assert (await show(backend.batches, batch)).state is PAUSED
    for _ in range(2):
        assert (await claim(backend.lanes, BOB, 1)).leases == ()
        assert await take(backend.lanes, lease.grip, 5, seconds=1, in_hand=jobs_of(lease)) == []
        await tidy_up(backend.batches)
    why = await backend.jobs.why_waiting(jobs[3].id, at(1))
    assert why is not None
    assert (why.lane, why.reason, why.until) == (C, "paused", None)


async def test_what_is_in_hand_of_a_paused_batch_is_settled(backend: Backend) -> None:
    batch, (first, second, third) = await fill(backend.batches, backend.lanes, [A, A, A])
    lease = await lease_one(backend.lanes)
    await backend.batches.mark(batch, PAUSED, at(1))
    await tidy_up(backend.batches)
    assert (await show(backend.batches, batch)).active == 3
    one, two, three = lease.items
    told = [done(lease.grip, one), retry(lease.grip, two, 1), onward(lease.grip, three, B)]
    assert await settle(backend.lanes, *told, release(lease.grip)) == {first.id, second.id, third.id}
    found = await show(backend.batches, batch)
    assert (found.state, found.counts.completed, found.active) == (PAUSED, 1, 0)
    assert (await claim(backend.lanes, seconds=9)).leases == ()


async def test_others_go_on_in_the_lanes_of_a_paused_batch(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, hosts(3) * 4)
    other, _ = await fill(backend.batches, backend.lanes, hosts(3) * 2, OTHER)
    await backend.batches.mark(batch, PAUSED, at(1))
    await tidy_up(backend.batches)
    assert [item.batch for item in await work_off(backend.lanes)] == [other] * 6


async def test_what_was_in_hand_when_its_batch_was_paused_is_in_nobodys_way(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A] * 3)
    early, late = job(A, account=OTHER), job(A, account=OTHER)
    lease = await lease_one(backend.lanes)
    await backend.lanes.submit([early], at(1))
    await backend.batches.mark(batch, PAUSED, at(1))
    await tidy_up(backend.batches)
    await settle(backend.lanes, release(lease.grip), seconds=2)
    assert [item.job for item in await work_off(backend.lanes, seconds=2)] == [early.id]
    await backend.lanes.submit([late], at(3))
    assert [item.job for item in await work_off(backend.lanes, seconds=3)] == [late.id]


async def test_a_resumed_batch_goes_on_to_its_end(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, hosts(3) * 5)
    before = await work_off(backend.lanes, 4)
    await backend.batches.mark(batch, PAUSED, at(1))
    await tidy_up(backend.batches)
    assert await backend.batches.mark(batch, RUNNING, at(2))
    await tidy_up(backend.batches)
    after = await work_off(backend.lanes, seconds=3)
    assert sorted(item.job for item in before + after) == [each.id for each in jobs]
    assert (await show(backend.batches, batch)).state is BatchState.COMPLETED


async def test_a_batch_that_was_paused_has_saved_up_nothing(backend: Backend) -> None:
    paused, _ = await fill(backend.batches, backend.lanes, hosts(4) * 40, ACCOUNT)
    await backend.batches.mark(paused, PAUSED, at(0))
    await tidy_up(backend.batches, most=50)
    await fill(backend.batches, backend.lanes, hosts(4) * 50, OTHER)
    await work_off(backend.lanes, 100)
    await backend.batches.mark(paused, RUNNING, at(1))
    await tidy_up(backend.batches, most=50)
    shares = [item.batch == paused for item in await work_off(backend.lanes, 40)]
    assert abs(sum(shares) - 20) <= 2


async def test_what_is_handed_out_before_a_resumed_batch_is_tidied_up_leaves_the_clock_alone(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, hosts(2) * 5)
    await backend.batches.mark(batch, PAUSED, at(1))
    await tidy_up(backend.batches)
    await backend.batches.mark(batch, RUNNING, at(2))
    await work_off(backend.lanes, 4, seconds=2)
    await backend.lanes.submit([job(C, account=OTHER)], at(2))
    await tidy_up(backend.batches)
    assert all(abs(item.rank) < PARKED // 2 for item in await work_off(backend.lanes, seconds=2))


async def test_what_comes_into_a_paused_batch_waits_with_it(backend: Backend) -> None:
    batch = await open_batch(backend.batches)
    await backend.batches.mark(batch, PAUSED, at(0))
    await tidy_up(backend.batches)
    asked = [job(lane, batch=batch) for lane in (A, A, B)]
    assert len(await backend.lanes.submit(asked, at(1))) == 3
    await backend.lanes.submit([job(A)], at(1))
    assert [item.batch for item in await work_off(backend.lanes)] == [None]
    await backend.batches.mark(batch, RUNNING, at(2))
    await tidy_up(backend.batches)
    assert [item.job for item in await work_off(backend.lanes, seconds=2)] == [each.id for each in asked]


async def test_pausing_and_resuming_before_anything_is_tidied_up_loses_nothing(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, hosts(3) * 4)
    for state in (PAUSED, RUNNING, PAUSED, RUNNING):
        await backend.batches.mark(batch, state, at(1))
        await backend.batches.tidy(at(1), most=5)
    await tidy_up(backend.batches)
    handed_out = await work_off(backend.lanes)
    assert sorted(item.job for item in handed_out) == [each.id for each in jobs]


async def test_a_delayed_job_of_a_batch_that_was_paused_is_not_forgotten(backend: Backend) -> None:
    batch, (asked,) = await fill(backend.batches, backend.lanes, [A])
    lease = await lease_one(backend.lanes)
    await settle(backend.lanes, retry(lease.grip, lease.items[0], 10), release(lease.grip))
    await backend.batches.mark(batch, PAUSED, at(2))
    await tidy_up(backend.batches)
    for seconds in (5, 20):
        claimed = await claim(backend.lanes, seconds=seconds)
        assert (claimed.leases, claimed.next_ready_at) == ((), None)
    await backend.batches.mark(batch, RUNNING, at(30))
    await tidy_up(backend.batches, 30)
    assert jobs_of(await lease_one(backend.lanes, seconds=31)) == [asked.id]


async def test_a_delayed_job_behind_a_paused_batch_is_not_forgotten(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A, A])
    later = job(A, not_before=at(10), account=OTHER)
    await backend.lanes.submit([later], at(0))
    await backend.batches.mark(batch, PAUSED, at(1))
    await tidy_up(backend.batches)
    claimed = await claim(backend.lanes, seconds=9)
    assert (claimed.leases, claimed.next_ready_at) == ((), at(10))
    assert jobs_of(await lease_one(backend.lanes, seconds=10)) == [later.id]


# Cancelling


async def test_a_cancelled_batch_has_ended_at_once(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, [A, A, B, B, C])
    (lease,) = (await claim(backend.lanes, most=1, items=2)).leases
    await settle(backend.lanes, done(lease.grip, lease.items[0]))
    assert await backend.batches.mark(batch, CANCELLED, at(2))
    for seconds in (2, 3):
        found = await show(backend.batches, batch)
        assert (found.state, found.finished_at, found.active) == (CANCELLED, at(2), 0)
        assert found.counts == Counts(completed=1, cancelled=4)
        assert await states_of(backend.jobs, jobs) == [JobState.COMPLETED] + [JobState.CANCELLED] * 4
        shown = await backend.jobs.job(jobs[4].id, at(seconds))
        assert shown is not None
        assert shown.finished_at == at(2)
        assert await backend.jobs.why_waiting(jobs[4].id, at(seconds)) is None
        assert await backend.jobs.depth() == 0
        assert (await claim(backend.lanes, BOB, seconds)).leases == ()
        assert await backend.lanes.cancel([jobs[4].id], at(seconds)) == frozenset()
        assert await backend.lanes.submit([job(batch=batch)], at(seconds)) == frozenset()
        await tidy_up(backend.batches, 9)


async def test_what_became_of_jobs_of_a_cancelled_batch_is_dropped(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A, A, A])
    lease = await lease_one(backend.lanes)
    one, two, three = lease.items
    await backend.batches.mark(batch, CANCELLED, at(1))
    news = job(B, batch=batch)
    told = [done(lease.grip, one, None, news), retry(lease.grip, two, 5), onward(lease.grip, three, C)]
    assert await settle(backend.lanes, *told) == frozenset()
    await tidy_up(backend.batches)
    assert await settle(backend.lanes, *told, release(lease.grip)) == frozenset()
    assert await backend.jobs.job(news.id, at(2)) is None
    assert (await show(backend.batches, batch)).counts == Counts(cancelled=3)
    claimed = await claim(backend.lanes, seconds=9)
    assert (claimed.leases, claimed.next_ready_at) == ((), None)


async def test_others_go_on_in_the_lanes_of_a_cancelled_batch(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, hosts(3) * 4)
    other, _ = await fill(backend.batches, backend.lanes, hosts(4) * 2, OTHER)
    await backend.batches.mark(batch, CANCELLED, at(1))
    free = await claim(backend.lanes, seconds=1)
    assert hosts(4)[3] in keys_of(free), "in lanes of their own they need not wait for anything"
    await settle(backend.lanes, *(release(lease.grip) for lease in free.leases))
    await tidy_up(backend.batches)
    assert [item.batch for item in await work_off(backend.lanes)] == [other] * 8


async def test_however_many_lanes_a_cancelled_batch_has_others_are_found_at_once(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, hosts(200))
    await backend.lanes.submit([job(A, Priority.LOW), job(B, Priority.LOW, account=OTHER)], at(0))
    await backend.batches.mark(batch, CANCELLED, at(1))
    assert keys_of(await claim(backend.lanes, seconds=1, most=5)) == {A, B}


async def test_a_paused_batch_can_be_cancelled(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, [A, A, B])
    await backend.batches.mark(batch, PAUSED, at(1))
    await tidy_up(backend.batches)
    assert await backend.batches.mark(batch, CANCELLED, at(2))
    assert not await backend.batches.mark(batch, RUNNING, at(2))
    await tidy_up(backend.batches)
    assert await states_of(backend.jobs, jobs) == [JobState.CANCELLED] * 3
    assert (await claim(backend.lanes, seconds=9)).leases == ()


async def test_a_cancel_that_races_with_settlements_counts_every_job_once(backend: Backend, neighbour: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, hosts(10) * 3)
    leases = (await claim(backend.lanes)).leases
    steps = [settle(backend.lanes, *finished([lease])) for lease in leases]
    steps.insert(5, neighbour.batches.mark(batch, CANCELLED, at(1)))
    told = await asyncio.gather(*steps, tidy_up(neighbour.batches, 1))
    written = {name for each in told if isinstance(each, frozenset) for name in each}
    await tidy_up(backend.batches)
    found = await show(backend.batches, batch)
    assert found.counts == Counts(completed=len(written), cancelled=30 - len(written))
    ends = dict(zip([each.id for each in jobs], await states_of(backend.jobs, jobs), strict=True))
    assert {name for name, state in ends.items() if state is JobState.COMPLETED} == written
    assert len([state for state in ends.values() if state is JobState.CANCELLED]) == 30 - len(written)


# Again


async def ended_badly(backend: Backend) -> BatchId:
    """A batch that is completed: two of its jobs were refused, two failed, one went well."""
    batch, _ = await fill(backend.batches, backend.lanes, [A] * 5)
    lease = await lease_one(backend.lanes)
    ends = [JobState.REFUSED, JobState.FAILED, JobState.COMPLETED, JobState.REFUSED, JobState.FAILED]
    told = [ended(lease.grip, item, state, 1) for item, state in zip(lease.items, ends, strict=True)]
    await settle(backend.lanes, *told, release(lease.grip))
    assert (await show(backend.batches, batch)).state is BatchState.COMPLETED
    return batch


async def test_what_failed_is_done_again_as_if_it_were_new(backend: Backend) -> None:
    batch = await ended_badly(backend)
    await tidy_up(backend.batches)
    assert await backend.batches.again(batch, {JobState.FAILED}, at(2), most=10) == 2
    assert await backend.batches.again(batch, {JobState.FAILED}, at(2), most=10) == 0
    found = await show(backend.batches, batch)
    assert (found.state, found.finished_at, found.total) == (RUNNING, None, 5)
    assert (found.counts.completed, found.counts.refused, found.counts.failed) == (1, 2, 0)
    assert await backend.jobs.depth() == 2
    handed_out = await work_off(backend.lanes, seconds=3)
    assert [(item.failures, item.deaths) for item in handed_out] == [(0, 0), (0, 0)]
    for item in handed_out:
        again = await backend.jobs.job(item.job, at(3))
        assert again is not None
        assert (again.state, again.finished_at) == (JobState.COMPLETED, at(3))
    found = await show(backend.batches, batch)
    assert (found.state, found.counts.completed, found.counts.failed) == (BatchState.COMPLETED, 3, 0)


async def test_a_job_that_moved_on_is_done_again_where_its_way_has_led_it(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A])
    lease = await lease_one(backend.lanes)
    moved = onward(lease.grip, lease.items[0], B, b'{"way":"to B"}')
    await settle(backend.lanes, moved, release(lease.grip))
    lease = await lease_one(backend.lanes, seconds=1)
    await settle(backend.lanes, ended(lease.grip, lease.items[0], JobState.FAILED), release(lease.grip))
    await tidy_up(backend.batches)
    assert await backend.batches.again(batch, {JobState.FAILED}, at(2), most=9) == 1
    lease = await lease_one(backend.lanes, seconds=2)
    assert (lease.grip.lane, [item.trail for item in lease.items]) == (B, [b'{"way":"to B"}'])


async def test_only_so_many_as_asked_for_are_done_again(backend: Backend) -> None:
    batch, both = await ended_badly(backend), {JobState.FAILED, JobState.REFUSED}
    assert [await backend.batches.again(batch, both, at(2), most=3) for _ in range(3)] == [3, 1, 0]
    assert len(await work_off(backend.lanes, seconds=3)) == 4


async def test_a_job_that_is_to_be_done_again_has_no_result_until_then(backend: Backend) -> None:
    batch = await ended_badly(backend)
    await backend.batches.again(batch, {JobState.FAILED}, at(2), most=1)
    (line,) = await backend.ledger.lines(batch, after=-1, most=10, states={JobState.WAITING})
    found = await backend.jobs.job(line.job, at(2))
    assert found is not None
    assert (found.state, found.result, found.finished_at) == (JobState.WAITING, None, None)
    assert line.job not in [each.line.job for each in await backend.ledger.finished(batch, after="", most=10)]


async def test_nothing_is_done_again_in_a_batch_that_is_open_or_cancelled(backend: Backend) -> None:
    batch = await open_batch(backend.batches)
    await backend.lanes.submit([job(batch=batch)], at(0))
    lease = await lease_one(backend.lanes, ANN)
    await settle(backend.lanes, ended(lease.grip, lease.items[0], JobState.FAILED), release(lease.grip))
    assert await backend.batches.again(batch, {JobState.FAILED}, at(2), most=10) == 0
    await backend.batches.mark(batch, CANCELLED, at(2))
    await backend.batches.seal(batch)
    assert await backend.batches.again(batch, {JobState.FAILED}, at(2), most=10) == 0


async def test_what_is_to_be_done_again_in_a_paused_batch_waits_with_it(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A, A, B])
    (lease,) = (await claim(backend.lanes, most=1, items=1)).leases
    await settle(backend.lanes, ended(lease.grip, lease.items[0], JobState.FAILED), release(lease.grip))
    await backend.batches.mark(batch, PAUSED, at(1))
    await tidy_up(backend.batches)
    assert await backend.batches.again(batch, {JobState.FAILED}, at(2), most=10) == 1
    assert (await show(backend.batches, batch)).state is PAUSED
    assert (await claim(backend.lanes, seconds=2)).leases == ()
    await backend.batches.mark(batch, RUNNING, at(3))
    await tidy_up(backend.batches)
    assert len(await work_off(backend.lanes, seconds=3)) == 3


async def test_a_batch_that_ended_while_it_was_paused_runs_when_some_of_it_is_done_again(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A])
    lease = await lease_one(backend.lanes)
    await backend.batches.mark(batch, PAUSED, at(1))
    await settle(backend.lanes, ended(lease.grip, lease.items[0], JobState.FAILED), release(lease.grip))
    assert (await show(backend.batches, batch)).state is BatchState.COMPLETED
    await tidy_up(backend.batches)
    assert await backend.batches.again(batch, {JobState.FAILED}, at(2), most=10) == 1
    assert (await show(backend.batches, batch)).state is RUNNING
    assert len(await work_off(backend.lanes, seconds=3)) == 1


async def test_whoever_has_some_in_hand_is_told_which_batches_do_not_go_on(backend: Backend) -> None:
    names = [await open_batch(backend.batches) for _ in range(4)]
    await backend.batches.mark(names[0], PAUSED, at(1))
    await backend.batches.mark(names[1], CANCELLED, at(1))
    assert await backend.ledger.halted(names[:3]) == {names[0], names[1]}
    assert await backend.ledger.halted(names[2:]) == frozenset()
    await backend.batches.mark(names[0], RUNNING, at(2))
    assert await backend.ledger.halted(names) == {names[1]}
