"""The promises of `ports.batches` around the filling of batches: outcomes, misses, and intakes that are lost."""

from dataclasses import replace

import msgspec
import pytest
from making import (
    ACCOUNT,
    OTHER,
    A,
    B,
    at,
    claim,
    ended,
    fill,
    hold,
    hosts,
    job,
    lease_one,
    open_batch,
    release,
    settle,
    show,
    tidy_up,
    work_off,
)
from openers import Backend

from emissary.model.batches import BatchState, Counts
from emissary.model.ids import AccountId, BatchId
from emissary.model.jobs import JobState, StoredResult
from emissary.model.lanes import Grip, Item, Settlement

pytestmark = pytest.mark.anyio

RED, BLUE, DAY = b"r" * 16, bytes(16), 24 * 3600


def came_to(grip: Grip, item: Item, code: str, state: JobState = JobState.FAILED, **more: bytes) -> Settlement:
    result = StoredResult(msgspec.json.encode({"kind": "test", "code": code}))
    return msgspec.structs.replace(ended(grip, item, state), result=result, **more)


# Outcomes


async def test_a_batch_counts_what_its_jobs_came_to(backend: Backend, neighbour: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A] * 5)
    other, _ = await fill(backend.batches, backend.lanes, [B])
    leases = {lease.grip.lane: lease for lease in (await claim(backend.lanes)).leases}
    grip, (one, two, three, four, _) = leases[A].grip, leases[A].items
    await settle(backend.lanes, came_to(grip, one, "ok", JobState.COMPLETED), came_to(grip, two, "timeout"))
    await settle(neighbour.lanes, came_to(grip, three, "timeout"), came_to(grip, four, "robots", JobState.REFUSED))
    await settle(backend.lanes, came_to(leases[B].grip, leases[B].items[0], "dns"))
    assert (await show(backend.batches, batch)).outcomes == {"ok": 1, "timeout": 2, "robots": 1}
    assert (await show(backend.batches, other)).outcomes == {"dns": 1}
    await backend.batches.mark(batch, BatchState.CANCELLED, at(2))
    await tidy_up(backend.batches)
    found = await show(backend.batches, batch)
    assert (found.outcomes, found.counts.cancelled) == ({"ok": 1, "timeout": 2, "robots": 1}, 1)


async def test_what_is_done_again_has_not_come_to_anything_yet(backend: Backend, neighbour: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A] * 3)
    lease = await lease_one(backend.lanes)
    one, two, three = lease.items
    told = [came_to(lease.grip, one, "timeout"), came_to(lease.grip, two, "dns")]
    await settle(backend.lanes, *told, came_to(lease.grip, three, "ok", JobState.COMPLETED), release(lease.grip))
    assert await neighbour.batches.again(batch, {JobState.FAILED}, at(2), most=9) == 2
    assert (await show(backend.batches, batch)).outcomes == {"ok": 1}
    lease = await lease_one(backend.lanes, seconds=2)
    await settle(neighbour.lanes, *(came_to(lease.grip, item, "ok", JobState.COMPLETED) for item in lease.items))
    assert (await show(backend.batches, batch)).outcomes == {"ok": 3}


async def test_an_outcome_without_a_code_is_not_counted_by_it(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A])
    await work_off(backend.lanes)
    found = await show(backend.batches, batch)
    assert (found.outcomes, found.counts) == ({}, Counts(completed=1))


# Misses


async def miss(backend: Backend, mark: bytes, code: str, account: AccountId = ACCOUNT, *, seconds: float = 1) -> None:
    await backend.lanes.submit([job(account=account)], at(seconds))
    lease = await lease_one(backend.lanes, seconds=seconds)
    told = came_to(lease.grip, lease.items[0], code, miss=mark)
    await settle(backend.lanes, told, release(lease.grip, seconds), seconds=seconds)


async def test_what_an_account_asked_for_in_vain_is_known_for_a_day(backend: Backend, neighbour: Backend) -> None:
    await miss(backend, RED, "timeout")
    assert await neighbour.ledger.misses(ACCOUNT, [BLUE, RED], at(2)) == {RED: "timeout"}
    assert await neighbour.ledger.misses(ACCOUNT, [RED], at(DAY)) == {RED: "timeout"}
    assert await neighbour.ledger.misses(ACCOUNT, [RED], at(DAY + 1)) == {}
    assert await backend.ledger.misses(ACCOUNT, [], at(2)) == {}


async def test_an_account_is_not_told_what_others_missed(backend: Backend) -> None:
    await miss(backend, RED, "timeout", OTHER)
    assert await backend.ledger.misses(ACCOUNT, [RED], at(2)) == {}
    assert await backend.ledger.misses(AccountId("acc_nobody"), [RED], at(2)) == {}
    assert await backend.ledger.misses(OTHER, [RED], at(2)) == {RED: "timeout"}


