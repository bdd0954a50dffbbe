"""The line itself, without any web: items submitted, claimed and settled on both backends."""

import asyncio
import secrets
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from benchmarks.lane_stores import OpenStore, postgres_store, sqlite_store
from benchmarks.measuring import Meter, percentile
from benchmarks.report import Report, Say
from emissary.model.batches import BatchState, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId, ulid
from emissary.model.jobs import JobState, Kind, NewJob, StoredResult
from emissary.model.lanes import Claim, Lease, Reason, Release, Settlement, host_lane
from emissary.model.lanes import Report as Told
from emissary.ports.batches import Batches
from emissary.ports.lanes import Lanes

__all__ = ["run"]

T = TypeVar("T")

_CHUNK = 1_000
_LANES_AT_ONCE = 200
_ITEMS_AT_ONCE = 20
_ORDER = b'{"url":{"href":"https://www.example.org/a/page","host":"www.example.org"},"formats":["markdown"]}'
_RESULT = StoredResult(b'{"kind":"page","code":"ok","httpStatus":200}', bytes(range(256)) * 2)
_WORKER = WorkerId("wrk_bench")
_ACCOUNT = AccountId("acc_bench")


@dataclass(slots=True)
class _Watch:
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


@dataclass(frozen=True, slots=True)
class _Course:
    """So many items over so many lanes; so many of them, taken so many at a time, are followed to their end."""

    items: int
    lanes: int
    at_once: int = _ITEMS_AT_ONCE
    followed: int | None = None


