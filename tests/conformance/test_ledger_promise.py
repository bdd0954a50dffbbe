"""The promise of `ports.batches.Ledger`: every job of a batch, page by page, and every result as it comes."""

import json

import pytest
from making import (
    A,
    B,
    at,
    claim,
    done,
    ended,
    fill,
    finished,
    hosts,
    job,
    lease_one,
    onward,
    release,
    retry,
    settle,
    show,
    tidy_up,
    work_off,
)
from openers import Backend

from emissary.model.batches import BatchState, Finished
from emissary.model.ids import BatchId
from emissary.model.jobs import JobState, StoredResult
from emissary.ports.batches import Ledger

pytestmark = pytest.mark.anyio


# Lines


async def test_a_line_says_what_became_of_its_job(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, [A, A, A])
    lease = await lease_one(backend.lanes)
    one, two, three = lease.items
    told = [ended(lease.grip, one, JobState.REFUSED), retry(lease.grip, two, 30), onward(lease.grip, three, B)]
    await settle(backend.lanes, *told, release(lease.grip), seconds=4)
    first, second, third = await backend.ledger.lines(batch, after=-1, most=10)
    assert [line.job for line in (first, second, third)] == [each.id for each in jobs]
    assert [line.position for line in (first, second, third)] == [0, 1, 2]
    assert (first.state, first.lane, first.order, first.failures) == (JobState.REFUSED, A, jobs[0].order, 0)
    assert (json.loads(first.outcome or b""), first.finished_at) == ({"code": "refused"}, at(4))
    assert (second.failures, second.outcome, second.finished_at) == (1, None, None)
    assert (third.state, third.lane) == (JobState.WAITING, B)


async def test_lines_come_page_by_page_in_the_order_of_their_positions(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, hosts(4) * 5)
    await backend.lanes.submit([job(A)], at(0))
    await work_off(backend.lanes, 7)
    seen, after = [], -1
    while page := await backend.ledger.lines(batch, after=after, most=6):
        seen += [line.job for line in page]
        after = page[-1].position
    assert seen == [each.id for each in jobs]


async def test_lines_are_chosen_by_their_state(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A] * 6)
    (lease,) = (await claim(backend.lanes, items=5)).leases
    ends = [JobState.FAILED, JobState.COMPLETED, JobState.REFUSED, JobState.COMPLETED, JobState.FAILED]
    told = [ended(lease.grip, item, state) for item, state in zip(lease.items, ends, strict=True)]
    await settle(backend.lanes, *told, release(lease.grip))

    async def positions(*states: JobState, after: int = -1, most: int = 10) -> list[int]:
        lines = await backend.ledger.lines(batch, after=after, most=most, states=set(states))
        assert {line.state for line in lines} <= set(states)
        return [line.position for line in lines]

    assert await positions(JobState.FAILED) == [0, 4]
    assert await positions(JobState.FAILED, JobState.REFUSED) == [0, 2, 4]
    assert await positions(JobState.FAILED, JobState.REFUSED, after=0, most=1) == [2]
    assert await positions(JobState.COMPLETED, JobState.FAILED) == [0, 1, 3, 4]
    assert await positions(JobState.WAITING) == [5]
    assert await positions() == []


async def test_the_jobs_of_a_cancelled_batch_are_cancelled_in_its_ledger_at_once(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A, A, B])
    lease = (await claim(backend.lanes, most=1, items=1)).leases[0]
    await settle(backend.lanes, done(lease.grip, lease.items[0]))
    await backend.batches.mark(batch, BatchState.CANCELLED, at(2))
    for _ in range(2):
        lines = await backend.ledger.lines(batch, after=-1, most=10)
        assert [line.state for line in lines] == [JobState.COMPLETED, JobState.CANCELLED, JobState.CANCELLED]
        assert all(line.finished_at is not None for line in lines)
        cancelled = await backend.ledger.lines(batch, after=-1, most=10, states={JobState.CANCELLED})
        assert [line.position for line in cancelled] == [1, 2]
        assert await backend.ledger.lines(batch, after=-1, most=10, states={JobState.WAITING}) == []
        await tidy_up(backend.batches)


