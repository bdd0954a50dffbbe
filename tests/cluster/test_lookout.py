"""What a process remembers of the line hides nothing from it, whoever changes the line, and when."""

import asyncio
import itertools
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from emissary.backends.cluster.claiming import claim
from emissary.backends.cluster.database import Database
from emissary.backends.cluster.flows import FlowBook
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.cluster.line_statements import PICK_READY
from emissary.backends.cluster.lining_up import submit
from emissary.backends.cluster.lookout import Lookout, Sight
from emissary.model.ids import AccountId, JobId, WorkerId
from emissary.model.jobs import JobState, Kind, NewJob, Priority
from emissary.model.lanes import Claim, Lease, Reason, Release, Report, Settlement

pytestmark = pytest.mark.anyio

NOW = datetime(2030, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ANN, BOB = WorkerId("wrk_ann"), WorkerId("wrk_bob")
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

_numbers = itertools.count(1)


def job(lane: str, priority: Priority = Priority.NORMAL) -> NewJob:
    name = JobId(f"job_{next(_numbers):026d}")
    return NewJob(name, AccountId("acc_1"), Kind("test"), f"host:{lane}", b"{}", priority)


def asked(worker: WorkerId, lanes: int = 1, now: datetime = NOW) -> Claim:
    return Claim(worker, now + MINUTE, lanes, 1)


def done(lease: Lease, rest_until: datetime = NOW) -> Report:
    ended = Settlement(lease.grip, lease.items[0].job, lease.items[0].rank, NOW, JobState.COMPLETED)
    return Report((ended,), (Release(lease.grip, rest_until, Reason.GAP),))


async def leased(lanes: PostgresLanes, worker: WorkerId, most: int = 1, now: datetime = NOW) -> list[Lease]:
    return list((await lanes.claim(asked(worker, most, now), now)).leases)


def names(leases: list[Lease]) -> list[str]:
    return [lease.grip.lane.removeprefix("host:") for lease in leases]


@pytest.fixture
async def ours(database: Database) -> PostgresLanes:
    """A process that has seen the line, and taken its front."""
    lanes = PostgresLanes(database, 0)
    await lanes.submit([job(f"old{number}") for number in range(4)], NOW)
    assert names(await leased(lanes, ANN)) == ["old0"]
    assert names(await leased(lanes, ANN)) == ["old1"]
    return lanes


@pytest.fixture
async def theirs(elsewhere: Database) -> PostgresLanes:
    return PostgresLanes(elsewhere, 1)


async def test_what_another_process_puts_before_the_front_is_claimed_next(
    ours: PostgresLanes, theirs: PostgresLanes
) -> None:
    await theirs.submit([job("urgent", Priority.INTERACTIVE)], NOW)
    await theirs.submit([job("old2", Priority.HIGH)], NOW)
    assert names(await leased(ours, ANN, 9)) == ["old2", "urgent", "old3"]


async def test_what_is_committed_long_after_it_was_written_is_claimed(ours: PostgresLanes, elsewhere: Database) -> None:
    async with elsewhere.transaction() as slow:
        await submit(slow, [job("late", Priority.HIGH)], NOW, FlowBook())
        await ours.submit([job("new")], NOW)
        assert names(await leased(ours, ANN)) == ["old2"], "nobody waits for those who have not committed"
    assert names(await leased(ours, ANN, 9)) == ["late", "old3", "new"]


async def test_what_another_process_had_in_hand_and_did_not_take_is_claimed(
    ours: PostgresLanes, elsewhere: Database
) -> None:
    with suppress(ZeroDivisionError):
        async with elsewhere.transaction() as failing:
            await claim(failing, asked(BOB), NOW, FlowBook(), lookout=Lookout())
            assert names(await leased(ours, ANN)) == ["old3"], "old2 is locked"
            await ours.submit([job("new")], NOW)
            assert names(await leased(ours, ANN)) == ["new"]
            raise ZeroDivisionError
    assert names(await leased(ours, ANN, 9)) == ["old2"]


async def test_a_lane_that_another_process_gives_back_wakes_in_time(ours: PostgresLanes, theirs: PostgresLanes) -> None:
    await theirs.submit([job("old2")], NOW)
    (lease,) = await leased(theirs, BOB)
    assert names([lease]) == ["old2"]
    (rest,) = await leased(ours, ANN, 9)
    assert names([rest]) == ["old3"]
    soon = NOW + timedelta(seconds=1)
    await theirs.settle(done(lease, soon), NOW)
    claimed = await ours.claim(asked(ANN, 9), NOW)
    assert (claimed.leases, claimed.next_ready_at) == ((), soon)
    assert names(await leased(ours, ANN, 9, soon)) == ["old2"]


async def test_a_server_that_has_gone_back_in_time_is_looked_at_anew(ours: PostgresLanes, database: Database) -> None:
    lookout = Lookout(Sight(seen=1 << 60))
    async with database.transaction() as connection:
        sight = await lookout.look(connection)
        assert sight.seen < 1 << 60
        assert len(sight.fronts) == 1


@pytest.mark.parametrize("rests", [1, 0])
async def test_a_lane_whose_row_has_moved_is_settled_all_the_same(
    ours: PostgresLanes, elsewhere: Database, rests: int
) -> None:
    await ours.submit([job("old2")], NOW)
    (lease,) = await leased(ours, ANN)
    await elsewhere.write("UPDATE lanes SET taken_at = taken_at")
    assert await ours.settle(done(lease, NOW + rests * MINUTE), NOW) == {lease.items[0].job}
    ((state, holder),) = await elsewhere.read("SELECT state, holder FROM lanes WHERE key = 'host:old2'")
    assert (state, holder) == (1 + rests, None)


async def test_a_lane_whose_row_is_just_moving_is_settled_when_that_is_done(
    ours: PostgresLanes, elsewhere: Database
) -> None:
    await ours.submit([job("old2")], NOW)
    (lease,) = await leased(ours, ANN)
    async with elsewhere.transaction() as moving:
        await moving.execute("UPDATE lanes SET strikes = 7")
        settling = asyncio.create_task(ours.settle(done(lease), NOW))
        async with asyncio.timeout(10):
            while not (await elsewhere.read(WAITING))[0][0]:
                pass
    assert await settling == {lease.items[0].job}
    ((state, holder),) = await elsewhere.read("SELECT state, holder FROM lanes WHERE key = 'host:old2'")
    assert (state, holder) == (1, None)


async def test_what_is_told_under_an_old_fence_is_refused_wherever_the_lane_was(
    ours: PostgresLanes, theirs: PostgresLanes
) -> None:
    (lease,) = await leased(ours, ANN)
    later = NOW + 2 * MINUTE
    again = {each.grip.lane: each for each in await leased(theirs, BOB, 9, later)}
    assert await ours.settle(done(lease), later) == frozenset()
    stolen = replace(lease, grip=again[lease.grip.lane].grip)
    assert await theirs.settle(done(stolen), later) == {lease.items[0].job}


async def test_what_has_left_the_line_is_not_read_again_while_somebody_reads_for_long(
    database: Database, database_url: str
) -> None:
    lanes = PostgresLanes(database, 0)
    await lanes.submit([job("a"), job("b")], NOW)
    reader = await asyncpg.connect(database_url)
    async with reader.transaction(isolation="repeatable_read", readonly=True):
        await reader.fetchval("SELECT count(*) FROM lanes")
        for _ in range(300):
            (lease,) = await leased(lanes, ANN)
            await lanes.settle(done(lease), NOW)
            await lanes.submit([job(names([lease])[0])], NOW)
        async with database.transaction() as connection:
            # There are two lanes: so few are not worth an index, but those who have many would use it.
            await connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
            sight = await lanes._lookout.look(connection)
            everything = dict.fromkeys(sight.fronts, 0)
            near = await _pages_read(connection, sight)
            far = await _pages_read(connection, replace(sight, fronts=everything))
    await reader.close()
    assert near < far / 2, "from the very beginning, one walks through all that has left the line"


async def _pages_read(connection: "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]", sight: Sight) -> int:
    """How often a page was looked at to find the first ready lane."""
    tenants, bands, ranks = (f"'{{{', '.join(map(str, column))}}}'" for column in sight.columns())
    await connection.execute(f"PREPARE picking AS {PICK_READY}")
    rows = await connection.fetch(
        f"EXPLAIN (ANALYZE, BUFFERS, FORMAT TEXT) EXECUTE picking ({tenants}, {bands}, {ranks}, 1, NULL)"
    )
    await connection.execute("DEALLOCATE picking")
    (hits, *_) = [line[0] for line in rows if "Buffers: shared" in line[0]]
    return sum(int(part.partition("=")[2]) for part in hits.split() if part.startswith(("hit=", "read=")))
