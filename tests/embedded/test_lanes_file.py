"""The lanes in their file: what it costs to look past what is paused, and what is written where."""

import sqlite3
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.model.batches import BatchState, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId, ulid
from emissary.model.jobs import Kind, NewJob, Priority
from emissary.model.lanes import Claim, Lease

pytestmark = pytest.mark.anyio

_NOW = datetime(2030, 1, 1, tzinfo=UTC)
_ONE, _TWO = AccountId("acc_1"), AccountId("acc_2")


def job(number: int, *, batch: BatchId | None = None, account: AccountId = _ONE, lane: str = "host:a") -> NewJob:
    name = JobId(f"job_{ulid(_NOW, number.to_bytes(10, 'big'))}")
    return NewJob(name, account, Kind("test"), lane, b"{}", Priority.NORMAL, batch=batch)


async def open_batch(batches: SqliteBatches, name: str = "bat_1") -> BatchId:
    batch = BatchId(name)
    await batches.open(NewBatch(batch, _ONE, Kind("test"), None, b"{}"), _NOW)
    return batch


async def claim(lanes: SqliteLanes, seconds: float = 0) -> tuple[Lease, ...]:
    now = _NOW + timedelta(seconds=seconds)
    return (await lanes.claim(Claim(WorkerId("wrk_1"), now + timedelta(minutes=5), 5, 5), now)).leases


def states(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT key, state FROM lanes"))


@pytest.mark.parametrize("came_in", ["before the pause", "during the pause"])
@pytest.mark.parametrize("delay", [0, 5])
async def test_thousands_of_a_paused_batch_do_not_hide_what_stands_behind_them(
    came_in: str, delay: int, database: Database
) -> None:
    lanes, batches = SqliteLanes(database), SqliteBatches(database)
    batch = await open_batch(batches)
    thousands = [job(number, batch=batch) for number in range(1, 2_501)]
    other = msgspec.structs.replace(job(9_000, account=_TWO), not_before=_NOW + timedelta(seconds=delay))
    if came_in == "before the pause":
        await lanes.submit([*thousands, other], _NOW)
    await batches.mark(batch, BatchState.PAUSED, _NOW)
    await batches.tidy(_NOW, most=10_000)
    if came_in == "during the pause":
        await lanes.submit([*thousands, other], _NOW)
    (lease,) = await claim(lanes, delay)
    assert [item.job for item in lease.items] == [other.id]


async def test_a_lane_in_which_only_paused_work_stands_is_not_empty(database: Database) -> None:
    lanes, batches = SqliteLanes(database), SqliteBatches(database)
    batch = await open_batch(batches)
    later = NewJob(
        JobId("job_later"), _ONE, Kind("test"), "host:b", b"{}", not_before=_NOW + timedelta(days=1), batch=batch
    )
    await lanes.submit([job(1, batch=batch), later], _NOW)
    await batches.mark(batch, BatchState.PAUSED, _NOW)
    await batches.tidy(_NOW, most=100)
    assert "empty" not in (await database.read(states)).values()
    assert await claim(lanes) == ()
    await batches.mark(batch, BatchState.CANCELLED, _NOW)
    await batches.tidy(_NOW, most=100)
    assert await database.read(states) == {"host:a": "empty", "host:b": "empty"}


async def test_cancelling_writes_nothing_to_the_jobs_of_a_batch(database: Database) -> None:
    lanes, batches = SqliteLanes(database), SqliteBatches(database)
    small, large = await open_batch(batches), await open_batch(batches, "bat_2")
    await lanes.submit([job(1, batch=small)], _NOW)
    await lanes.submit([job(number, batch=large) for number in range(2, 1_002)], _NOW)

    def changes(connection: sqlite3.Connection) -> int:
        return connection.total_changes

    async def written_for(batch: BatchId) -> int:
        before = await database.write(changes)
        assert await batches.mark(batch, BatchState.CANCELLED, _NOW)
        return await database.write(changes) - before

    assert await written_for(small) == await written_for(large), "a thousand jobs, or a million: it is the same"


async def test_as_much_is_tidied_up_as_was_asked_for(database: Database) -> None:
    lanes, batches = SqliteLanes(database), SqliteBatches(database)
    first, second = await open_batch(batches), await open_batch(batches, "bat_2")
    await lanes.submit([job(number, batch=first) for number in range(1, 2_501)], _NOW)
    await lanes.submit([job(number, batch=second) for number in range(3_001, 3_011)], _NOW)
    for batch in (first, second):
        await batches.mark(batch, BatchState.CANCELLED, _NOW)
    assert [await batches.tidy(_NOW, most=1_200) for _ in range(4)] == [1_200, 1_200, 110, 0]
    assert await database.read(lambda connection: connection.execute("SELECT count(*) FROM items").fetchone()) == (0,)


async def test_a_mark_of_another_length_is_refused(database: Database) -> None:
    lanes, batches = SqliteLanes(database), SqliteBatches(database)
    batch = await open_batch(batches)
    odd = NewJob(JobId("job_1"), _ONE, Kind("test"), "host:a", b"{}", batch=batch, mark=b"short")
    with pytest.raises(ValueError, match="a mark takes 16 bytes, and that of job_1 has 5"):
        await lanes.submit([odd], _NOW)


async def test_a_batch_that_has_just_come_begins_with_one_lane(database: Database) -> None:
    lanes, batches = SqliteLanes(database), SqliteBatches(database)
    first, later = await open_batch(batches), await open_batch(batches, "bat_2")
    await lanes.submit([job(number, batch=first, lane=f"host:{number}") for number in range(20)], _NOW)
    assert len(await claim(lanes)) == 5
    await lanes.submit([job(number, batch=later, lane=f"host:{number}") for number in range(20, 30)], _NOW)
    on_top = Claim(WorkerId("wrk_1"), _NOW + timedelta(minutes=5), 0, 5, urgent=10)
    assert len((await lanes.claim(on_top, _NOW)).leases) == 1
    assert (await lanes.claim(on_top, _NOW)).leases == (), "it has begun, and takes its turns like all others"
