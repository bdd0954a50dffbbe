"""Jobs, batches, settlements and moments for tests, each in one short call."""

import itertools
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from emissary.model.batches import Batch, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId
from emissary.model.jobs import JobState, Kind, NewJob, Priority, StoredResult
from emissary.model.lanes import (
    Claim,
    Claimed,
    Grip,
    Holding,
    Item,
    LaneKey,
    Lease,
    Reason,
    Release,
    Report,
    Settlement,
    Thing,
    Trial,
    Wish,
)
from emissary.ports.batches import Batches
from emissary.ports.lanes import Lanes

ANN, BOB = WorkerId("wrk_ann"), WorkerId("wrk_bob")
A, B, C = LaneKey("host:a.example"), LaneKey("host:b.example"), LaneKey("host:c.example")
ACCOUNT, OTHER, THIRD = AccountId("acc_one"), AccountId("acc_two"), AccountId("acc_three")
LEASE_SECONDS = 300
RESULT = StoredResult(b'{"kind":"page"}', b"the body")

_START = datetime(2030, 1, 1, tzinfo=UTC)
_numbers = itertools.count(1)


def at(seconds: float) -> datetime:
    """So many seconds after the beginning of the test."""
    return _START + timedelta(seconds=seconds)


def hosts(count: int) -> list[LaneKey]:
    """So many lanes."""
    return [LaneKey(f"host:{number}.example") for number in range(count)]


def job(
    lane: LaneKey = A,
    priority: Priority = Priority.NORMAL,
    not_before: datetime | None = None,
    *,
    account: AccountId = ACCOUNT,
    batch: BatchId | None = None,
    mark: bytes | None = None,
    price: int = 1,
) -> NewJob:
    """A job nobody has seen before; those made later have greater names."""
    number = next(_numbers)
    order = f'{{"number":{number}}}'.encode()
    name = JobId(f"job_{number:026d}")
    return NewJob(name, account, Kind("test"), lane, order, priority, not_before, batch, mark, price)


def new_batch(account: AccountId = ACCOUNT, priority: Priority = Priority.NORMAL, name: str | None = None) -> NewBatch:
    """A batch nobody has seen before; those made later have greater names."""
    return NewBatch(BatchId(f"bat_{next(_numbers):026d}"), account, Kind("test"), name, b'{"formats":[]}', priority)


async def open_batch(batches: Batches, account: AccountId = ACCOUNT) -> BatchId:
    """A batch into which jobs may come."""
    batch = new_batch(account)
    await batches.open(batch, at(0))
    return batch.id


async def fill(
    batches: Batches, lanes: Lanes, where: Iterable[LaneKey], account: AccountId = ACCOUNT
) -> tuple[BatchId, list[NewJob]]:
    """A sealed batch with a job in each of those lanes."""
    batch = await open_batch(batches, account)
    jobs = [job(lane, account=account, batch=batch) for lane in where]
    for start in range(0, len(jobs), 5_000):
        await lanes.submit(jobs[start : start + 5_000], at(0))
    await batches.seal(batch)
    return batch, jobs


async def show(batches: Batches, batch: BatchId) -> Batch:
    """The batch, which is there."""
    found = await batches.find(batch)
    assert found is not None
    return found


async def tidy_up(batches: Batches, seconds: float = 2, most: int = 3) -> None:
    """Do all that is left to do, in small portions."""
    while done := await batches.tidy(at(seconds), most=most):
        assert done <= most


async def claim(
    lanes: Lanes,
    worker: WorkerId = ANN,
    seconds: float = 0,
    *,
    most: int = 10,
    items: int = 10,
    urgent: bool = False,
    most_held: int | None = None,
    holding: Holding | None = None,
    most_of_account: int | None = None,
    things: frozenset[Thing] | None = None,
) -> Claimed:
    """Lease lanes as a worker does at that moment."""
    now = at(seconds)
    until = now + timedelta(seconds=LEASE_SECONDS)
    wanted, on_top = (0, most) if urgent else (most, 0)
    asked = Claim(worker, until, wanted, items, on_top, most_held, holding, most_of_account, things)
    return await lanes.claim(asked, now)