async def test_the_counts_of_a_batch_are_those_of_its_ledger(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, hosts(3) * 4)
    states = [JobState.COMPLETED, JobState.FAILED, JobState.REFUSED]
    for lease, state in zip((await claim(backend.lanes, items=2)).leases, states, strict=True):
        await settle(backend.lanes, *(ended(lease.grip, item, state) for item in lease.items))
    counts = (await show(backend.batches, batch)).counts
    lines = [line.state for line in await backend.ledger.lines(batch, after=-1, most=99)]
    assert [lines.count(state) for state in states] == [counts.completed, counts.failed, counts.refused] == [2, 2, 2]


# Results


async def follow(ledger: Ledger, batch: BatchId, after: str = "", most: int = 3) -> list[Finished]:
    """All results behind the cursor, page by page."""
    seen: list[Finished] = []
    while page := await ledger.finished(batch, after=after, most=most):
        assert len(page) <= most
        seen += page
        after = page[-1].cursor
    return seen


async def test_results_come_with_what_was_left_behind(backend: Backend) -> None:
    batch, (first, second, _) = await fill(backend.batches, backend.lanes, [A] * 3)
    lease = await lease_one(backend.lanes)
    one, two, three = lease.items
    stored = [StoredResult(b'{"n":1}', bytes(range(256))), StoredResult(b"[2]", None, "results/2")]
    told = [done(lease.grip, item, result) for item, result in zip((one, two), stored, strict=True)]
    await settle(backend.lanes, *told, done(lease.grip, three, None))
    seen = await follow(backend.ledger, batch)
    assert sorted(each.line.job for each in seen) == [first.id, second.id]
    by_job = {each.line.job: each for each in seen}
    assert [by_job[each.id].result for each in (first, second)] == stored
    assert by_job[first.id].line.outcome == b'{"n":1}'
    assert by_job[first.id].line.order == first.order


async def test_whoever_follows_the_cursors_sees_every_result_once(backend: Backend, neighbour: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, hosts(5) * 8)
    await fill(backend.batches, backend.lanes, hosts(5))
    seen, after = [], ""
    while leases := (await claim(backend.lanes, seconds=1, most=3, items=2)).leases:
        await settle((backend, neighbour)[len(seen) % 2].lanes, *finished(leases))
        page = await neighbour.ledger.finished(batch, after=after, most=4)
        seen += [each.line.job for each in page]
        after = page[-1].cursor if page else after
    seen += [each.line.job for each in await follow(backend.ledger, batch, after)]
    assert sorted(seen) == [each.id for each in jobs]


async def test_results_that_come_behind_a_cursor_are_found_from_there(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, [A, B])
    first, second = (await claim(backend.lanes)).leases
    await settle(backend.lanes, *finished([second]))
    (late,) = await follow(backend.ledger, batch)
    assert await backend.ledger.finished(batch, after=late.cursor, most=10) == []
    await settle(backend.lanes, *finished([first]))
    assert [each.line.job for each in await follow(backend.ledger, batch, late.cursor)] == [jobs[0].id]


async def test_a_job_that_was_done_again_is_seen_again(backend: Backend) -> None:
    batch, (asked,) = await fill(backend.batches, backend.lanes, [A])
    lease = await lease_one(backend.lanes)
    await settle(backend.lanes, ended(lease.grip, lease.items[0], JobState.FAILED), release(lease.grip))
    (before,) = await follow(backend.ledger, batch)
    await backend.batches.again(batch, {JobState.FAILED}, at(2), most=10)
    assert await follow(backend.ledger, batch, before.cursor) == []
    await work_off(backend.lanes, seconds=3)
    (after,) = await follow(backend.ledger, batch, before.cursor)
    assert (after.line.job, after.line.state) == (asked.id, JobState.COMPLETED)


async def test_what_is_not_a_cursor_is_refused(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A])
    with pytest.raises(ValueError, match="'page two' is not a cursor"):
        await backend.ledger.finished(batch, after="page two", most=10)
