"""Station 3 of 7: leases lanes, serves them at their pace, and keeps the leases alive."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from math import inf

import structlog

from emissary.engine.lane_run import LaneRun, Tools
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import BatchId, WorkerId
from emissary.model.lanes import Claim, Holding, LaneKey, Lease, Pace
from emissary.ports.bus import Bus, Ears
from emissary.ports.lanes import Lanes
from emissary.ports.records import WorkerRecords

__all__ = ["LANES_TOPIC", "Ground", "PaceOf", "Worker", "WorkerLimits"]

LANES_TOPIC = "lanes"
_HEED_SECONDS = 1.0
_BEAT_SECONDS = 4.0
_SILENCE_SECONDS = 12.0  # others take us for dead after 30
_UNSURE_SECONDS = 30.0  # longer than anything that we gave up may still run in the store

PaceOf = Callable[[LaneKey], Pace]
"""How politely the thing behind a lane is used, before it has said anything itself."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """How much one worker takes on. The urgent lanes come on top: somebody waits for what is in them."""

    lanes: int = 100
    urgent_lanes: int = 10
    all_lanes: int | None = None  # what all workers together may hold
    account_lanes: int | None = None  # of those, for an account that has no limit of its own
    memory: int | None = None  # bytes above which nothing more is taken on
    lease: timedelta = timedelta(minutes=5)
    poll: timedelta = timedelta(seconds=1)
    grace: timedelta = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a worker finds its work, hears of it, and says that it is there."""

    lanes: Lanes
    bus: Bus
    workers: WorkerRecords
    halted: Callable[[Collection[BatchId]], Awaitable[frozenset[BatchId]]]  # see `ports.batches.Ledger`


@dataclass(slots=True)
class _Held:
    run: LaneRun
    task: asyncio.Task[None]
    good_until: float


