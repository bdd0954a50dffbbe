"""Jobs, settlements and moments for tests, each in one short call."""

import itertools
from datetime import UTC, datetime, timedelta

from emissary.model.ids import AccountId, JobId, WorkerId
from emissary.model.jobs import JobState, Kind, NewJob, Priority, StoredResult
from emissary.model.lanes import Claimed, Grip, Item, LaneKey, Lease, Reason, Release, Report, Settlement
from emissary.ports.lanes import Lanes

ANN, BOB = WorkerId("wrk_ann"), WorkerId("wrk_bob")
A, B, C = LaneKey("host:a.example"), LaneKey("host:b.example"), LaneKey("host:c.example")
ACCOUNT = AccountId("acc_one")
LEASE_SECONDS = 300
RESULT = StoredResult(b'{"kind":"page"}', b"the body")

_START = datetime(2030, 1, 1, tzinfo=UTC)
_numbers = itertools.count(1)


def at(seconds: float) -> datetime:
    """So many seconds after the beginning of the test."""
    return _START + timedelta(seconds=seconds)


def job(lane: LaneKey = A, priority: Priority = Priority.NORMAL, not_before: datetime | None = None) -> NewJob:
    """A job nobody has seen before; those made later have greater names."""
    number = next(_numbers)
    order = f'{{"number":{number}}}'.encode()
    return NewJob(JobId(f"job_{number:026d}"), ACCOUNT, Kind("test"), lane, order, priority, not_before)


async def claim(
    lanes: Lanes, worker: WorkerId = ANN, seconds: float = 0, *, most: int = 10, items: int = 10
) -> Claimed:
    """Lease lanes as a worker does at that moment."""
    now = at(seconds)
    return await lanes.claim(worker, now + timedelta(seconds=LEASE_SECONDS), now, lanes=most, items=items)


async def lease_one(lanes: Lanes, worker: WorkerId = ANN, seconds: float = 0, *, items: int = 10) -> Lease:
    """Lease the one lane that is ready."""
    (lease,) = (await claim(lanes, worker, seconds, items=items)).leases
    return lease


async def hold(lanes: Lanes, *jobs: NewJob, worker: WorkerId = ANN) -> Lease:
    """Submit jobs of one lane and lease it."""
    await lanes.submit(jobs, at(0))
    return await lease_one(lanes, worker)


def done(grip: Grip, item: Item, result: StoredResult | None = RESULT, *follow_ups: NewJob) -> Settlement:
    return Settlement(
        grip, item.job, item.rank, at(1), JobState.COMPLETED, result, failures=item.failures, follow_ups=follow_ups
    )


def retry(grip: Grip, item: Item, seconds: float) -> Settlement:
    failures = item.failures + 1
    return Settlement(grip, item.job, item.rank, at(1), JobState.DELAYED, retry_at=at(seconds), failures=failures)


def onward(grip: Grip, item: Item, lane: LaneKey, trail: bytes | None = b'{"hops":[1]}') -> Settlement:
    return Settlement(
        grip, item.job, item.rank, at(1), JobState.WAITING, failures=item.failures, onward=lane, trail=trail
    )


def release(grip: Grip, rest: float = 0, reason: Reason = Reason.GAP, gap: timedelta | None = None) -> Release:
    """Give the lane back to rest until so many seconds after the beginning."""
    return Release(grip, at(rest), reason, gap)


async def settle(lanes: Lanes, *told: Settlement | Release, seconds: float = 1) -> frozenset[JobId]:
    """Tell the store all of it in one report."""
    settlements = tuple(each for each in told if isinstance(each, Settlement))
    releases = tuple(each for each in told if isinstance(each, Release))
    return await lanes.settle(Report(settlements, releases), at(seconds))


def jobs_of(lease: Lease) -> list[JobId]:
    return [item.job for item in lease.items]


def keys_of(claimed: Claimed) -> set[LaneKey]:
    return {lease.grip.lane for lease in claimed.leases}