async def test_the_latest_miss_is_the_one_that_is_told(backend: Backend) -> None:
    await miss(backend, RED, "timeout")
    await miss(backend, RED, "dns", seconds=9)
    assert await backend.ledger.misses(ACCOUNT, [RED], at(DAY + 5)) == {RED: "dns"}


async def test_two_misses_of_one_page_in_one_report_are_one(backend: Backend) -> None:
    lease = await hold(backend.lanes, job(), job())
    await settle(backend.lanes, *(came_to(lease.grip, item, "tls", miss=BLUE) for item in lease.items))
    assert await backend.ledger.misses(ACCOUNT, [BLUE], at(2)) == {BLUE: "tls"}


async def test_misses_are_forgotten_when_their_day_is_over(backend: Backend) -> None:
    await miss(backend, RED, "timeout")
    await miss(backend, BLUE, "dns", seconds=60)
    assert await backend.batches.tidy(at(DAY), most=9) == 0
    assert await backend.batches.tidy(at(DAY + 1), most=9) == 1
    assert await backend.ledger.misses(ACCOUNT, [RED, BLUE], at(2)) == {BLUE: "dns"}


async def test_of_what_a_zombie_tells_no_miss_is_kept(backend: Backend) -> None:
    lease = await hold(backend.lanes, job())
    stale = replace(lease.grip, fence=lease.grip.fence - 1)
    assert await settle(backend.lanes, came_to(stale, lease.items[0], "dns", miss=RED)) == frozenset()
    assert await backend.ledger.misses(ACCOUNT, [RED], at(2)) == {}


# Intakes


async def test_a_batch_of_which_nothing_is_heard_any_more_is_cancelled(backend: Backend, neighbour: Backend) -> None:
    batch = await open_batch(backend.batches)
    await backend.lanes.submit([job(lane, batch=batch) for lane in hosts(4)], at(0))
    await work_off(backend.lanes, 1)
    await tidy_up(neighbour.batches, 60)
    assert (await show(backend.batches, batch)).state is BatchState.RUNNING
    await tidy_up(neighbour.batches, 61)
    found = await show(backend.batches, batch)
    assert (found.state, found.reason, found.finished_at) == (BatchState.CANCELLED, "intake_lost", at(61))
    assert found.counts == Counts(completed=1, cancelled=3)
    assert await backend.lanes.submit([job(batch=batch)], at(62)) == frozenset()


async def test_a_batch_that_is_heard_of_stays_open(backend: Backend) -> None:
    batch = await open_batch(backend.batches)
    for seconds in (30, 80, 130):
        assert await backend.batches.hear(batch, at(seconds))
        await tidy_up(backend.batches, seconds + 20)
    found = await show(backend.batches, batch)
    assert (found.state, found.reason) == (BatchState.RUNNING, None)


async def test_a_paused_batch_that_nobody_fills_any_more_ends_as_well(backend: Backend) -> None:
    batch = await open_batch(backend.batches)
    await backend.lanes.submit([job(batch=batch)], at(0))
    await backend.batches.mark(batch, BatchState.PAUSED, at(1))
    assert await backend.batches.hear(batch, at(10))
    await tidy_up(backend.batches, 71)
    assert (await show(backend.batches, batch)).reason == "intake_lost"


async def test_a_batch_that_is_sealed_need_not_be_heard_of(backend: Backend) -> None:
    batch, _ = await fill(backend.batches, backend.lanes, [A])
    await tidy_up(backend.batches, DAY)
    assert (await show(backend.batches, batch)).state is BatchState.RUNNING


async def test_whoever_fills_a_batch_that_has_ended_is_told(backend: Backend) -> None:
    batch = await open_batch(backend.batches)
    await backend.batches.mark(batch, BatchState.CANCELLED, at(1))
    assert not await backend.batches.hear(batch, at(2))
    assert not await backend.batches.hear(BatchId("bat_nobody"), at(2))
    await tidy_up(backend.batches, 90)
    assert (await show(backend.batches, batch)).reason is None


# Positions


async def test_jobs_are_found_by_their_positions(backend: Backend) -> None:
    batch, jobs = await fill(backend.batches, backend.lanes, hosts(6))
    await fill(backend.batches, backend.lanes, hosts(6))
    found = sorted(await backend.ledger.at(batch, [4, 1, 77]), key=lambda line: line.position)
    assert [(line.position, line.job, line.lane) for line in found] == [
        (1, jobs[1].id, jobs[1].lane),
        (4, jobs[4].id, jobs[4].lane),
    ]
    assert await backend.ledger.at(batch, []) == []
    assert await backend.ledger.at(BatchId("bat_nobody"), [0]) == []
