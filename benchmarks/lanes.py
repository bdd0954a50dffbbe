"""The line itself, without any web: items submitted, claimed and settled on the embedded backend."""

import asyncio
import secrets
import sqlite3
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from benchmarks.measuring import Meter, percentile
from benchmarks.report import Report, Say
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.model.batches import BatchState, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId, ulid
from emissary.model.jobs import JobState, Kind, NewJob, StoredResult
from emissary.model.lanes import Claim, Lease, Reason, Release, Settlement, host_lane
from emissary.model.lanes import Report as Told

__all__ = ["run"]

T = TypeVar("T")

_CHUNK = 1_000
_LANES_AT_ONCE = 100
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
        f"ten per lane, {many:,} in all": _Course(many, many // 10, followed=few),
        "the same, one at a time": _Course(many, many // 10, at_once=1, followed=few),
    }
    figures = {name: _measure(course) for name, course in courses.items()}
    columns = {
        "submit/s": ("submittedPerSecond", ",.0f"),
        "claim/s": ("claimedPerSecond", ",.0f"),
        "settle/s": ("settledPerSecond", ",.0f"),
        "claim p99 ms": ("claimP99Ms", ".1f"),
        "CPU µs/item": ("cpuMicroseconds", ".0f"),
        "bytes/item": ("bytesPerItem", ".0f"),
    }
    rows = [(name, *(format(figure[key], form) for key, form in columns.values())) for name, figure in figures.items()]
    cancelled = _measure_cancelling(many)
    return Report(
        "lanes",
        f"{few:,} items through the lanes, with no web at all",
        ("", *columns),
        rows,
        {"items": few, **figures, "cancelling": cancelled},
        [
            f"One caller: {_CHUNK:,} items a submission, {_LANES_AT_ONCE} lanes a claim, all that was claimed settled"
            " at once with a result of 512 bytes. Every call is synced to disk before the next begins.",
            "The CPU is that of an item's whole way; the bytes are those of the file when all items stand in line.",
            f"A batch of {many:,} items was cancelled in {cancelled['markMs']:.1f} ms, and a claim took at most"
            f" {cancelled['claimMsAfter']:.1f} ms right after it. Behind it {cancelled['tidiedPerSecond']:,.0f} items a"
            f" second were taken out of line, and no claim took longer than {cancelled['claimMsMeanwhile']:.1f} ms.",
        ],
    )


def _measure(course: _Course) -> dict[str, float]:
    Say(f"lanes: {course.items:,} items over {course.lanes:,} lanes, {course.at_once} at a time …")
    with tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder:
        return asyncio.run(_through(course, Path(folder) / "bench.db"))


async def _through(course: _Course, file: Path) -> dict[str, float]:
    database = await Database.open(file)
    lanes, followed = SqliteLanes(database), course.followed or course.items
    submitting, claiming, settling, empty = _Watch(), _Watch(), _Watch(), await database.read(_size)
    submitted = await _fill(lanes, course.items, course.lanes, watch=submitting)
    size = await database.read(_size)
    meter = Meter()
    while await database.read(_results) < followed:
        left = await claiming.on(_claim(lanes, course.at_once))
        if not left:
            raise AssertionError("not every item was settled")
        await settling.on(lanes.settle(_told(left), _now()))
    ended = await database.read(_results)
    settled = meter.read(ended)
    await database.close()
    return {
        "lanes": course.lanes,
        "submittedPerSecond": submitting.rate(course.items),
        "claimedPerSecond": claiming.rate(ended),
        "settledPerSecond": settling.rate(ended),
        "claimP99Ms": percentile(claiming.taken, 0.99) * 1000,
        "cpuMicroseconds": (submitted / course.items + settled.cpu / ended) * 1e6,
        "bytesPerItem": (size - empty) / course.items,
    }


async def _fill(lanes: SqliteLanes, items: int, over: int, *, watch: _Watch, batch: BatchId | None = None) -> float:
    """Submit items, round after round over the lanes; returns the CPU seconds that it took."""
    cpu = 0.0
    for start in range(0, items, _CHUNK):
        jobs = [_job(place % over, batch) for place in range(start, start + _CHUNK)]
        meter = Meter()
        await watch.on(lanes.submit(jobs, _now()))
        cpu += meter.read(1).cpu
    return cpu


def _measure_cancelling(items: int) -> dict[str, float]:
    Say(f"lanes: a batch of {items:,} is cancelled …")
    with tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder:
        return asyncio.run(_cancel(items, Path(folder) / "bench.db"))


async def _cancel(items: int, file: Path) -> dict[str, float]:
    """Cancel a batch while another one, with work in some of the same lanes and in others, goes on."""
    database = await Database.open(file)
    lanes, batches = SqliteLanes(database), SqliteBatches(database)
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
    await database.close()
    return {
        "items": items,
        "markMs": marking.worst_ms,
        "claimMsAfter": after.worst_ms,
        "claimMsMeanwhile": meanwhile.worst_ms,
        "tidiedPerSecond": tidying.rate(tidied),
    }


async def _claim(lanes: SqliteLanes, at_once: int) -> tuple[Lease, ...]:
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


def _size(connection: sqlite3.Connection) -> int:
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return int(pages * size)


def _results(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM results").fetchone()[0])


def _now() -> datetime:
    return datetime.now(UTC)
