"""A batch is tidied up while others claim and settle: what is in somebody's hands stays as it was handed out."""

import asyncio
import itertools
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from emissary.backends.cluster.batches import PostgresBatches
from emissary.backends.cluster.claiming import claim
from emissary.backends.cluster.database import Database
from emissary.backends.cluster.flows import FlowBook
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.cluster.lining_up import raw, submit
from emissary.backends.cluster.lookout import Lookout
from emissary.model.batches import BatchState, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId
from emissary.model.jobs import JobState, Kind, NewJob, Priority
from emissary.model.lanes import Claim, LaneKey, Lease, Reason, Release, Report, Settlement

pytestmark = pytest.mark.anyio

NOW = datetime(2030, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ACCOUNT = AccountId("acc_1")
ANN, BOB = WorkerId("wrk_ann"), WorkerId("wrk_bob")
BATCH = BatchId(f"bat_{1:026d}")
A, B, C = LaneKey("host:a"), LaneKey("host:b"), LaneKey("host:c")
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
ASTRAY = "SELECT count(*) FROM items JOIN jobs ON jobs.id = items.job WHERE jobs.rank <> items.rank"

_numbers = itertools.count(1)


def job(lane: LaneKey, batch: BatchId | None = BATCH) -> NewJob:
    number = next(_numbers)
    return NewJob(
        JobId(f"job_{number:026d}"), ACCOUNT, Kind("test"), lane, b"{}", Priority.NORMAL, None, batch, price=0
    )


def asked(worker: WorkerId = ANN, **more: Any) -> Claim:
    return Claim(worker, NOW + MINUTE, 9, 9, **more)


def ended(lease: Lease) -> Report:
    told = (Settlement(lease.grip, item.job, item.rank, NOW, JobState.COMPLETED) for item in lease.items)
    return Report(tuple(told), (Release(lease.grip, NOW, Reason.GAP),))


@pytest.fixture
def lanes(database: Database) -> PostgresLanes:
    return PostgresLanes(database, 0)


@pytest.fixture
async def batches(database: Database) -> PostgresBatches:
    batches = PostgresBatches(database, 0)
    await batches.open(NewBatch(BATCH, ACCOUNT, Kind("test"), None, b"{}", Priority.NORMAL), NOW)
    return batches


async def paused(lanes: PostgresLanes, batches: PostgresBatches, *jobs: NewJob) -> None:
    """These are in the batch, which was paused, tidied up, and is to go on; its lanes are ready for others."""
    for each in jobs:
        await lanes.submit([each], NOW)
    await batches.seal(BATCH)
    await batches.mark(BATCH, BatchState.PAUSED, NOW)
    await batches.tidy(NOW, most=99)
    await lanes.submit([job(each.lane, batch=None) for each in jobs], NOW)
    await batches.mark(BATCH, BatchState.RUNNING, NOW)


async def waiting(work: Coroutine[Any, Any, int], database: Database) -> "asyncio.Task[int]":
    """The work, begun: it waits for a lock."""
    task = asyncio.create_task(work)
    async with asyncio.timeout(10):
        while not (await database.read(WAITING))[0][0]:
            pass
    return task


async def test_what_is_handed_out_while_its_batch_goes_on_is_settled(
    lanes: PostgresLanes, batches: PostgresBatches, elsewhere: Database
) -> None:
    ours = job(A)
    await paused(lanes, batches, ours)
    async with elsewhere.transaction() as slow:
        (lease,) = (await claim(slow, asked(BOB), NOW, FlowBook(), lookout=Lookout())).leases
        tidying = await waiting(batches.tidy(NOW, most=99), elsewhere)
    assert await tidying == 1
    assert await lanes.settle(ended(lease), NOW) >= {ours.id}
    found = await batches.find(BATCH)
    assert found is not None
    assert found.counts.completed == 1


async def test_what_has_moved_on_while_its_batch_goes_on_is_found_where_it_stands(
    lanes: PostgresLanes, batches: PostgresBatches, database: Database, elsewhere: Database
) -> None:
    moving = job(B)
    await paused(lanes, batches, job(A), moving)
    async with elsewhere.transaction() as slow:
        await submit(slow, [job(A, batch=None)], NOW, FlowBook())
        tidying = await waiting(batches.tidy(NOW, most=99), elsewhere)
        (lease,) = (await lanes.claim(asked(), NOW)).leases
        (item,) = (item for item in lease.items if item.job == moving.id)
        onward = Settlement(lease.grip, item.job, item.rank, NOW, JobState.WAITING, onward=C)
        assert await lanes.settle(Report((onward,), (Release(lease.grip, NOW, Reason.GAP),)), NOW) == {moving.id}
    await tidying
    while await batches.tidy(NOW, most=99):
        pass
    assert (await database.read(ASTRAY))[0][0] == 0
    assert await lanes.cancel([moving.id], NOW) == {moving.id}
    assert all(item.job != moving.id for lease in (await lanes.claim(asked(), NOW)).leases for item in lease.items)


async def test_what_got_another_turn_while_it_was_taken_is_settled_all_the_same(
    lanes: PostgresLanes, batches: PostgresBatches, database: Database
) -> None:
    ours = job(A)
    await lanes.submit([ours], NOW)
    (lease,) = (await lanes.claim(asked(), NOW)).leases
    for table, name in (("items", "job"), ("jobs", "id")):
        await database.write(f"UPDATE {table} SET rank = rank + 1 WHERE {name} = $1", raw(ours.id))  # noqa: S608
    assert await lanes.settle(ended(lease), NOW) == {ours.id}


@pytest.mark.parametrize("limit", ["most_held", "most_of_account"])
async def test_two_that_claim_at_once_do_not_take_more_than_the_limit(
    lanes: PostgresLanes, elsewhere: Database, limit: str
) -> None:
    theirs = PostgresLanes(elsewhere, 1)
    for _ in range(5):
        await lanes.submit([job(LaneKey(f"host:{number}"), batch=None) for number in range(40)], NOW)
        claims = [store.claim(asked(worker, **{limit: 5}), NOW) for store, worker in ((lanes, ANN), (theirs, BOB))]
        leases = [lease for claimed in await asyncio.gather(*claims) for lease in claimed.leases]
        assert len(leases) <= 5
        for lease in leases:
            await lanes.settle(ended(lease), NOW)
