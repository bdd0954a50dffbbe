"""Whoever looks for what stands in a lane begins at its bound: nothing is lost below it, and the dead are not read."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from emissary.backends.cluster.batches import PostgresBatches
from emissary.backends.cluster.claiming import claim
from emissary.backends.cluster.database import Connection, Database
from emissary.backends.cluster.flows import FlowBook
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.cluster.lining_up import submit
from emissary.backends.cluster.settling import settle
from emissary.backends.cluster.whereabouts import Whereabouts
from emissary.model.batches import BatchState, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId
from emissary.model.jobs import JobState, Kind, NewJob, Priority
from emissary.model.lanes import Claim, Holding, LaneKey, Lease, Reason, Release, Report, Settlement

pytestmark = pytest.mark.anyio

NOW = datetime(2030, 1, 1, tzinfo=UTC)
MINUTE, GAP = timedelta(minutes=1), timedelta(seconds=1)
ACCOUNT = AccountId("acc_1")
ANN, BOB = WorkerId("wrk_ann"), WorkerId("wrk_bob")
BATCH = BatchId(f"bat_{1:026d}")
A, B = LaneKey("host:a"), LaneKey("host:b")
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
BOUND = "SELECT low_rank FROM lanes WHERE key = $1"
EXPLAIN = """
LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;
SET auto_explain.log_buffers = on; SET auto_explain.log_format = json; SET client_min_messages = log
"""

_numbers = itertools.count(1)


def job(lane: LaneKey = A, priority: Priority = Priority.NORMAL, batch: BatchId | None = None) -> NewJob:
    return NewJob(
        JobId(f"job_{next(_numbers):026d}"), ACCOUNT, Kind("test"), lane, b"{}", priority, None, batch, price=0
    )


def asked(worker: WorkerId = ANN, *, now: datetime = NOW, lanes: int = 9, items: int = 1) -> Claim:
    return Claim(worker, now + MINUTE, lanes, items)


async def leased(lanes: PostgresLanes, *, now: datetime = NOW, items: int = 1) -> Lease:
    """The one lane that is ready."""
    (lease,) = (await lanes.claim(asked(now=now, items=items), now)).leases
    return lease


def jobs_of(lease: Lease) -> list[JobId]:
    return [item.job for item in lease.items]


def ended(lease: Lease, state: JobState = JobState.COMPLETED) -> tuple[Settlement, ...]:
    return tuple(Settlement(lease.grip, item.job, item.rank, NOW, state) for item in lease.items)


def given_back(lease: Lease, *told: Settlement) -> Report:
    return Report(told, (Release(lease.grip, NOW, Reason.GAP),))


def done(lease: Lease) -> Report:
    return given_back(lease, *ended(lease))


@pytest.fixture
async def lanes(database: Database) -> PostgresLanes:
    """Much has gone through lane A, and one job stands there."""
    lanes = PostgresLanes(database, 0)
    await lanes.submit([job() for _ in range(20)], NOW)
    await lanes.settle(done(await leased(lanes, items=19)), NOW)
    return lanes


@pytest.fixture
async def theirs(elsewhere: Database) -> PostgresLanes:
    return PostgresLanes(elsewhere, 1)


async def bound(database: Database, lane: LaneKey = A) -> int:
    ((found,),) = await database.read(BOUND, lane)
    return int(found)


async def test_the_bound_of_a_lane_is_what_stands_there_first(lanes: PostgresLanes, database: Database) -> None:
    lease = await leased(lanes)
    assert await bound(database) == lease.items[0].rank
    await lanes.settle(done(lease), NOW)
    assert await bound(database) == lease.items[0].rank + 1, "of an empty lane, it is what comes next"


async def test_what_is_put_before_all_else_is_claimed_first(lanes: PostgresLanes) -> None:
    urgent = job(priority=Priority.HIGH)
    await lanes.submit([job(), urgent], NOW)
    assert jobs_of(await leased(lanes)) == [urgent.id]


async def test_what_is_put_into_an_empty_lane_below_its_bound_is_claimed(lanes: PostgresLanes) -> None:
    await lanes.settle(done(await leased(lanes)), NOW)
    urgent = job(priority=Priority.HIGH)
    await lanes.submit([urgent], NOW)
    assert jobs_of(await leased(lanes)) == [urgent.id]


async def test_what_comes_while_the_lane_is_held_is_claimed_first_afterwards(
    lanes: PostgresLanes, theirs: PostgresLanes
) -> None:
    lease, urgent = await leased(lanes), job(priority=Priority.HIGH)
    await theirs.submit([urgent], NOW)
    await lanes.settle(given_back(lease), NOW)
    assert jobs_of(await leased(lanes)) == [urgent.id]


async def test_what_is_to_be_tried_again_is_found_although_others_went_before_it(lanes: PostgresLanes) -> None:
    first = await leased(lanes)
    (item,) = first.items
    later = Settlement(first.grip, item.job, item.rank, NOW, JobState.DELAYED, retry_at=NOW + MINUTE)
    await lanes.submit([job(), job()], NOW)
    await lanes.settle(given_back(first, later), NOW)
    for _ in range(2):
        between = await leased(lanes)
        assert jobs_of(between) != [item.job]
        await lanes.settle(done(between), NOW)
    assert (await lanes.claim(asked(), NOW)).next_ready_at == NOW + MINUTE
    assert jobs_of(await leased(lanes, now=NOW + MINUTE)) == [item.job]


async def test_what_was_in_the_hands_of_a_dead_worker_is_found(lanes: PostgresLanes) -> None:
    lease = await leased(lanes)
    assert await lanes.forsake([ANN], NOW, GAP) == 1
    assert jobs_of(await leased(lanes, now=NOW + GAP)) == jobs_of(lease)


async def test_what_a_worker_does_not_know_that_it_has_is_found(lanes: PostgresLanes) -> None:
    lease = await leased(lanes)
    await lanes.claim(Claim(ANN, NOW + MINUTE, 1, 1, holding=Holding(frozenset(), GAP)), NOW)
    assert jobs_of(await leased(lanes, now=NOW + GAP)) == jobs_of(lease)


@pytest.mark.parametrize("is_held", [False, True])
async def test_a_job_that_moves_on_into_a_lane_is_found_there(
    lanes: PostgresLanes, theirs: PostgresLanes, *, is_held: bool
) -> None:
    redirected = job(B, Priority.HIGH)
    await lanes.submit([redirected], NOW)
    (from_b,) = (await lanes.claim(asked(lanes=1), NOW)).leases
    in_a = (await theirs.claim(asked(BOB), NOW)).leases if is_held else ()
    (item,) = from_b.items
    onward = Settlement(from_b.grip, item.job, item.rank, NOW, JobState.WAITING, onward=A)
    assert await lanes.settle(given_back(from_b, onward), NOW) == {redirected.id}
    for lease in in_a:
        await theirs.settle(given_back(lease), NOW)
    assert jobs_of(await leased(lanes)) == [redirected.id]


async def test_what_follows_from_a_job_into_its_own_lane_is_found(lanes: PostgresLanes) -> None:
    lease, urgent = await leased(lanes), job(priority=Priority.HIGH)
    (item,) = lease.items
    end = Settlement(lease.grip, item.job, item.rank, NOW, JobState.COMPLETED, follow_ups=(urgent,))
    await lanes.settle(given_back(lease, end), NOW)
    assert jobs_of(await leased(lanes)) == [urgent.id]


@pytest.fixture
async def batches(database: Database) -> PostgresBatches:
    batches = PostgresBatches(database, 0)
    await batches.open(NewBatch(BATCH, ACCOUNT, Kind("test"), None, b"{}", Priority.HIGH), NOW)
    return batches


async def test_a_batch_that_was_paused_and_goes_on_is_claimed(lanes: PostgresLanes, batches: PostgresBatches) -> None:
    paused = job(priority=Priority.HIGH, batch=BATCH)
    await lanes.submit([paused], NOW)
    await batches.mark(BATCH, BatchState.PAUSED, NOW)
    await batches.tidy(NOW, most=9)
    await lanes.settle(done(await leased(lanes)), NOW)
    assert (await lanes.claim(asked(), NOW)).leases == ()
    await batches.mark(BATCH, BatchState.RUNNING, NOW)
    await batches.tidy(NOW, most=9)
    assert jobs_of(await leased(lanes)) == [paused.id]


async def test_a_paused_batch_that_was_not_parked_yet_is_not_lost(
    lanes: PostgresLanes, batches: PostgresBatches
) -> None:
    lease, paused = await leased(lanes), job(priority=Priority.HIGH, batch=BATCH)
    await lanes.submit([paused, job()], NOW)
    await batches.mark(BATCH, BatchState.PAUSED, NOW)
    await lanes.settle(done(lease), NOW)
    await lanes.settle(done(await leased(lanes)), NOW)
    await batches.mark(BATCH, BatchState.RUNNING, NOW)
    await batches.tidy(NOW, most=9)
    assert jobs_of(await leased(lanes)) == [paused.id]


@pytest.mark.parametrize("is_held", [False, True])
async def test_what_is_done_again_is_claimed_first(
    lanes: PostgresLanes, batches: PostgresBatches, *, is_held: bool
) -> None:
    failing = job(priority=Priority.HIGH, batch=BATCH)
    await lanes.submit([failing], NOW)
    await batches.seal(BATCH)
    first = await leased(lanes)
    await lanes.settle(given_back(first, *ended(first, JobState.FAILED)), NOW)
    held = [await leased(lanes)] if is_held else []
    assert await batches.again(BATCH, [JobState.FAILED], NOW, most=9) == 1
    for lease in held:
        await lanes.settle(given_back(lease), NOW)
    assert jobs_of(await leased(lanes)) == [failing.id]


# Two at once


async def test_what_is_submitted_while_the_lane_is_given_back_is_claimed(
    lanes: PostgresLanes, elsewhere: Database
) -> None:
    lease, urgent = await leased(lanes), job(priority=Priority.HIGH)
    async with elsewhere.transaction() as slow:
        told = await settle(slow, done(lease), NOW, shard=1, book=FlowBook(), whereabouts=Whereabouts())
        assert told.jobs == set(jobs_of(lease))
        submitting = await _waiting(lanes.submit([urgent], NOW), elsewhere)
    assert await submitting == {urgent.id}
    assert jobs_of(await leased(lanes)) == [urgent.id]


async def test_a_lane_that_is_given_back_while_something_is_submitted_keeps_it(
    lanes: PostgresLanes, elsewhere: Database
) -> None:
    lease, urgent = await leased(lanes), job(priority=Priority.HIGH)
    async with elsewhere.transaction() as slow:
        await submit(slow, [urgent], NOW, FlowBook())
        settling = await _waiting(lanes.settle(done(lease), NOW), elsewhere)
    assert await settling == set(jobs_of(lease))
    assert jobs_of(await leased(lanes)) == [urgent.id]


async def _waiting(work: Awaitable[frozenset[JobId]], database: Database) -> "asyncio.Task[frozenset[JobId]]":
    """The work, begun: it waits for a lock."""
    task = asyncio.ensure_future(work)
    async with asyncio.timeout(10):
        while not (await database.read(WAITING))[0][0]:
            pass
    assert isinstance(task, asyncio.Task)
    return task


# What has left a lane


async def test_settling_reads_none_of_what_has_left_the_lanes_while_somebody_reads_for_long(
    database: Database, database_url: str
) -> None:
    lanes, keys = PostgresLanes(database, 0), [LaneKey(f"host:{number}") for number in range(10)]
    reader = await asyncpg.connect(database_url)
    async with reader.transaction(isolation="repeatable_read", readonly=True):
        await reader.fetchval("SELECT count(*) FROM items")
        await _work_off(lanes, keys, 300)
        few = await _pages_of_a_turn(database, lanes)
        for _ in range(4):
            await _work_off(lanes, keys, 300)
        for _ in range(300):  # each is a new version of the flow's row
            await lanes.submit([job(keys[0])], NOW)
        await _work_off(lanes, keys, 1)
        many = await _pages_of_a_turn(database, lanes)
    await reader.close()
    assert many < 1.5 * few, "1,200 jobs have gone through each of the lanes"


async def _work_off(lanes: PostgresLanes, keys: list[LaneKey], number: int) -> None:
    """So many jobs go through each of the lanes, and one stays there."""
    await lanes.submit([job(key) for _ in range(number + 1) for key in keys], NOW)
    claimed = await lanes.claim(asked(lanes=len(keys), items=number), NOW)
    assert len(claimed.leases) == len(keys)
    told = tuple(end for lease in claimed.leases for end in ended(lease))
    await lanes.settle(Report(told, tuple(Release(lease.grip, NOW, Reason.GAP) for lease in claimed.leases)), NOW)


async def _pages_of_a_turn(database: Database, lanes: PostgresLanes) -> int:
    """How often a page is looked at to claim ten lanes with an item of each, and to settle these."""
    async with database.transaction() as connection, _counted(connection) as pages:
        claimed = await claim(connection, asked(lanes=10), NOW, FlowBook(), lookout=lanes._lookout)
        assert len(claimed.leases) == 10
        told = tuple(end for lease in claimed.leases for end in ended(lease))
        report = Report(told, tuple(Release(lease.grip, NOW, Reason.GAP) for lease in claimed.leases))
        await settle(connection, report, NOW, shard=0, book=FlowBook(), whereabouts=lanes._lookout.whereabouts)
    return sum(pages)


@asynccontextmanager
async def _counted(connection: Connection) -> AsyncIterator[list[int]]:
    """The pages that each statement of the connection looks at."""
    pages: list[int] = []

    def note(_: object, message: object) -> None:
        plan = json.loads(str(message).partition("plan:")[2])["Plan"]
        pages.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])

    await connection.execute(EXPLAIN)
    connection.add_log_listener(note)
    yield pages
    await connection.execute("SET client_min_messages = notice")
    connection.remove_log_listener(note)
