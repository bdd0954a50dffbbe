"""The promise of `ports.usage.Usage`: every job that ends by itself is counted, and once."""

import asyncio
from datetime import UTC, date, timedelta

import pytest
from making import (
    ACCOUNT,
    ANN,
    OTHER,
    A,
    B,
    at,
    claim,
    done,
    ended,
    fill,
    hold,
    hosts,
    job,
    lease_one,
    onward,
    release,
    retry,
    settle,
    work_off,
)
from openers import Backend

from emissary.model.batches import BatchState
from emissary.model.ids import AccountId
from emissary.model.jobs import JobState, Kind, NewJob
from emissary.model.lanes import Trial
from emissary.model.usage import UsageBy, UsageRow

pytestmark = pytest.mark.anyio

TODAY = at(0).astimezone(UTC).date()
FOREVER = (date(2000, 1, 1), date(2100, 1, 1))


async def used(backend: Backend, by: UsageBy = UsageBy.HOST, account: AccountId = ACCOUNT) -> list[UsageRow]:
    return await backend.usage.of_account(account, *FOREVER, by)


async def fold_all(backend: Backend) -> None:
    while await backend.usage.fold(most=2):
        pass


async def test_what_ended_is_counted_by_how_it_did(backend: Backend) -> None:
    lease = await hold(backend.lanes, *(job() for _ in range(5)))
    ends = [JobState.COMPLETED, JobState.COMPLETED, JobState.FAILED, JobState.REFUSED]
    first, second, third, fourth = (
        ended(lease.grip, item, state, 2 if state is JobState.COMPLETED else 0)
        for item, state in zip(lease.items, ends, strict=False)
    )
    cached = ended(lease.grip, lease.items[4], JobState.COMPLETED, cached=True)
    await settle(backend.lanes, first, second, third, fourth, cached)
    row = UsageRow("a.example", jobs=5, credits=4, cached=1, failed=1, refused=1)
    assert await used(backend) == [row]
    await fold_all(backend)
    assert await used(backend) == [row], "nothing is seen to change when it is added up"


async def test_it_can_be_added_up_by_day_by_kind_and_by_host(backend: Backend) -> None:
    await backend.lanes.submit([job(B), job(A), job(A), job(A, account=OTHER)], at(0))
    await work_off(backend.lanes, 3)
    await fold_all(backend)
    await work_off(backend.lanes, seconds=24 * 3600)
    assert [(row.key, row.jobs) for row in await used(backend, UsageBy.HOST)] == [("a.example", 2), ("b.example", 1)]
    assert [(row.key, row.jobs) for row in await used(backend, UsageBy.KIND)] == [("test", 3)]
    days = {row.key: row.jobs for account in (ACCOUNT, OTHER) for row in await used(backend, UsageBy.DAY, account)}
    assert days.keys() == {"2030-01-01", "2030-01-02"}
    assert [row.jobs for row in await used(backend, account=OTHER)] == [1]


async def test_only_the_days_that_were_asked_for_are_in_it(backend: Backend) -> None:
    for day in range(4):
        await backend.lanes.submit([job()], at(0))
        await work_off(backend.lanes, seconds=day * 24 * 3600)
        if day == 1:
            await fold_all(backend)
    day = timedelta(days=1)
    rows = await backend.usage.of_account(ACCOUNT, TODAY + day, TODAY + 2 * day, UsageBy.DAY)
    assert [(row.key, row.jobs) for row in rows] == [("2030-01-02", 1), ("2030-01-03", 1)]


async def test_long_answers_come_in_pages(backend: Backend) -> None:
    await backend.lanes.submit([job(lane) for lane in hosts(7)], at(0))
    await work_off(backend.lanes, 4)
    await fold_all(backend)
    await work_off(backend.lanes)
    seen: list[str] = []
    after = ""
    while page := await backend.usage.of_account(ACCOUNT, *FOREVER, UsageBy.HOST, after=after, most=3):
        assert len(page) <= 3
        seen += [row.key for row in page]
        after = seen[-1]
    assert seen == [f"{number}.example" for number in range(7)]


