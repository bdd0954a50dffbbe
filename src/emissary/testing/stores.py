"""Stores that fail when they are told to."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from emissary.model.errors import StoreUnavailable
from emissary.model.ids import JobId, WorkerId
from emissary.model.jobs import NewJob
from emissary.model.lanes import Claim, Claimed, Grip, LaneKey, Report, Taken, Wish
from emissary.ports.blobs import Blobs
from emissary.ports.lanes import Lanes
from emissary.ports.records import WorkerRecords

__all__ = ["ShakyBlobs", "ShakyLanes", "ShakyWorkers"]


class ShakyLanes:
    """Keeps the promise of `ports.lanes.Lanes` as its store does; while `down` or not `open`, nothing reaches that.

    With `loses_answers` claims do reach it, and nobody hears what they got.
    """

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self.open = asyncio.Event()  # cleared, calls hang until it is set
        self.open.set()
        self.down = False
        self.loses_answers = False
        self.waiting = 0

    async def submit(
        self, jobs: Sequence[NewJob], now: datetime, *, most_queued: int | None = None
    ) -> frozenset[JobId]:
        return await (await self._reach()).submit(jobs, now, most_queued=most_queued)

    async def claim(self, claim: Claim, now: datetime) -> Claimed:
        claimed = await (await self._reach()).claim(claim, now)
        if self.loses_answers:
            raise StoreUnavailable("the answer was lost, as the test asked")
        return claimed

    async def take(self, wishes: Sequence[Wish], now: datetime) -> Taken:
        return await (await self._reach()).take(wishes, now)

    async def renew(self, grips: Sequence[Grip], until: datetime) -> frozenset[LaneKey]:
        return await (await self._reach()).renew(grips, until)

    async def settle(self, report: Report, now: datetime) -> frozenset[JobId]:
        return await (await self._reach()).settle(report, now)

    async def wake(self, now: datetime) -> int:
        return await (await self._reach()).wake(now)

    async def forsake(self, workers: Sequence[WorkerId], now: datetime, gap: timedelta) -> int:
        return await (await self._reach()).forsake(workers, now, gap)

    async def cancel(self, jobs: Sequence[JobId], now: datetime) -> frozenset[JobId]:
        return await (await self._reach()).cancel(jobs, now)

    async def _reach(self) -> Lanes:
        self.waiting += 1
        await self.open.wait()
        self.waiting -= 1
        if self.down:
            raise StoreUnavailable("the store is down, as the test asked")
        return self._lanes


class ShakyBlobs:
    """Keeps the promise of `ports.blobs.Blobs` as its store does; while `down`, nothing reaches that store."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self.down = False

    async def put(self, name: str, body: bytes) -> None:
        await self._reach().put(name, body)

    async def get(self, name: str) -> bytes | None:
        return await self._reach().get(name)

    async def delete(self, name: str) -> None:
        await self._reach().delete(name)

    async def names(self, prefix: str) -> list[str]:
        return await self._reach().names(prefix)

    def _reach(self) -> Blobs:
        if self.down:
            raise StoreUnavailable("the object store is down, as the test asked")
        return self._blobs


class ShakyWorkers:
    """Keeps the promise of `ports.records.WorkerRecords` as its store does; while `down`, workers cannot reach that."""

    def __init__(self, workers: WorkerRecords) -> None:
        self._workers = workers
        self.down = False
        self.beats: list[WorkerId] = []

    async def enlist(self, worker: WorkerId) -> None:
        await self._reach().enlist(worker)

    async def beat(self, worker: WorkerId) -> None:
        await self._reach().beat(worker)
        self.beats.append(worker)

    async def leave(self, worker: WorkerId) -> None:
        await self._reach().leave(worker)

    async def living(self) -> list[WorkerId]:
        return await self._reach().living()

    async def dead(self) -> list[WorkerId]:
        return await self._reach().dead()

    def _reach(self) -> WorkerRecords:
        if self.down:
            raise StoreUnavailable("the store is down, as the test asked")
        return self._workers
