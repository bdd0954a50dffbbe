"""Where faults are made: a backend of either kind, the local web, and workers in processes of their own."""

import asyncio
import json
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from served import LOCAL, environment

from emissary.adapters.clock import SystemChance, SystemClock
from emissary.backends.cluster.database import Database
from emissary.compose.backends import Backend, open_backend
from emissary.engine.hearers import Hearers
from emissary.engine.jobs import Jobs, JobStores
from emissary.model.batches import Batch, NewBatch
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId, ulid
from emissary.model.lanes import host_lane
from emissary.products.scrape.batches import ScrapeBatches, page_job
from emissary.products.scrape.order import SCRAPE_HTTP, PageOfBatch
from emissary.reading.urls import parse
from emissary.settings import Settings
from emissary.telemetry.metrics import Metrics
from emissary.testing.web import TestWebProcess

__all__ = ["Order", "Place", "Stage", "WorkerProcess", "embedded_place", "open_stage", "shared_place", "until"]

T = TypeVar("T")

_ALL_AT_ONCE = 1_000


async def until(look: Callable[[], Awaitable[T | None]], *, within: float = 60.0) -> T:
    """What the look finds, as soon as it finds something; a store that is away is no answer yet."""
    async with asyncio.timeout(within):
        while True:
            try:
                if found := await look():
                    return found
            except StoreUnavailable:
                pass
            await SystemClock().sleep(0.02)


@dataclass(frozen=True, slots=True)
class Place:
    """A store, as the settings of whoever works on it name it."""

    folder: Path
    database_url: str | None = None
    objects_url: str | None = None

    @property
    def settings(self) -> Settings:
        return Settings(data_dir=self.folder / "data", database_url=self.database_url, objects_url=self.objects_url)

    @property
    def variables(self) -> Mapping[str, str]:
        named = {"EMISSARY_DATABASE_URL": self.database_url, "EMISSARY_OBJECTS_URL": self.objects_url}
        shared = {name: value for name, value in named.items() if value is not None}
        return {**LOCAL, "EMISSARY_DATA_DIR": str(self.folder / "data"), "EMISSARY_LOG": "json", **shared}

    @property
    def log(self) -> Path:
        return self.folder / "log"

    async def lay_to_rest(self, worker: WorkerId) -> None:
        """Let it be known now that the worker died, and not half a minute after its last beat.

        On the embedded store there is nothing to do: the kernel has said it already.
        """
        if self.database_url is not None:
            await self._write("UPDATE workers SET beat_at = now() - interval '31 seconds' WHERE id = $1", worker)

    async def _write(self, statement: str, *values: object) -> None:
        assert self.database_url is not None
        database = await Database.open(self.database_url)
        await database.write(statement, *values)
        await database.close()


def embedded_place(folder: Path) -> Place:
    return Place(folder)


def shared_place(folder: Path, database_url: str, objects_url: str) -> Place:
    return Place(folder, database_url, objects_url)


class WorkerProcess:
    """`emissary work` on a place."""

    def __init__(self, place: Place) -> None:
        with place.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "emissary", "work", "--json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment(place.folder, place.variables),
            )
        self._place = place

    async def ready(self) -> WorkerId:
        """Who it is, as soon as it works."""
        assert self._process.stdout is not None
        line = await asyncio.to_thread(self._process.stdout.readline)
        assert line.endswith("\n"), f"the worker did not start:\n{self._place.log.read_text()}"
        return WorkerId(json.loads(line)["worker"])

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on where it was, and knows nothing of the time between."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    async def stop(self) -> int:
        """SIGTERM, and the exit code that comes of it."""
        self._process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(self._process.communicate, timeout=30)
        return self._process.returncode