async def take(lanes: Lanes, grip: Grip, items: int, *, seconds: float, in_hand: Iterable[JobId] = ()) -> list[Item]:
    """Further items of one lane that is held."""
    taken = await lanes.take([Wish(grip, items, frozenset(in_hand))], at(seconds))
    assert taken.lost == frozenset()
    return list(taken.items.get(grip.lane, ()))


async def lease_one(lanes: Lanes, worker: WorkerId = ANN, seconds: float = 0, *, items: int = 10) -> Lease:
    """Lease the one lane that is ready."""
    (lease,) = (await claim(lanes, worker, seconds, items=items)).leases
    return lease


async def hold(lanes: Lanes, *jobs: NewJob, worker: WorkerId = ANN) -> Lease:
    """Submit jobs of one lane and lease it."""
    await lanes.submit(jobs, at(0))
    return await lease_one(lanes, worker)


async def work_off(
    lanes: Lanes, turns: int | None = None, *, most: int = 1, items: int = 1, seconds: float = 1
) -> list[Item]:
    """Claim and finish until nothing is left, or until so many items were handed out; returns them in order."""
    handed_out: list[Item] = []
    while turns is None or len(handed_out) < turns:
        leases = (await claim(lanes, seconds=seconds, most=most, items=items)).leases
        if not leases:
            break
        for lease in leases:
            handed_out += lease.items
        await settle(lanes, *finished(leases), seconds=seconds)
    return handed_out


def finished(leases: Sequence[Lease]) -> list[Settlement | Release]:
    """All that was leased is done, and given back."""
    told: list[Settlement | Release] = [done(lease.grip, item) for lease in leases for item in lease.items]
    return told + [release(lease.grip) for lease in leases]


def done(grip: Grip, item: Item, result: StoredResult | None = RESULT, *follow_ups: NewJob) -> Settlement:
    return Settlement(
        grip, item.job, item.rank, at(1), JobState.COMPLETED, result, failures=item.failures, follow_ups=follow_ups
    )


def ended(grip: Grip, item: Item, state: JobState, price: int = 0, *, cached: bool = False) -> Settlement:
    """It came to that end."""
    result = StoredResult(f'{{"code":"{state.value}"}}'.encode())
    return Settlement(grip, item.job, item.rank, at(1), state, result, credits=price, cached=cached)


def retry(grip: Grip, item: Item, seconds: float) -> Settlement:
    failures = item.failures + 1
    return Settlement(grip, item.job, item.rank, at(1), JobState.DELAYED, retry_at=at(seconds), failures=failures)


def onward(grip: Grip, item: Item, lane: LaneKey, trail: bytes | None = b'{"hops":[1]}') -> Settlement:
    return Settlement(
        grip, item.job, item.rank, at(1), JobState.WAITING, failures=item.failures, onward=lane, trail=trail
    )


def release(
    grip: Grip, rest: float = 0, reason: Reason = Reason.GAP, gap: timedelta | None = None, *, strikes: int = 0
) -> Release:
    """Give the lane back to rest until so many seconds after the beginning."""
    return Release(grip, at(rest), reason, gap, strikes=strikes)


async def settle(lanes: Lanes, *told: Settlement | Release | Trial, seconds: float = 1) -> frozenset[JobId]:
    """Tell the store all of it in one report."""
    settlements = tuple(each for each in told if isinstance(each, Settlement))
    releases = tuple(each for each in told if isinstance(each, Release))
    trials = tuple(each for each in told if isinstance(each, Trial))
    return await lanes.settle(Report(settlements, releases, trials), at(seconds))


def jobs_of(lease: Lease) -> list[JobId]:
    return [item.job for item in lease.items]


def keys_of(claimed: Claimed) -> set[LaneKey]:
    return {lease.grip.lane for lease in claimed.leases}
