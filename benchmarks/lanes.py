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
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.model.ids import AccountId, JobId, WorkerId, ulid
from emissary.model.jobs import JobState, Kind, NewJob, StoredResult
from emissary.model.lanes import Lease, Reason, Release, Settlement, host_lane
from emissary.model.lanes import Report as Told

__all__ = ["run"]

T = TypeVar("T")

_CHUNK = 1_000
_LANES_AT_ONCE = 100
_ITEMS_AT_ONCE = 20
_ORDER = b'{"url":{"href":"https://www.example.org/a/page","host":"www.example.org"},"formats":["markdown"]}'
_RESULT = StoredResult(b'{"kind":"page","code":"ok","httpStatus":200}', bytes(range(256)) * 2)
_WORKER = WorkerId("wrk_bench")


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


def run(*, short: bool) -> Report:
    """The same items, once each in a lane of its own, once ten to a lane."""
    items = 20_000 if short else 100_000
    figures = {name: _measure(items, items // each) for name, each in (("one per lane", 1), ("ten per lane", 10))}
    columns = {
        "submit/s": ("submittedPerSecond", ",.0f"),
        "claim/s": ("claimedPerSecond", ",.0f"),
        "settle/s": ("settledPerSecond", ",.0f"),
        "claim p99 ms": ("claimP99Ms", ".1f"),
        "CPU µs/item": ("cpuMicroseconds", ".0f"),
        "bytes/item": ("bytesPerItem", ".0f"),
    }
    rows = [(name, *(format(figure[key], form) for key, form in columns.values())) for name, figure in figures.items()]
    return Report(
        "lanes",
        f"{items:,} items through the lanes, with no web at all",
        ("", *columns),
        rows,
        {"items": items, **figures},
        [
            f"One caller: {_CHUNK:,} items a submission, {_LANES_AT_ONCE} lanes a claim, all that was claimed settled"
            " at once with a result of 512 bytes. Every call is synced to disk before the next begins.",
            "The CPU is that of an item's whole way; the bytes are those of the file when all items stand in line.",
        ],
    )


def _measure(items: int, lanes: int) -> dict[str, float]:
    Say(f"lanes: {items:,} items over {lanes:,} lanes …")
    with tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder:
        return asyncio.run(_through(items, lanes, Path(folder) / "bench.db"))


async def _through(items: int, lane_count: int, file: Path) -> dict[str, float]:
    database = await Database.open(file)
    lanes, jobs = SqliteLanes(database), [_job(place, lane_count) for place in range(items)]
    submitting, claiming, settling, empty = _Watch(), _Watch(), _Watch(), await database.read(_size)
    meter = Meter()
    for start in range(0, items, _CHUNK):
        await submitting.on(lanes.submit(jobs[start : start + _CHUNK], _now()))
    submitted = meter.read(items)
    size = await database.read(_size)
    meter = Meter()
    while (left := await claiming.on(_claim(lanes))) != ():
        await settling.on(lanes.settle(_told(left), _now()))
    settled = meter.read(items)
    if (
        await database.read(lambda connection: connection.execute("SELECT count(*) FROM results").fetchone()[0])
        != items
    ):
        raise AssertionError("not every item was settled")
    await database.close()
    return {
        "lanes": lane_count,
        "submittedPerSecond": submitting.rate(items),
        "claimedPerSecond": claiming.rate(items),
        "settledPerSecond": settling.rate(items),
        "claimP99Ms": percentile(claiming.taken, 0.99) * 1000,
        "cpuMicroseconds": (submitted.cpu + settled.cpu) / items * 1e6,
        "bytesPerItem": (size - empty) / items,
    }


async def _claim(lanes: SqliteLanes) -> tuple[Lease, ...]:
    now = _now()
    until = now + timedelta(minutes=5)
    claimed = await lanes.claim(_WORKER, until, now, lanes=_LANES_AT_ONCE, items=_ITEMS_AT_ONCE)
    return claimed.leases


def _told(leases: tuple[Lease, ...]) -> Told:
    now = _now()
    settlements = tuple(
        Settlement(lease.grip, item.job, item.rank, now, JobState.COMPLETED, _RESULT)
        for lease in leases
        for item in lease.items
    )
    return Told(settlements, tuple(Release(lease.grip, now, Reason.GAP) for lease in leases))


def _job(place: int, lanes: int) -> NewJob:
    identity = JobId(f"job_{ulid(_now(), secrets.token_bytes(10))}")
    return NewJob(identity, AccountId("acc_bench"), Kind("bench"), host_lane(f"h{place % lanes}.example"), _ORDER)


def _size(connection: sqlite3.Connection) -> int:
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return int(pages * size)


def _results(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM results").fetchone()[0])


def _now() -> datetime:
    return datetime.now(UTC)