@dataclass(slots=True)
class Stage:
    """The test's own view of the store, and who works on it."""

    place: Place
    web: TestWebProcess
    backend: Backend
    fronts: ScrapeBatches
    chance: random.Random = field(default_factory=lambda: random.Random(7733))
    workers: dict[WorkerId, WorkerProcess] = field(default_factory=dict)

    async def hire(self, count: int = 1) -> None:
        """Start so many workers more, and come back when they work."""
        started = [WorkerProcess(self.place) for _ in range(count)]
        for each in started:
            self.workers[await each.ready()] = each

    async def kill_one(self) -> None:
        """SIGKILL to one of the workers; everybody knows of it at once."""
        name = self.chance.choice(sorted(self.workers))
        self.workers.pop(name).kill()
        await self.place.lay_to_rest(name)

    async def dismiss(self) -> list[int]:
        """Stop all workers in order; returns their exit codes."""
        return [await self.workers.pop(name).stop() for name in list(self.workers)]

    async def order(self) -> "Order":
        """A new batch."""
        now = self.backend.clock.now()
        name = BatchId(f"bat_{ulid(now, self.fronts.chance.draw(10))}")
        batch = NewBatch(name, AccountId("acc_faults"), SCRAPE_HTTP, None, b"{}")
        await self.backend.batches.open(batch, now)
        return Order(self, batch)

    async def tidy(self) -> None:
        """Do at once what a leader does in its time; the last one may just have been killed."""
        while await self.backend.batches.tidy(self.backend.clock.now(), most=_ALL_AT_ONCE):
            pass


@dataclass(slots=True)
class Order:
    """A batch, and which of its jobs somebody was told that they were accepted."""

    stage: Stage
    batch: NewBatch
    accepted: set[JobId] = field(default_factory=set)

    async def add(self, pages: int) -> None:
        """Have so many more pages read: on all hosts, and some by way of another."""
        jobs = []
        for _ in range(pages):
            url = parse(self._page())
            page = PageOfBatch(url.href)
            jobs.append(page_job(self.stage.fronts, self.batch, page, lane=host_lane(url.authority), mark=None))
        self.accepted |= await self.stage.fronts.jobs.accept(jobs)
        with suppress(StoreUnavailable):  # the next one says it again, long before the batch is given up
            await self.stage.backend.batches.hear(self.batch.id, self.stage.backend.clock.now())

    async def seal(self) -> None:
        await self.stage.backend.batches.seal(self.batch.id)

    async def find(self) -> Batch:
        found = await self.stage.backend.batches.find(self.batch.id)
        assert found is not None
        return found

    async def until_ended(self, count: int, *, within: float = 60.0) -> Batch:
        """The batch, as soon as so many of its jobs have ended."""

        async def look() -> Batch | None:
            found = await self.find()
            return found if found.counts.ended >= count else None

        return await until(look, within=within)

    async def until_all_ended(self, *, within: float = 60.0) -> None:
        """Also those that were accepted without anybody hearing of it."""

        async def look() -> bool:
            found = await self.find()
            return found.counts.ended == found.total

        await until(look, within=within)
        await self.stage.tidy()

    def _page(self) -> str:
        chance, web = self.stage.chance, self.stage.web
        host = chance.randint(1, len(web.hosts))
        return web.url("moved", f"/to/{host}/small") if chance.random() < 0.05 else web.host_url(host, "/small")


@asynccontextmanager
async def open_stage(place: Place, web: TestWebProcess) -> AsyncIterator[Stage]:
    """Open the store; whoever still works at the end is killed."""
    chance = SystemChance()
    async with open_backend(place.settings, chance) as backend:
        metrics, clock = Metrics(), backend.clock
        jobs = Jobs(JobStores(backend.lanes, backend.jobs, backend.blobs), backend.bus, clock=clock, metrics=metrics)
        hearers = Hearers(backend.webhooks, clock)
        fronts = ScrapeBatches(jobs, backend.batches, backend.ledger, hearers=hearers, clock=clock, chance=chance)
        stage = Stage(place, web, backend, fronts)
        try:
            yield stage
        finally:
            for worker in stage.workers.values():
                worker.kill()
