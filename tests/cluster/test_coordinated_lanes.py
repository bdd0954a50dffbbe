"""What the coordinator does to lanes on PostgreSQL, while others use them."""

import asyncio
import itertools
from datetime import UTC, datetime, timedelta

import pytest

from emissary.backends.cluster.database import Database
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.model.ids import AccountId, JobId, WorkerId
from emissary.model.jobs import Kind, NewJob
from emissary.model.lanes import Claim

pytestmark = pytest.mark.anyio

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DAY, GAP = timedelta(days=1), timedelta(seconds=1)
ANN = WorkerId("wrk_ann")
BEAT = """
INSERT INTO workers (id, beat_at) VALUES ('wrk_ann', now() - $1::interval)
ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at
"""
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

_numbers = itertools.count(1)


def new_job() -> NewJob:
    name = JobId(f"job_{next(_numbers):026d}")
    return NewJob(name, AccountId("acc_1"), Kind("test"), "host:a.example", b"{}")


async def test_a_worker_that_is_heard_of_again_keeps_its_lanes(database: Database) -> None:
    lanes = PostgresLanes(database, 0)
    await lanes.submit([new_job()], NOW)
    await lanes.claim(Claim(ANN, NOW + DAY, 9, 9), NOW)
    await database.write(BEAT, timedelta(seconds=5))
    assert await lanes.forsake([ANN], NOW, GAP) == 0, "whoever says it is dead has looked too long ago"
    await database.write(BEAT, timedelta(seconds=31))
    assert await lanes.forsake([ANN], NOW, GAP) == 1


async def test_a_job_finds_its_lane_although_that_is_dropped_in_this_moment(
    database: Database, elsewhere: Database
) -> None:
    lanes, asked = PostgresLanes(database, 0), new_job()
    first = new_job()
    await lanes.submit([first], NOW)
    await lanes.cancel([first.id], NOW)
    async with elsewhere.transaction() as dropping:
        assert await dropping.execute("DELETE FROM lanes") == "DELETE 1"
        submitting = asyncio.create_task(lanes.submit([asked], NOW))
        async with asyncio.timeout(10):
            while not (await elsewhere.read(WAITING))[0][0]:
                pass
    assert await submitting == {asked.id}
    (lease,) = (await lanes.claim(Claim(ANN, NOW + DAY, 9, 9), NOW)).leases
    assert [item.job for item in lease.items] == [asked.id]