def run(*, short: bool) -> Report:
    """The same items, once each in a lane of its own, once ten to a lane; and far more of them."""
    few, many = (20_000, 100_000) if short else (100_000, 1_000_000)
    courses = {
        "one per lane": _Course(few, few),
        "ten per lane": _Course(few, few // 10),
        f"ten per lane, {many:,} in all": _Course(many, many // 10, at_once=10, followed=few),
        "the same, one at a time": _Course(many, many // 10, at_once=1, followed=few),
    }
    stores: dict[str, OpenStore] = {"SQLite": sqlite_store, "PostgreSQL": postgres_store}
    figures = {
        f"{store}, {name}": _measure(store, opened, course)
        for store, opened in stores.items()
        for name, course in courses.items()
    }
    columns = {
        "submit/s": ("submittedPerSecond", ",.0f"),
        "claimed and settled/s": ("throughPerSecond", ",.0f"),
        "claim p99 ms": ("claimP99Ms", ".1f"),
        "CPU µs/item": ("cpuMicroseconds", ".0f"),
        "bytes/item": ("bytesPerItem", ".0f"),
    }
    rows = [(name, *(format(figure[key], form) for key, form in columns.values())) for name, figure in figures.items()]
    cancelled = {store: _measure_cancelling(store, opened, many) for store, opened in stores.items()}
    return Report(
        "lanes",
        f"{few:,} items through the lanes, with no web at all",
        ("", *columns),
        rows,
        {"items": few, **figures, "cancelling": cancelled},
        [
            f"One caller: {_CHUNK:,} items a submission, {_LANES_AT_ONCE} lanes a claim, all that was claimed settled"
            " at once with a result of 512 bytes. Every call is synced to disk before the next begins.",
            "The CPU is that of an item's whole way in our process; the bytes are those of the store when all items"
            " stand in line.",
            *(_say_cancelled(store, many, each) for store, each in cancelled.items()),
        ],
    )


def _say_cancelled(store: str, items: int, figure: dict[str, float]) -> str:
    return (
        f"{store}: a batch of {items:,} items was cancelled in {figure['markMs']:.1f} ms, and a claim took at most"
        f" {figure['claimMsAfter']:.1f} ms right after it. Behind it {figure['tidiedPerSecond']:,.0f} items a second"
        f" were taken out of line, and no claim took longer than {figure['claimMsMeanwhile']:.1f} ms."
    )


def _measure(name: str, opened: OpenStore, course: _Course) -> dict[str, float]:
    Say(f"lanes on {name}: {course.items:,} items over {course.lanes:,} lanes, {course.at_once} at a time …")
    return asyncio.run(_through(course, opened))


async def _through(course: _Course, opened: OpenStore) -> dict[str, float]:
    submitting, claiming, settling = _Watch(), _Watch(), _Watch()
    followed, ended = course.followed or course.items, 0
    async with opened() as store:
        empty = await store.size()
        submitted = await _fill(store.lanes, course.items, course.lanes, watch=submitting)
        size = await store.size()
        meter = Meter()
        while ended < followed:
            left = await claiming.on(_claim(store.lanes, course.at_once))
            if not left:
                raise AssertionError("not every item was settled")
            ended += len(await settling.on(store.lanes.settle(_told(left), _now())))
        settled = meter.read(ended)
        if await store.ended() != ended:
            raise AssertionError("the counts do not tell how many were settled")
    return {
        "lanes": course.lanes,
        "submittedPerSecond": submitting.rate(course.items),
        "throughPerSecond": ended / (sum(claiming.taken) + sum(settling.taken)),
        "claimP99Ms": percentile(claiming.taken, 0.99) * 1000,
        "cpuMicroseconds": (submitted / course.items + settled.cpu / ended) * 1e6,
        "bytesPerItem": (size - empty) / course.items,
    }


async def _fill(lanes: Lanes, items: int, over: int, *, watch: _Watch, batch: BatchId | None = None) -> float:
    """Submit items, round after round over the lanes; returns the CPU seconds that it took."""
    cpu = 0.0
    for start in range(0, items, _CHUNK):
        jobs = [_job(place % over, batch) for place in range(start, start + _CHUNK)]
        meter = Meter()
        await watch.on(lanes.submit(jobs, _now()))
        cpu += meter.read(1).cpu
    return cpu


def _measure_cancelling(name: str, opened: OpenStore, items: int) -> dict[str, float]:
    Say(f"lanes on {name}: a batch of {items:,} is cancelled …")
    return asyncio.run(_cancel(items, opened))


async def _cancel(items: int, opened: OpenStore) -> dict[str, float]:
    async with opened() as store:
        return await _cancel_in(store.lanes, store.batches, items)


async def _cancel_in(lanes: Lanes, batches: Batches, items: int) -> dict[str, float]:
    """Cancel a batch while another one, with work in some of the same lanes and in others, goes on."""
    big, other = BatchId(f"bat_{_name()}"), BatchId(f"bat_{_name()}")
    for batch in (big, other):
        await batches.open(NewBatch(batch, _ACCOUNT, Kind("bench"), None, b"{}"), _now())
    await _fill(lanes, items, items // 10, watch=_Watch(), batch=big)
    await lanes.submit([_job(place, other) for place in range(0, items // 5, items // 50_000)], _now())
    marking, after, meanwhile, tidying = _Watch(), _Watch(), _Watch(), _Watch()
    await marking.on(batches.mark(big, BatchState.CANCELLED, _now()))
    for _ in range(20):
        await lanes.settle(_told(await after.on(_claim(lanes, 1))), _now())
    tidier = asyncio.create_task(tidying.on(batches.tidy(_now(), most=2 * items)))
    while not tidier.done():
        await lanes.settle(_told(await meanwhile.on(_claim(lanes, 1))), _now())
    tidied = await tidier
    return {
        "items": items,
        "markMs": marking.worst_ms,
        "claimMsAfter": after.worst_ms,
        "claimMsMeanwhile": meanwhile.worst_ms,
        "tidiedPerSecond": tidying.rate(tidied),
    }


async def _claim(lanes: Lanes, at_once: int) -> tuple[Lease, ...]:
    now = _now()
    claimed = await lanes.claim(Claim(_WORKER, now + timedelta(minutes=5), _LANES_AT_ONCE, at_once), now)
    return claimed.leases


def _told(leases: tuple[Lease, ...]) -> Told:
    now = _now()
    settlements = tuple(
        Settlement(lease.grip, item.job, item.rank, now, JobState.COMPLETED, _RESULT)
        for lease in leases
        for item in lease.items
    )
    return Told(settlements, tuple(Release(lease.grip, now, Reason.GAP) for lease in leases))


def _job(host: int, batch: BatchId | None) -> NewJob:
    lane = host_lane(f"h{host}.example")
    return NewJob(JobId(f"job_{_name()}"), _ACCOUNT, Kind("bench"), lane, _ORDER, batch=batch)


def _name() -> str:
    return ulid(_now(), secrets.token_bytes(10))


def _now() -> datetime:
    return datetime.now(UTC)
