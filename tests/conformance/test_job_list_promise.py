"""What every backend promises of lists of jobs (`ports.records.JobRecords.listed`)."""

import pytest
from making import ACCOUNT, OTHER, A, B, at, done, fill, hold, job, lease_one, open_batch, settle
from openers import Backend

from emissary.model.batches import BatchState
from emissary.model.ids import BatchId, JobId
from emissary.model.job_list import LOOKED_AT, JobWish
from emissary.model.jobs import JobState
from emissary.model.lanes import LaneKey

pytestmark = pytest.mark.anyio


async def listed(backend: Backend, wish: JobWish, most: int = 100) -> list[JobId]:
    """All of them, page by page."""
    found, page = [], await backend.jobs.listed(wish, at(2), before=None, most=most)
    while True:
        assert len(page.jobs) <= most
        found += [line.id for line in page.jobs]
        if page.next is None:
            return found
        page = await backend.jobs.listed(wish, at(2), before=page.next, most=most)


@pytest.mark.parametrize("most", [1, 3, 10])
async def test_jobs_come_newest_first_in_pages_that_overlap_nowhere(backend: Backend, most: int) -> None:
    jobs = [job() for _ in range(7)]
    await backend.lanes.submit([*jobs, job(account=OTHER)], at(0))
    assert await listed(backend, JobWish(ACCOUNT), most) == [each.id for each in reversed(jobs)]


async def test_jobs_are_found_by_their_state_at_this_moment(backend: Backend) -> None:
    first, second = job(A), job(A)
    lease = await hold(backend.lanes, first, second)
    waiting, delayed = job(B), job(B, not_before=at(60))
    await backend.lanes.submit([waiting, delayed], at(0))
    await settle(backend.lanes, done(lease.grip, lease.items[0]))
    by_state = {state: await listed(backend, JobWish(ACCOUNT, state)) for state in JobState}
    assert by_state == {
        **{state: [] for state in JobState},
        JobState.COMPLETED: [first.id],
        JobState.ACTIVE: [second.id],
        JobState.WAITING: [waiting.id],
        JobState.DELAYED: [delayed.id],
    }


async def test_a_line_says_what_the_job_itself_would(backend: Backend) -> None:
    batch, (made,) = await fill(backend.batches, backend.lanes, [A])
    lease = await lease_one(backend.lanes)
    await settle(backend.lanes, done(lease.grip, lease.items[0]))
    (line,) = (await backend.jobs.listed(JobWish(ACCOUNT), at(2), before=None, most=10)).jobs
    whole = await backend.jobs.job(made.id, at(2))
    assert whole is not None
    assert whole.result is not None
    assert (line.id, line.kind, line.state, line.lane) == (whole.id, whole.kind, whole.state, whole.lane)
    assert (line.batch, line.order, line.outcome) == (batch, whole.order, whole.result.outcome)
    assert (line.created_at, line.started_at, line.finished_at) == (
        whole.created_at,
        whole.started_at,
        whole.finished_at,
    )


async def test_jobs_of_a_batch_and_of_a_host_are_found(backend: Backend) -> None:
    single = job(A)
    await backend.lanes.submit([single], at(0))
    batch, jobs = await fill(backend.batches, backend.lanes, [A, B, A])
    names = [each.id for each in jobs]
    assert await listed(backend, JobWish(ACCOUNT, batch=batch), 2) == names[::-1]
    assert await listed(backend, JobWish(ACCOUNT, batch=batch, lane=A), 1) == [names[2], names[0]]
    assert await listed(backend, JobWish(ACCOUNT, lane=A)) == [names[2], names[0], single.id]
    assert await listed(backend, JobWish(ACCOUNT, lane=LaneKey("host:nowhere.example"))) == []
    assert await listed(backend, JobWish(OTHER, batch=batch)) == []
    assert await listed(backend, JobWish(ACCOUNT, batch=BatchId(f"bat_{'0' * 26}"))) == []


async def test_jobs_of_a_cancelled_batch_are_cancelled_at_once(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, [A, B])
    await backend.batches.mark(batch, BatchState.CANCELLED, at(1))
    assert await listed(backend, JobWish(ACCOUNT, JobState.CANCELLED)) == [each.id for each in reversed(jobs)]
    assert await listed(backend, JobWish(ACCOUNT, JobState.WAITING)) == []


async def test_one_page_looks_at_so_many_and_the_next_goes_on_behind_them(backend: Backend) -> None:
    mine = job(A)
    await backend.lanes.submit([mine], at(0))
    others = [job(B, account=OTHER) for _ in range(LOOKED_AT + 5)]
    for start in range(0, len(others), 5_000):
        await backend.lanes.submit(others[start : start + 5_000], at(0))
    page = await backend.jobs.listed(JobWish(ACCOUNT), at(1), before=None, most=10)
    assert (page.jobs, page.next) == ([], others[5].id)
    page = await backend.jobs.listed(JobWish(ACCOUNT), at(1), before=page.next, most=10)
    assert ([line.id for line in page.jobs], page.next) == ([mine.id], None)


async def test_a_batch_that_is_being_filled_can_be_listed(backend: Backend) -> None:
    batch = await open_batch(backend.batches)
    assert await listed(backend, JobWish(ACCOUNT, batch=batch)) == []