async def test_a_job_is_counted_once_however_often_its_end_is_told(backend: Backend) -> None:
    lease = await hold(backend.lanes, job())
    end = done(lease.grip, lease.items[0])
    for _ in range(3):
        await settle(backend.lanes, end, end)
    assert [row.jobs for row in await used(backend)] == [1]


async def test_what_is_told_under_an_old_fence_is_not_counted(backend: Backend) -> None:
    lease = await hold(backend.lanes, job())
    await settle(backend.lanes, release(lease.grip))
    await lease_one(backend.lanes, seconds=2)
    await settle(backend.lanes, done(lease.grip, lease.items[0]), seconds=2)
    assert await used(backend) == []


async def test_what_has_not_ended_or_was_cancelled_is_not_counted(backend: Backend) -> None:
    lease = await hold(backend.lanes, job(), job(), job())
    waits, moves, goes = lease.items
    await settle(backend.lanes, retry(lease.grip, waits, 30), onward(lease.grip, moves, B))
    await backend.lanes.cancel([goes.job], at(2))
    batch, _ = await fill(backend.batches, backend.lanes, hosts(3))
    await backend.batches.mark(batch, BatchState.CANCELLED, at(2))
    while await backend.batches.tidy(at(3), most=10):
        pass
    assert await used(backend) == []


async def test_a_job_counts_for_the_host_at_which_it_ended(backend: Backend) -> None:
    lease = await hold(backend.lanes, job(A))
    await settle(backend.lanes, onward(lease.grip, lease.items[0], B), release(lease.grip))
    await work_off(backend.lanes)
    assert [row.key for row in await used(backend)] == ["b.example"]


async def test_a_job_that_killed_three_workers_is_counted_as_failed(backend: Backend) -> None:
    asked = job()
    await backend.lanes.submit([asked], at(0))
    for turn in range(3):
        lease = await lease_one(backend.lanes, ANN, 10 * turn)
        await settle(backend.lanes, Trial(lease.grip, asked.id), seconds=10 * turn)
        await backend.lanes.forsake([ANN], at(10 * turn + 1), timedelta())
    found = await backend.jobs.job(asked.id, at(60))
    assert found is not None
    assert found.state is JobState.FAILED
    assert await used(backend) == [UsageRow("a.example", jobs=1, failed=1)]


async def test_jobs_of_several_kinds_in_one_report_are_told_apart(backend: Backend) -> None:
    other = NewJob(job().id, ACCOUNT, Kind("other"), A, b"{}")
    await backend.lanes.submit([job(A), other], at(0))
    await work_off(backend.lanes, most=5, items=5)
    assert [(row.key, row.jobs) for row in await used(backend, UsageBy.KIND)] == [("other", 1), ("test", 1)]


async def test_nothing_is_lost_or_doubled_while_several_add_up_and_others_settle(
    backend: Backend, neighbour: Backend
) -> None:
    await backend.lanes.submit([job(lane) for lane in hosts(60)], at(0))
    leases = (await claim(backend.lanes, most=60)).leases

    async def settle_each() -> None:
        for lease in leases:
            await settle(backend.lanes, ended(lease.grip, lease.items[0], JobState.COMPLETED, 1))

    async def add_up(side: Backend) -> None:
        for _ in range(40):
            await side.usage.fold(most=3)
            (row,) = await side.usage.of_account(ACCOUNT, *FOREVER, UsageBy.KIND) or [UsageRow("")]
            assert row.jobs == row.credits <= 60

    await asyncio.gather(settle_each(), add_up(backend), add_up(neighbour))
    await fold_all(neighbour)
    (row,) = await used(backend, UsageBy.KIND)
    assert (row.jobs, row.credits) == (60, 60)


async def test_an_account_that_used_nothing_has_no_rows(backend: Backend) -> None:
    assert await used(backend) == []
    assert await backend.usage.fold(most=5) == 0
