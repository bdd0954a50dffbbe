"""A small workshop: a real embedded store, a worker or two, and handlers that do as the test says."""

import asyncio
import itertools
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.ledger import SqliteLedger
from emissary.backends.embedded.records import SqliteJobRecords
from emissary.backends.local_bus import LocalBus
from emissary.engine.handlers import Done, Handler, Result, Turn, Verdict, Work
from emissary.engine.jobs import Jobs, JobStores
from emissary.engine.lane_run import Tools
from emissary.engine.results import JOB_TOPIC, Settler
from emissary.engine.worker import Ground, Worker, WorkerLimits
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId
from emissary.model.jobs import FINAL_STATES, Job, JobState, Kind, NewJob, Priority
from emissary.model.lanes import Pace, Thing
from emissary.model.waiting import PLAIN_TERMS, Terms
from emissary.ports.clock import Clock
from emissary.ports.records import WorkerRecords
from emissary.telemetry.metrics import Metrics
from emissary.testing.stores import ShakyBlobs, ShakyLanes

TEST = Kind("test")
A, B = "host:a.example", "host:b.example"
NO_PACE = Pace(timedelta())
LIMITS = WorkerLimits(lease=timedelta(seconds=100), poll=timedelta(milliseconds=5), grace=timedelta(seconds=20))

_numbers = itertools.count(1)

Play = Callable[[Work, Turn], Awaitable[Verdict]]


def job(
    lane: str = A, priority: Priority = Priority.NORMAL, kind: Kind = TEST, *, batch: BatchId | None = None
) -> NewJob:
    number = next(_numbers)
    return NewJob(JobId(f"job_{number:026d}"), AccountId("acc_1"), kind, lane, b"{}", priority, None, batch)


def finished(body: bytes | None = None) -> Done:
    return Done(JobState.COMPLETED, Result(b'"well"', body))


class Playing:
    """Keeps the promise of `engine.handlers.Handler`, and does what the test hands it."""

    def __init__(self, play: Play) -> None:
        self.handle = play

    def broken(self, work: Work, reason: str) -> Done:
        assert work.item.kind == TEST
        return Done(JobState.FAILED, Result(f'"broken: {reason}"'.encode()))

    def given_up(self, work: Work) -> Done:
        assert work.item.kind == TEST
        return Done(JobState.FAILED, Result(b'"given up"'))


@dataclass(slots=True)
class Gate:
    """A handler that stops before its end until the test opens the gate."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    seen: list[JobId] = field(default_factory=list)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    async def play(self, work: Work, turn: Turn) -> Verdict:
        async with turn():
            self.seen.append(work.item.job)
            self.reached.set()
            try:
                await self.opened.wait()
            except asyncio.CancelledError:
                self.stopped.set()
                raise
            return finished()


@dataclass(slots=True)
class Workshop:
    lanes: ShakyLanes
    records: SqliteJobRecords
    blobs: ShakyBlobs
    workers: WorkerRecords
    clock: Clock
    database: Database
    halted: set[BatchId] = field(default_factory=set)  # batches of which workers have heard that they do not go on
    bus: LocalBus = field(default_factory=LocalBus)
    metrics: Metrics = field(default_factory=Metrics)
    terms: Terms = PLAIN_TERMS

    @property
    def jobs(self) -> Jobs:
        stores = JobStores(self.lanes, self.records, self.blobs)
        return Jobs(stores, self.bus, clock=self.clock, metrics=self.metrics, terms=self.terms)

    def worker(
        self,
        play: Play,
        name: str = "wrk_ann",
        *,
        pace: Pace = NO_PACE,
        limits: WorkerLimits = LIMITS,
        items: int = 20,
        things: frozenset[Thing] | None = None,
    ) -> Worker:
        handlers: dict[Kind, Handler] = {TEST: Playing(play)}
        settler = Settler(self.lanes, self.bus, self.clock, self.metrics)
        tools = Tools(handlers, settler, self.blobs, self.clock, self.metrics, items, things=things)
        ground = Ground(self.lanes, self.bus, self.workers, self._halted)
        return Worker(WorkerId(name), ground, tools, pace=lambda _: pace, limits=limits)

    async def _halted(self, batches: Collection[BatchId]) -> frozenset[BatchId]:
        found = await SqliteLedger(self.database).halted(batches)
        self.halted |= found
        return found

    async def until_let_go(self, lane: str) -> None:
        """Wait until nobody holds the lane."""

        def holder(connection: sqlite3.Connection) -> object:
            return connection.execute("SELECT holder FROM lanes WHERE key = ?", (lane,)).fetchone()[0]

        async with asyncio.timeout(20):
            while await self.database.read(holder) is not None:
                pass

    async def submit(self, *new: NewJob) -> None:
        """Accept the jobs, and let workers know."""
        await self.jobs.accept(new)

    async def see(self, job: JobId) -> Job:
        found = await self.records.job(job, self.clock.now())
        assert found is not None
        return found

    async def until_state(self, job: JobId, *states: JobState) -> Job:
        """Wait for the job to be in one of the states, with an ear on the bus."""
        async with asyncio.timeout(20), self.bus.listen(JOB_TOPIC + job) as ears:
            while (found := await self.see(job)).state not in states:
                await ears.hear(0.01)
        return found

    async def until_end(self, *jobs: NewJob) -> list[Job]:
        return [await self.until_state(each.id, *FINAL_STATES) for each in jobs]


@asynccontextmanager
async def working(*workers: Worker) -> AsyncIterator[None]:
    """The workers work until the end of the block, and then come to their own; a test that hangs fails instead."""
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for worker in workers:
            group.create_task(worker.run())
        yield
        for worker in workers:
            worker.stop()
