"""Station 6 of 7: settles. What a worker has to tell is gathered and written together, the result with its job."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from emissary.engine.handlers import Result
from emissary.model import zstd
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import JobId
from emissary.model.jobs import StoredResult
from emissary.model.lanes import Grip, Item, Release, Report, Settlement, Trial, Wish
from emissary.ports.blobs import Blobs
from emissary.ports.bus import Bus
from emissary.ports.clock import Clock
from emissary.ports.lanes import Lanes
from emissary.telemetry.metrics import Metrics

__all__ = ["JOB_TOPIC", "Settler", "pack", "unpack"]

JOB_TOPIC = "job:"
_SMALL = 2048  # below this, a compressed result saves less than it costs
_INLINE = 64 * 1024
_RETRY_SECONDS = 0.5
_BUSY = 4  # settlements in one report: where there are so many, more are on their way
_BREATH_SECONDS = 0.02
_COMPRESSOR = zstd.ZstdCompressor(3)  # making one costs more than compressing a small result with it
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

log = structlog.get_logger(__name__)


async def pack(job: JobId, result: Result, blobs: Blobs) -> StoredResult:
    """The result as it is kept: small bodies as they are, larger ones compressed, the largest in the object store."""
    body = result.body
    if body is None or len(body) < _SMALL:
        return StoredResult(result.outcome, body)
    packed = _COMPRESSOR.compress(body, zstd.ZstdCompressor.FLUSH_FRAME)
    if len(packed) <= _INLINE:
        return StoredResult(result.outcome, packed)
    # The object is synced before the row that points to it is written: a pointer never leads nowhere.
    name = f"results/{job[-26:-20]}/{job}"
    await blobs.put(name, packed)
    return StoredResult(result.outcome, None, name)


async def unpack(job: JobId, result: StoredResult, blobs: Blobs) -> bytes | None:
    """The body of the job's result, or None if it left none."""
    body = result.body
    if result.blob is not None:
        body = await blobs.get(result.blob)
        if body is None:
            raise StoreUnavailable(f"the result of {job} is missing in the object store")
    return zstd.decompress(body) if body is not None and body.startswith(_ZSTD_MAGIC) else body


@dataclass(slots=True)
class _Asked:
    wish: Wish
    future: asyncio.Future[tuple[Item, ...] | None] = field(default_factory=asyncio.Future)


@dataclass(slots=True)
class _Told:
    """What is to be written at the next moment, and who wants to know when it is."""

    settlements: list[Settlement] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    when_written: list[Callable[[], None]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.settlements or self.releases or self.trials)

    def before(self, later: "_Told") -> "_Told":
        return _Told(
            self.settlements + later.settlements,
            self.releases + later.releases,
            self.trials + later.trials,
            self.when_written + later.when_written,
        )


async def _nothing_else() -> None:
    pass


