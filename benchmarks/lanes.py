"""The line itself, without any web: items submitted, claimed and settled on both backends."""

import asyncio
from dataclasses import dataclass

from benchmarks.lane_stores import OpenStore, postgres_store, sqlite_store
from benchmarks.lane_work import ACCOUNT, CHUNK, LANES_AT_ONCE, Watch, claim, fill, job, name, now, told
from benchmarks.measuring import Meter, percentile
from benchmarks.report import Report, Say
from emissary.model.batches import BatchState, NewBatch
from emissary.model.ids import BatchId, JobId
from emissary.model.jobs import Kind
from emissary.ports.batches import Batches
from emissary.ports.lanes import Lanes

__all__ = ["run"]

_ITEMS_AT_ONCE = 20


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
            f"One caller: {CHUNK:,} items a submission, {LANES_AT_ONCE} lanes a claim, which is what a worker has by"
            " default; all that was claimed is settled at once with a result of 512 bytes. As in a worker, the next"
            " claim begins while the last report is written; every call is synced to disk before it returns.",
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
    submitting, claiming = Watch(), Watch()
    followed, ended = course.followed or course.items, 0
    async with opened() as store:
        empty = await store.size()
        submitted = await fill(store.lanes, course.items, course.lanes, watch=submitting)
        size = await store.size()
        meter, settling = Meter(), asyncio.create_task(_nothing())
        while ended < followed:
            left = await claiming.on(claim(store.lanes, course.at_once))
            ended += len(await settling)
            if not left and ended < followed:
                raise AssertionError("not every item was settled")
            settling = asyncio.create_task(store.lanes.settle(told(left), now()))
        ended += len(await settling)
        settled = meter.read(ended)
        if await store.ended() != ended:
            raise AssertionError("the counts do not tell how many were settled")
    return {
        "lanes": course.lanes,
        "submittedPerSecond": submitting.rate(course.items),
        "throughPerSecond": settled.pages_per_second,
        "claimP99Ms": percentile(claiming.taken, 0.99) * 1000,
        "cpuMicroseconds": (submitted / course.items + settled.cpu / ended) * 1e6,
        "bytesPerItem": (size - empty) / course.items,
    }


async def _nothing() -> frozenset[JobId]:
    return frozenset()


def _measure_cancelling(name: str, opened: OpenStore, items: int) -> dict[str, float]:
    Say(f"lanes on {name}: a batch of {items:,} is cancelled …")
    return asyncio.run(_cancel(items, opened))


async def _cancel(items: int, opened: OpenStore) -> dict[str, float]:
    async with opened() as store:
        return await _cancel_in(store.lanes, store.batches, items)


async def _cancel_in(lanes: Lanes, batches: Batches, items: int) -> dict[str, float]:
    """Cancel a batch while another one, with work in some of the same lanes and in others, goes on."""
    big, other = BatchId(f"bat_{name()}"), BatchId(f"bat_{name()}")
    for batch in (big, other):
        await batches.open(NewBatch(batch, ACCOUNT, Kind("bench"), None, b"{}"), now())
    await fill(lanes, items, items // 10, watch=Watch(), batch=big)
    await lanes.submit([job(place, other) for place in range(0, items // 5, items // 50_000)], now())
    marking, after, meanwhile, tidying = Watch(), Watch(), Watch(), Watch()
    await marking.on(batches.mark(big, BatchState.CANCELLED, now()))
    for _ in range(20):
        await lanes.settle(told(await after.on(claim(lanes, 1))), now())
    tidier = asyncio.create_task(tidying.on(batches.tidy(now(), most=2 * items)))
    while not tidier.done():
        await lanes.settle(told(await meanwhile.on(claim(lanes, 1))), now())
    tidied = await tidier
    return {
        "items": items,
        "markMs": marking.worst_ms,
        "claimMsAfter": after.worst_ms,
        "claimMsMeanwhile": meanwhile.worst_ms,
        "tidiedPerSecond": tidying.rate(tidied),
    }
