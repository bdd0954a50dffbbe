"""Partitions: made ahead, dropped whole, and without losing what has not ended."""

import asyncio
import secrets
from datetime import UTC, datetime, timedelta

import pytest

from emissary.backends.cluster.database import Database
from emissary.backends.cluster.jobs import PostgresJobRecords
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.cluster.upkeep import PostgresRetention
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import AccountId, JobId, WorkerId, ulid
from emissary.model.jobs import JobState, Kind, NewJob, StoredResult
from emissary.model.lanes import Claim, Reason, Release, Report, Settlement

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)
NEW_YEAR = datetime(2030, 1, 1, 12, tzinfo=UTC)
RESULT = StoredResult(b"{}", b"the body")
COUNT = "SELECT count(*) FROM {}"


def new_job(moment: datetime = NEW_YEAR, lane: str = "host:a.example") -> NewJob:
    name = JobId(f"job_{ulid(moment, secrets.token_bytes(10))}")
    return NewJob(name, AccountId("acc_1"), Kind("test"), lane, b"{}")


async def finish(database: Database, now: datetime, result: StoredResult = RESULT) -> None:
    """Claim and end whatever is ready."""
    lanes = PostgresLanes(database, 0)
    for lease in (await lanes.claim(Claim(WorkerId("wrk_1"), now + DAY, 10, 10), now)).leases:
        settlements = [
            Settlement(lease.grip, item.job, item.rank, now, JobState.COMPLETED, result) for item in lease.items
        ]
        await lanes.settle(Report(tuple(settlements), (Release(lease.grip, now, Reason.GAP),)), now)


