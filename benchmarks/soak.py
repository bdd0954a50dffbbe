"""The line under steady load for an hour, with somebody reading all the while: what dead rows cost."""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import cycle

from benchmarks.lane_stores import LaneStore, OpenStore, postgres_store, sqlite_store
from benchmarks.lane_work import CHUNK, LANES_AT_ONCE, Watch, claim, fill, job, now, told
from benchmarks.measuring import percentile
from benchmarks.report import Report, Say

__all__ = ["run"]

_STORES: dict[str, tuple[str, OpenStore]] = {
    "postgres": ("PostgreSQL", postgres_store),
    "sqlite": ("SQLite", sqlite_store),
}
_ITEMS, _LANES = 1_000_000, 100_000
_SHAPES = {"one at a time": 1, "ten at a time": 10}
# Of ten claims nine take one item of each lane, and one takes ten: about as many items come by either way.
_MIXTURE = (10, 1, 1, 1, 1, 1, 1, 1, 1, 1)
_REST = timedelta(seconds=1)  # as hosts do in between, so that lanes also wait and wake under the steady load
_TELL_EVERY = 10.0
_WHOLE = timedelta(days=1)
_READS = {"repeated": timedelta(minutes=10), "whole": _WHOLE, "none": None}
_GOAL = 0.70


@dataclass(frozen=True, slots=True)
class _Plan:
    """How much, for how long, and how long each competing read lasts (None: there is none)."""

    store: str
    items: int
    lanes: int
    steady: timedelta
    sprint: timedelta
    read: timedelta | None
    rate: float | None

    @property
    def title(self) -> str:
        reads = {None: "nobody reads", _WHOLE: "somebody reads the whole time"}
        reading = reads.get(self.read) or f"somebody reads {self.read} at a time"
        steady = f"{self.steady.total_seconds() / 60:g} min of steady load"
        return f"{self.items:,} items in {self.lanes:,} lanes, {steady}, {reading}"


def run(*, short: bool, options: Sequence[str] = ()) -> Report:
    """Fresh, then the steady load, then the same again."""
    plan = _plan(options, short=short)
    name, opened = _STORES[plan.store]
    Say(f"soak on {name}: {plan.title} …")
    return _report(plan, name, asyncio.run(_soak(plan, opened)))


def _plan(options: Sequence[str], *, short: bool) -> _Plan:
    parser = argparse.ArgumentParser(prog="./emissary bench soak")
    parser.add_argument("--store", choices=_STORES, default="postgres")
    parser.add_argument("--minutes", type=float, default=1 if short else 60, help="of steady load")
    parser.add_argument("--rate", type=float, help="items a second; a third of the fresh rate by default")
    parser.add_argument("--read", choices=_READS, default="repeated", help="beside it, and for how long")
    parser.add_argument("--items", type=int, default=100_000 if short else _ITEMS, help="that stand in line")
    given = parser.parse_args(options)
    return _Plan(
        given.store,
        given.items,
        given.items * _LANES // _ITEMS,
        steady=timedelta(minutes=given.minutes),
        sprint=timedelta(seconds=5 if short else 20),
        read=_READS[given.read],
        rate=given.rate,
    )


@dataclass(slots=True)
class _Drive:
    """Takes items off the line and puts as many new ones on it, so that it stays as long as it is."""

    store: LaneStore
    lanes: int
    place: int = 0
    ended: int = 0
    claiming: Watch = field(default_factory=Watch)
    settling: Watch = field(default_factory=Watch)
    submitting: Watch = field(default_factory=Watch)

    async def turn(self, at_once: int, rest: timedelta = timedelta()) -> None:
        leases = await self.claiming.on(claim(self.store.lanes, at_once))
        written = len(await self.settling.on(self.store.lanes.settle(told(leases, rest), now())))
        if written != sum(len(lease.items) for lease in leases):
            raise AssertionError("what was claimed could not be settled")
        self.ended += written
        for start in range(0, written, CHUNK):
            count = min(CHUNK, written - start)
            jobs = [job((self.place + step) % self.lanes) for step in range(count)]
            self.place += count
            await self.submitting.on(self.store.lanes.submit(jobs, now()))

    @property
    def busy(self) -> float:
        return sum(self.claiming.taken) + sum(self.settling.taken)

    @property
    def rate(self) -> float:
        """Claimed and settled in a second in which nothing else was done."""
        return self.ended / self.busy

    @property
    def figures(self) -> dict[str, float]:
        return {
            "throughPerSecond": self.rate,
            "claimP50Ms": percentile(self.claiming.taken, 0.5) * 1000,
            "claimP99Ms": percentile(self.claiming.taken, 0.99) * 1000,
            "submittedPerSecond": self.submitting.rate(self.ended),
        }