class Worker:
    """One worker.

    It stops using a lane at 70 % of a lease that it could not renew: the fence guards the store, not the remote site,
    so the old holder must have stopped before a new one may begin.
    """

    def __init__(
        self,
        identity: WorkerId,
        ground: Ground,
        tools: Tools,
        *,
        pace: PaceOf,
        limits: WorkerLimits,
        memory: Callable[[], int] = lambda: 0,
    ) -> None:
        self.id = identity
        self._lanes = ground.lanes
        self._bus = ground.bus
        self._workers = ground.workers
        self._halted = ground.halted
        self._tools = tools
        self._clock = tools.clock
        self._pace_of = pace
        self._limits = limits
        self._memory = memory
        self._held: dict[LaneKey, _Held] = {}
        self._bell = asyncio.Event()
        self._stopping = False
        self._silent = False
        self._unsure_since: float | None = None  # when something may last have come into our name without our knowledge

    def stop(self) -> None:
        """Claim nothing more; finish what has begun, give the rest back."""
        self._stopping = True
        self._bell.set()
        for held in self._held.values():
            held.run.stop()

    async def run(self) -> None:
        """Work until told to stop."""
        await self._workers.enlist(self.id)
        try:
            await self._recover()
            async with asyncio.TaskGroup() as group:
                settling = group.create_task(self._tools.settler.run())
                async with self._bus.listen(LANES_TOPIC) as ears:
                    chores = [
                        group.create_task(self._listen(ears)),
                        group.create_task(self._keep_leases()),
                        group.create_task(self._watch_leases()),
                        group.create_task(self._stay_known()),
                        group.create_task(self._heed_batches()),
                    ]
                    await self._claim_until_stopped(group)
                    await self._finish()
                for chore in chores:
                    chore.cancel()
                self._tools.settler.close()
                # What cannot be written by then is void: its lanes go to others when their leases run out.
                await asyncio.wait([settling], timeout=self._limits.grace.total_seconds())
                settling.cancel()
        finally:
            await self._leave()

    async def _leave(self) -> None:
        try:
            await self._workers.leave(self.id)
        except StoreUnavailable as error:
            log.warning("nobody could be told that this worker goes", reason=error.detail)

    async def _recover(self) -> None:
        """Take back the lanes of workers that died: at start, since the leader's own look may come later."""
        dead = await self._workers.dead()
        if dead:
            count = await self._lanes.forsake(dead, self._clock.now(), self._pace_of(LaneKey("host:")).gap)
            self._tools.metrics.recovered.inc(count)
            log.info("lanes of dead workers taken back", lanes=count, workers=len(dead))

    async def _claim_until_stopped(self, group: asyncio.TaskGroup) -> None:
        while not self._stopping:
            self._bell.clear()
            patience = self._limits.poll.total_seconds()
            try:
                patience = await self._claim(group)
            except StoreUnavailable as error:
                self._unsure_since = self._clock.monotonic()  # it may have been written, and only its answer be lost
                log.warning("no lanes could be claimed", reason=error.detail)
            if patience > 0 and not self._stopping:
                await self._wait(patience)

    async def _claim(self, group: asyncio.TaskGroup) -> float:
        """Lease what is ready; returns how long to wait for more."""
        asked = self._wanted()
        if asked is None:
            return self._limits.poll.total_seconds()
        began = self._clock.monotonic()
        claimed = await self._lanes.claim(asked, self._clock.now())
        for lease in claimed.leases:
            self._hold(lease, began, group)
        if self._unsure_since is not None and began - self._unsure_since >= _UNSURE_SECONDS:
            self._unsure_since = None
        if len(claimed.leases) >= asked.lanes or claimed.next_ready_at is None:
            return self._limits.poll.total_seconds()
        until_next = (claimed.next_ready_at - self._clock.now()).total_seconds()
        return min(max(until_next, 0.001), self._limits.poll.total_seconds())

    def _wanted(self) -> Claim | None:
        """As many lanes as there are hands free, and a few on top for whoever waits or has just come."""
        free = self._limits.lanes - len(self._held)
        lanes, urgent = max(free, 0), self._limits.urgent_lanes + min(free, 0)
        if lanes + urgent <= 0 or self._silent or self._is_full():
            return None
        until = self._clock.now() + self._limits.lease
        items, holding = self._tools.items_per_take, self._holding()
        all_lanes, account_lanes = self._limits.all_lanes, self._limits.account_lanes
        return Claim(self.id, until, lanes, items, urgent, all_lanes, holding, account_lanes, self._tools.things)

    def _holding(self) -> Holding | None:
        """What is in hand, where the store may know it otherwise; a lane is in hand until its release is written."""
        if self._unsure_since is None:
            return None
        grips = self._tools.settler.releasing.union(held.run.grip for held in self._held.values())
        return Holding(grips, self._pace_of(LaneKey("host:")).gap)

    def _is_full(self) -> bool:
        return self._limits.memory is not None and self._memory() > self._limits.memory

    def _hold(self, lease: Lease, began: float, group: asyncio.TaskGroup) -> None:
        if (outlived := self._held.get(lease.grip.lane)) is not None:
            self._lose(outlived)  # the lease ran out unnoticed, as it does when the whole machine pauses
        run = LaneRun(lease, self._pace_of(lease.grip.lane), self._tools)
        if self._stopping:
            run.stop()  # the claim was under way when the word came
        task = group.create_task(self._serve(run))
        self._held[lease.grip.lane] = _Held(run, task, self._good_until(began))
        self._tools.metrics.lanes_held.set(len(self._held))

    async def _serve(self, run: LaneRun) -> None:
        try:
            await run.run()
        finally:
            held = self._held.get(run.grip.lane)
            if held is not None and held.run is run:
                del self._held[run.grip.lane]
            self._tools.metrics.lanes_held.set(len(self._held))
            self._bell.set()

    async def _wait(self, patience: float) -> None:
        try:
            async with asyncio.timeout(patience):
                await self._bell.wait()
        except TimeoutError:
            return

    async def _listen(self, ears: Ears) -> None:
        """Work for a lane that is held reaches its holder at once; other work is a reason to claim."""
        while True:
            for word in await ears.hear(self._limits.poll.total_seconds()):
                held = self._held.get(LaneKey(word))
                if held is None:
                    self._bell.set()
                else:
                    held.run.look_again()

    async def _keep_leases(self) -> None:
        while True:
            await self._clock.sleep(self._limits.lease.total_seconds() / 10)
            if self._held:
                await self._renew()

    async def _renew(self) -> None:
        held, began = list(self._held.values()), self._clock.monotonic()
        try:
            lost = await self._lanes.renew([each.run.grip for each in held], self._clock.now() + self._limits.lease)
        except StoreUnavailable as error:
            log.warning("leases could not be renewed", reason=error.detail)
            return
        for each in held:
            if each.run.grip.lane in lost:
                self._lose(each)
            else:
                each.good_until = self._good_until(began)

    async def _watch_leases(self) -> None:
        """A chore of its own: a renewal that hangs must not keep a lane in use either."""
        while True:
            await self._clock.sleep(self._limits.lease.total_seconds() / 20)
            for each in list(self._held.values()):
                if self._clock.monotonic() >= each.good_until:
                    self._lose(each)

    async def _heed_batches(self) -> None:
        """Begin nothing more of a batch that was cancelled or paused: lanes that have some of it go back."""
        while True:
            await self._clock.sleep(_HEED_SECONDS)
            runs = [(held.run, held.run.batches) for held in self._held.values()]
            batches = set[BatchId]().union(*(own for _, own in runs))
            if not batches:
                continue
            try:
                halted = await self._halted(batches)
            except StoreUnavailable as error:
                log.warning("nobody could be asked whether batches go on", reason=error.detail)
                continue
            for run, own in runs:
                if not own.isdisjoint(halted):
                    run.stop()

    async def _stay_known(self) -> None:
        """Say that we are there. Whoever cannot is taken for dead, and must have stopped using its lanes by then."""
        known_at = self._clock.monotonic()
        while True:
            await self._clock.sleep(_BEAT_SECONDS)
            began = self._clock.monotonic()
            if began - known_at >= _SILENCE_SECONDS:  # the store is away, or we were paused
                self._silent = True
                for each in list(self._held.values()):
                    self._lose(each)
            try:
                async with asyncio.timeout(_BEAT_SECONDS):
                    await self._workers.beat(self.id)
            except (StoreUnavailable, TimeoutError) as error:
                log.warning("nobody could be told that this worker lives", reason=str(error))
            else:
                known_at, self._silent = began, False

    def _lose(self, held: _Held) -> None:
        """Use the lane no more. It may be in our name until its lease runs out; the next claim gives it back."""
        self._unsure_since = self._clock.monotonic()
        self._tools.metrics.leases_lost.inc()
        log.warning("lease lost", lane=held.run.grip.lane)
        held.good_until = inf
        held.run.lose()

    def _good_until(self, began: float) -> float:
        return began + 0.7 * self._limits.lease.total_seconds()

    async def _finish(self) -> None:
        """Let what has begun come to its end; what does not within the grace is given back unfinished."""
        tasks = [held.task for held in self._held.values()]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=self._limits.grace.total_seconds())
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