async def names(database: Database) -> set[str]:
    rows = await database.read("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {row[0] for row in rows if row[0].partition("_")[0] in ("jobs", "results", "usage")}


async def count(database: Database, table: str) -> int:
    ((found,),) = await database.read(COUNT.format(table))
    return int(found)


async def test_there_is_room_for_today_and_the_week_after(database: Database) -> None:
    await PostgresRetention(database).make_room(datetime(2030, 1, 28, 23, 59, tzinfo=UTC))
    days = ("20300128", "20300129", "20300130", "20300131", "20300201", "20300202", "20300203", "20300204")
    made = {f"{table}_{day}" for table in ("jobs", "results") for day in days}
    assert made | {"usage_20300101", "usage_20300201"} <= await names(database)


async def test_what_comes_in_is_kept_with_its_day(database: Database) -> None:
    await PostgresRetention(database).make_room(NEW_YEAR)
    late = datetime(2030, 1, 1, 23, 59, 59, 999_000, tzinfo=UTC)
    jobs = [new_job(NEW_YEAR), new_job(late), new_job(late + timedelta(milliseconds=1))]
    await PostgresLanes(database, 0).submit(jobs, NEW_YEAR)
    await finish(database, NEW_YEAR)
    tables = ("jobs_20300101", "jobs_20300102", "results_20300101", "results_20300102", "jobs_rest", "results_rest")
    assert [await count(database, table) for table in tables] == [2, 1, 2, 1, 0, 0]


async def test_an_old_day_is_dropped_whole_and_a_younger_one_stays(database: Database) -> None:
    retention = PostgresRetention(database)
    await retention.make_room(NEW_YEAR)
    old, young = new_job(NEW_YEAR), new_job(NEW_YEAR + DAY)
    await PostgresLanes(database, 0).submit([old, young], NEW_YEAR)
    await finish(database, NEW_YEAR)
    midnight = datetime(2030, 1, 2, tzinfo=UTC)
    assert await retention.drop_before(midnight, most=9) == 2
    assert await retention.drop_before(midnight, most=9) == 0
    assert not {"jobs_20300101", "results_20300101"} & await names(database)
    records = PostgresJobRecords(database)
    assert await records.job(old.id, NEW_YEAR) is None
    found = await records.job(young.id, NEW_YEAR)
    assert found is not None
    assert found.result == RESULT


async def test_a_job_of_an_old_day_that_has_not_ended_goes_on(database: Database) -> None:
    retention, lanes = PostgresRetention(database), PostgresLanes(database, 0)
    await retention.make_room(NEW_YEAR)
    ended, waiting = new_job(), new_job(lane="host:b.example")
    await lanes.submit([ended], NEW_YEAR)
    await finish(database, NEW_YEAR)
    await lanes.submit([waiting], NEW_YEAR)
    later = NEW_YEAR + 40 * DAY
    while await retention.drop_before(later, most=9):
        pass
    assert "jobs_20300101" not in await names(database)
    await finish(database, later)
    found = await PostgresJobRecords(database).job(waiting.id, later)
    assert found is not None
    assert (found.state, found.result) == (JobState.COMPLETED, RESULT)
    while await retention.drop_before(later, most=9):
        pass
    assert await PostgresJobRecords(database).job(waiting.id, later) is None


async def test_a_day_stays_as_long_as_there_are_objects_of_it(database: Database) -> None:
    retention = PostgresRetention(database)
    await retention.make_room(NEW_YEAR)
    large = new_job()
    await PostgresLanes(database, 0).submit([large], NEW_YEAR)
    await finish(database, NEW_YEAR, StoredResult(b"{}", None, "results/large"))
    await retention.drop_before(NEW_YEAR + 40 * DAY, most=9)
    assert "results_20300101" in await names(database)
    await retention.forget_bodies([large.id])
    await retention.drop_before(NEW_YEAR + 40 * DAY, most=9)
    assert "results_20300101" not in await names(database)


async def test_a_day_that_has_begun_without_a_partition_stays_in_the_rest(database: Database) -> None:
    retention = PostgresRetention(database)
    await PostgresLanes(database, 0).submit([new_job()], NEW_YEAR)
    await retention.make_room(NEW_YEAR)
    there = await names(database)
    assert "jobs_20300101" not in there
    assert {"results_20300101", "jobs_20300102"} <= there
    await finish(database, NEW_YEAR)
    while await retention.drop_before(NEW_YEAR + 40 * DAY, most=9):
        pass
    assert [await count(database, table) for table in ("jobs", "results")] == [0, 0]


async def test_two_who_make_room_and_drop_at_once_do_not_hinder_each_other(
    database: Database, elsewhere: Database
) -> None:
    both = [PostgresRetention(database), PostgresRetention(elsewhere)]
    await asyncio.gather(*(each.make_room(NEW_YEAR) for each in both))
    await PostgresLanes(database, 0).submit([new_job()], NEW_YEAR)
    await finish(database, NEW_YEAR)
    for _ in range(3):
        await asyncio.gather(*(each.drop_before(NEW_YEAR + 40 * DAY, most=9) for each in both))
    assert not [name for name in await names(database) if name.startswith(("jobs_2", "results_2"))]


async def test_whoever_reads_for_long_is_not_pushed_aside_and_nothing_is_lost(
    database: Database, elsewhere: Database
) -> None:
    retention = PostgresRetention(database)
    await retention.make_room(NEW_YEAR)
    await PostgresLanes(database, 0).submit([new_job()], NEW_YEAR)
    await finish(database, NEW_YEAR)
    async with elsewhere.transaction() as reader:
        assert await reader.fetchval("SELECT count(*) FROM results") == 1
        with pytest.raises(StoreUnavailable):
            await retention.drop_before(NEW_YEAR + DAY, most=9)
        assert await reader.fetchval("SELECT count(*) FROM results") == 1
    assert await retention.drop_before(NEW_YEAR + DAY, most=9) == 2


async def test_old_months_of_usage_go_later_than_jobs(database: Database) -> None:
    retention = PostgresRetention(database)
    await retention.make_room(NEW_YEAR)
    await database.write("INSERT INTO usage VALUES (1, '2030-01-05', 'test', 'a.example', 1, 1, 0, 0, 0)")
    await retention.drop_before(datetime(2030, 4, 1, tzinfo=UTC), most=9)
    assert await count(database, "usage") == 1
    await retention.drop_before(datetime(2030, 4, 3, tzinfo=UTC), most=9)
    assert await count(database, "usage") == 0