async def _soak(plan: _Plan, opened: OpenStore) -> dict[str, dict[str, float]]:
    async with opened() as store:
        Say(f"soak: {plan.items:,} items are submitted …")
        await fill(store.lanes, plan.items, plan.lanes, watch=Watch())
        fresh, wear = await _sprints(plan, store), await store.wear()
        rate = plan.rate or 2 / sum(1 / drive.rate for drive in fresh.values()) / 3
        reading = asyncio.create_task(_keep_reading(store, plan.read))
        steady = await _steadily(plan, store, rate)
        await asyncio.sleep(_REST.total_seconds())  # until no lane rests any more
        after, worn = await _sprints(plan, store), await store.wear()
        if not reading.cancel() and plan.read is not None:
            raise AssertionError("the read broke off") from reading.exception()
        if await store.ended() != steady.ended + sum(drive.ended for drive in (*fresh.values(), *after.values())):
            raise AssertionError("the counts do not tell how many were settled")
        await asyncio.wait([reading])
    told_of = {f"{name}, fresh": drive.figures for name, drive in fresh.items()}
    told_of |= {f"{name}, after": drive.figures for name, drive in after.items()}
    return {**told_of, "steady": {**steady.figures, "settled": steady.ended, "asked": rate}, "wear": wear, "worn": worn}


async def _sprints(plan: _Plan, store: LaneStore) -> dict[str, _Drive]:
    return {name: await _sprint(plan, store, at_once) for name, at_once in _SHAPES.items()}


async def _keep_reading(store: LaneStore, length: timedelta | None) -> None:
    """One long read after the other: what was deleted since the oldest of them began cannot be cleared away."""
    if length is None:
        return
    seconds = length.total_seconds() / 2  # the first is a short one, so that what is measured last is well within one
    while True:
        async with store.long_read():
            await asyncio.sleep(seconds)
        seconds = length.total_seconds()


async def _sprint(plan: _Plan, store: LaneStore, at_once: int) -> _Drive:
    drive = _Drive(store, plan.lanes)
    while drive.busy < plan.sprint.total_seconds():
        await drive.turn(at_once)
    Say(f"soak: {at_once} at a time at full speed: {drive.rate:,.0f} a second, {_claims(drive.claiming.taken)}")
    return drive


async def _steadily(plan: _Plan, store: LaneStore, rate: float) -> _Drive:
    """Both shapes in turns, no faster than asked for."""
    drive, began, tell_at, told_of = _Drive(store, plan.lanes), time.perf_counter(), _TELL_EVERY, 0
    for at_once in cycle(_MIXTURE):
        await drive.turn(at_once, rest=_REST)
        passed = time.perf_counter() - began
        if passed >= tell_at:
            recent, told_of = drive.claiming.taken[told_of:], len(drive.claiming.taken)
            Say(f"soak: {passed:,.0f} s, {drive.ended / passed:,.0f} a second of {rate:,.0f}, {_claims(recent)}")
            tell_at += _TELL_EVERY
        if passed >= plan.steady.total_seconds():
            break
        await asyncio.sleep(max(drive.ended / rate - passed, 0.001))
    return drive


def _claims(taken: list[float]) -> str:
    return f"claims {percentile(taken, 0.5) * 1000:.1f} ms, p99 {percentile(taken, 0.99) * 1000:.1f} ms"


def _report(plan: _Plan, name: str, figures: dict[str, dict[str, float]]) -> Report:
    columns = {
        "claimed and settled/s": ("throughPerSecond", ",.0f"),
        "claim p50 ms": ("claimP50Ms", ".1f"),
        "claim p99 ms": ("claimP99Ms", ".1f"),
        "submit/s": ("submittedPerSecond", ",.0f"),
    }
    measured = [f"{shape}, {when}" for shape in _SHAPES for when in ("fresh", "after")]
    rows = [(each, *(format(figures[each][key], form) for key, form in columns.values())) for each in measured]
    ratios = {
        shape: figures[f"{shape}, after"]["throughPerSecond"] / figures[f"{shape}, fresh"]["throughPerSecond"]
        for shape in _SHAPES
    }
    steady = figures["steady"]
    return Report(
        "soak",
        f"{name}: {plan.title}",
        ("", *columns),
        rows,
        {**figures, "ratios": ratios},
        [
            *(
                f"{shape}: {ratio:.2f} of the fresh rate (the goal: {_GOAL} or more)."
                for shape, ratio in ratios.items()
            ),
            f"In between {steady['settled']:,.0f} items were claimed and settled, and as many submitted:"
            f" {steady['settled'] / plan.steady.total_seconds():,.0f} a second, of {steady['asked']:,.0f} asked for.",
            f"Claims of {LANES_AT_ONCE} lanes. Where somebody reads, it was last measured in the middle of that.",
            *(
                f"{what}: {figures['wear'][what]:,.0f} fresh, {worn:,.0f} after."
                for what, worn in figures["worn"].items()
            ),
        ],
    )
