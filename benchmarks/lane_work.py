"""Items as the benchmarks of the line drive them: submitted, claimed and settled, each call timed."""

import secrets
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from benchmarks.measuring import Meter
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId, ulid
from emissary.model.jobs import JobState, Kind, NewJob, StoredResult
from emissary.model.lanes import Claim, Lease, Reason, Release, Report, Settlement, host_lane
from emissary.ports.lanes import Lanes

__all__ = ["ACCOUNT", "CHUNK", "LANES_AT_ONCE", "Watch", "claim", "fill", "job", "name", "now", "told"]

T = TypeVar("T")

CHUNK = 1_000
LANES_AT_ONCE = 100
ACCOUNT = AccountId("acc_bench")
_ORDER = b'{"url":{"href":"https://www.example.org/a/page","host":"www.example.org"},"formats":["markdown"]}'
_RESULT = StoredResult(b'{"kind":"page","code":"ok","httpStatus":200}', bytes(range(256)) * 2)
_WORKER = WorkerId("wrk_bench")


@dataclass(slots=True)
class Watch:
    """How long each call of one kind took."""

    taken: list[float] = field(default_factory=list)

    async def on(self, work: Awaitable[T]) -> T:
        began = time.perf_counter()
        result = await work
        self.taken.append(time.perf_counter() - began)
        return result

    def rate(self, items: int) -> float:
        return items / sum(self.taken)

    @property
    def worst_ms(self) -> float:
        return max(self.taken) * 1000


async def fill(lanes: Lanes, items: int, over: int, *, watch: Watch, batch: BatchId | None = None) -> float:
    """Submit items, round after round over the lanes; returns the CPU seconds that it took."""
    cpu = 0.0
    for start in range(0, items, CHUNK):
        jobs = [job(place % over, batch) for place in range(start, start + CHUNK)]
        meter = Meter()
        await watch.on(lanes.submit(jobs, now()))
        cpu += meter.read(1).cpu
    return cpu


async def claim(lanes: Lanes, at_once: int) -> tuple[Lease, ...]:
    """Lease the next lanes, with so many items of each."""
    began = now()
    claimed = await lanes.claim(Claim(_WORKER, began + timedelta(minutes=5), LANES_AT_ONCE, at_once), began)
    return claimed.leases


def told(leases: tuple[Lease, ...], rest: timedelta = timedelta()) -> Report:
    """Every item of these leases is done, and the lanes are given back to rest for so long."""
    ended = now()
    settlements = tuple(
        Settlement(lease.grip, item.job, item.rank, ended, JobState.COMPLETED, _RESULT)
        for lease in leases
        for item in lease.items
    )
    return Report(settlements, tuple(Release(lease.grip, ended + rest, Reason.GAP) for lease in leases))


def job(host: int, batch: BatchId | None = None) -> NewJob:
    """A new one, in the lane of the host."""
    lane = host_lane(f"h{host}.example")
    return NewJob(JobId(f"job_{name()}"), ACCOUNT, Kind("bench"), lane, _ORDER, batch=batch)


def name() -> str:
    """A new one."""
    return ulid(now(), secrets.token_bytes(10))


def now() -> datetime:
    """By the machine's clock."""
    return datetime.now(UTC)