class Settler:
    """Gathers what lanes have to tell while the last report is being written, then writes all of it at once.

    `beforehand` comes first, once for each report: it returns when all that results point to is on disk. While it
    fails, nothing is settled: a pointer never leads nowhere.
    """

    def __init__(
        self,
        lanes: Lanes,
        bus: Bus,
        clock: Clock,
        metrics: Metrics,
        *,
        beforehand: Callable[[], Awaitable[None]] = _nothing_else,
    ) -> None:
        self._lanes = lanes
        self._bus = bus
        self._clock = clock
        self._metrics = metrics
        self._beforehand = beforehand
        self._told = _Told()
        self._asked: list[_Asked] = []
        self._releasing: set[Grip] = set()
        self._bell = asyncio.Event()
        self._breath: asyncio.Future[None] | None = None
        self._closing = False

    @property
    def releasing(self) -> frozenset[Grip]:
        """The lanes of which it is not written yet that they were given back."""
        return frozenset(self._releasing)

    def settle(self, settlement: Settlement, when_written: Callable[[], None] | None = None) -> None:
        self._told.settlements.append(settlement)
        if when_written is not None:
            self._told.when_written.append(when_written)
        self._bell.set()

    def release(self, release: Release) -> None:
        """Give the lane back, after all that was settled before."""
        self._told.releases.append(release)
        self._releasing.add(release.grip)
        self._bell.set()

    async def try_out(self, trial: Trial) -> None:
        """Have it written that this item is about to be handled; should the worker die now, it is known what of."""
        written = asyncio.Event()
        self._told.trials.append(trial)
        self._told.when_written.append(written.set)
        self._bell.set()
        await written.wait()

    def more(self, wish: Wish) -> asyncio.Future[tuple[Item, ...] | None]:
        """Further items of the lane, when they come; None if it is in other hands by now."""
        asked = _Asked(wish)
        self._asked.append(asked)
        self._bell.set()
        return asked.future

    def close(self) -> None:
        """End `run` as soon as everything is written."""
        self._closing = True
        self._bell.set()
        if self._breath is not None:
            self._breath.cancel()

    async def run(self) -> None:
        while not (self._closing and not self._told):
            await self._bell.wait()
            self._bell.clear()
            told, asked = self._told, self._asked
            self._told, self._asked = _Told(), []
            if not await self._tell_all(told, asked):
                await self._clock.sleep(_RETRY_SECONDS)
                self._bell.set()
            elif len(told.settlements) >= _BUSY and not self._closing:
                await self._gather_more()

    async def _tell_all(self, told: _Told, asked: list[_Asked]) -> bool:
        """Whether everything was written and taken; what was not is told or asked for again."""
        if told.settlements:
            try:
                await self._beforehand()
            except StoreUnavailable as error:
                self._put_back(told, error)
                self._asked[:0] = asked  # what could not be settled either is not begun
                return False
        # Begun together, they are committed together where the store can.
        return all(await asyncio.gather(self._write(told), self._grant(asked)))

    async def _gather_more(self) -> None:
        """A commit costs about as much for one settlement as for ten. Whoever is alone is never kept waiting."""
        self._breath = asyncio.ensure_future(self._clock.sleep(_BREATH_SECONDS))
        await asyncio.wait([self._breath])

    async def _write(self, told: _Told) -> bool:
        if not told:
            return True
        report = Report(tuple(told.settlements), tuple(told.releases), tuple(told.trials))
        try:
            written = await self._lanes.settle(report, self._clock.now())
        except StoreUnavailable as error:
            self._put_back(told, error)
            return False
        for tell in told.when_written:
            tell()
        self._metrics.settle_batch.observe(len(report.settlements))
        for release in report.releases:
            self._releasing.discard(release.grip)
            self._bus.say("lanes", release.grip.lane)  # whoever looks now finds what is still in it
        for settlement in report.settlements:
            if settlement.job in written:
                self._tell(settlement)
            else:
                self._metrics.fenced.inc()
                log.warning("settlement too late", job=settlement.job, lane=settlement.grip.lane)
        states = Counter(settlement.state for settlement in report.settlements if settlement.job in written)
        for state, count in states.items():
            self._metrics.settled.labels(state.value).inc(count)
        return True

    def _put_back(self, told: _Told, error: StoreUnavailable) -> None:
        """Nothing of it was written, so nothing is lost: it is told again until the store takes it, or until the leases
        have run out and the fence makes it void.
        """
        log.warning("report not written, will be told again", reason=error.detail)
        self._told = told.before(self._told)

    def _tell(self, settlement: Settlement) -> None:
        self._bus.say(JOB_TOPIC + settlement.job, settlement.state)
        if settlement.onward is not None:
            self._bus.say("lanes", settlement.onward)
        for follow_up in settlement.follow_ups:
            self._bus.say("lanes", follow_up.lane)

    async def _grant(self, asked: list[_Asked]) -> bool:
        if not asked:
            return True
        try:
            taken = await self._lanes.take([each.wish for each in asked], self._clock.now())
        except StoreUnavailable as error:
            log.warning("no further items could be taken, will be asked again", reason=error.detail)
            self._asked[:0] = asked
            return False
        for each in asked:
            if not each.future.done():
                lane = each.wish.grip.lane
                each.future.set_result(None if lane in taken.lost else taken.items.get(lane, ()))
        return True
