"""The duties of the leader, but for schedules: recovery, tidying up, retention, and saying how many workers to have."""

import asyncio
from datetime import UTC, datetime, timedelta

import structlog

from emissary.engine.events import Event, Hook, delivery_of
from emissary.engine.hearers import Hearers
from emissary.model.alerts import Alert
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import AccountId, EventId, JobId, keyed_ulid
from emissary.model.jobs import NewJob
from emissary.model.leadership import Term
from emissary.model.scaling import Scaling, scaling_of
from emissary.model.webhooks import EventType
from emissary.ports.alerts import Alerts
from emissary.ports.batches import Batches
from emissary.ports.blobs import Blobs
from emissary.ports.clock import Clock
from emissary.ports.idempotency import FirstAnswers
from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords, WorkerRecords
from emissary.ports.upkeep import Retention, Workload
from emissary.ports.usage import Usage
from emissary.telemetry.metrics import Metrics

__all__ = ["Accounting", "Alarm", "Forgetting", "Mending", "Recovery", "Retiring", "ScalingWatch", "Tidying"]

_TIDIED_AT_ONCE = 2_000
_FOLDED_AT_ONCE = 50
_DROPPED_AT_ONCE = 500
_BODIES_AT_ONCE = 50
_LANES_KEPT_LONGER = timedelta(days=7)  # than jobs: whoever shows a job looks for its lane

log = structlog.get_logger(__name__)


class Alarm:
    """Tells the operator: in the log, in the metrics, and through the outbox where there is somebody to be told."""

    def __init__(self, alerts: Alerts, hook: Hook | None, hearers: Hearers, account: AccountId) -> None:
        self._alerts = alerts
        self._hook = hook
        self._hearers = hearers
        self._account = account

    async def tell(self, term: Term, alert: Alert) -> bool:
        """Tell of it; False if that was done before, by whomever."""
        await self._hearers.learn(self._account)
        is_new = await self._alerts.note(term, alert, self._deliveries(alert))
        if is_new:
            log.error("alert", alert=alert.event, subject=alert.subject)
        return is_new

    def _deliveries(self, alert: Alert) -> list[NewJob]:
        """Named by what they tell of and to whom: whoever tells of it as well makes the very same."""
        key = f"{alert.event} {alert.subject}"
        event = Event(
            EventId(f"evt_{keyed_ulid(alert.at, key)}"),
            alert.event,
            alert.at,
            {"subject": alert.subject},
            alert.subject,
        )
        to = self._hearers.of(self._account, alert.event, hook=self._hook)
        jobs = [JobId(f"job_{keyed_ulid(alert.at, f'{key} {index}')}") for index in range(len(to))]
        return [delivery_of(each, event, job=job, account=self._account) for each, job in zip(to, jobs, strict=True)]


class Recovery:
    """Takes back the lanes of workers that died.

    The alert is written under the term. To forsake a worker's lanes twice does nothing: after the first time it holds
    none, and one that is alive after all keeps those it has.
    """

    name = "recovery"
    every = timedelta(seconds=5)

    def __init__(
        self, workers: WorkerRecords, lanes: Lanes, alarm: Alarm, *, gap: timedelta, clock: Clock, metrics: Metrics
    ) -> None:
        self._workers = workers
        self._lanes = lanes
        self._alarm = alarm
        self._gap = gap
        self._clock = clock
        self._metrics = metrics

    async def do(self, term: Term, /) -> bool:
        dead = await self._workers.dead()
        if not dead:
            return False
        now = self._clock.now()
        for worker in dead:
            if await self._alarm.tell(term, Alert(EventType.WORKER_DEAD, worker, now)):
                self._metrics.workers_dead.inc()
        count = await self._lanes.forsake(dead, now, self._gap)
        self._metrics.recovered.inc(count)
        log.info("lanes of dead workers taken back", lanes=count, workers=len(dead))
        return False


class Tidying:
    """Does what pausing and cancelling batches left behind. Each portion is done under the lock of its batch."""

    name = "tidying"
    every = timedelta(seconds=0.5)

    def __init__(self, batches: Batches, clock: Clock) -> None:
        self._batches = batches
        self._clock = clock

    async def do(self, _: Term, /) -> bool:
        return await self._batches.tidy(self._clock.now(), most=_TIDIED_AT_ONCE) > 0


class Accounting:
    """Adds what was used to what is kept by day. A note is added by whoever takes it away, so two may do it."""

    name = "usage"
    every = timedelta(seconds=5)

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    async def do(self, _: Term, /) -> bool:
        return await self._usage.fold(most=_FOLDED_AT_ONCE) == _FOLDED_AT_ONCE


class Forgetting:
    """Drops first answers that were kept for long enough. What is gone is gone, so two may do it."""

    name = "forgetting"
    every = timedelta(minutes=1)

    def __init__(self, answers: FirstAnswers, clock: Clock) -> None:
        self._answers = answers
        self._clock = clock

    async def do(self, _: Term, /) -> bool:
        return await self._answers.forget(self._clock.now(), most=_DROPPED_AT_ONCE) == _DROPPED_AT_ONCE


class Retiring:
    """Drops jobs, results and batches that have been kept for long enough, by the day. What is gone stays gone.

    Objects are deleted before the rows that name them, so that none is left behind.
    """

    name = "retention"
    every = timedelta(hours=1)

    def __init__(self, retention: Retention, blobs: Blobs, keep: timedelta, *, clock: Clock, metrics: Metrics) -> None:
        self._retention = retention
        self._blobs = blobs
        self._keep = keep
        self._clock = clock
        self._metrics = metrics

    async def do(self, _: Term, /) -> bool:
        now = self._clock.now()
        await self._retention.make_room(now)
        before = _midnight(now - self._keep)
        if await self._drop_bodies(before):
            return True
        dropped = await self._retention.drop_before(before, most=_DROPPED_AT_ONCE)
        if not dropped:
            dropped = await self._retention.drop_lanes(before - _LANES_KEPT_LONGER, most=_DROPPED_AT_ONCE)
        self._metrics.dropped.inc(dropped)
        return dropped > 0

    async def _drop_bodies(self, before: datetime) -> bool:
        bodies = await self._retention.bodies_before(before, most=_BODIES_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            deleting = {job: group.create_task(self._delete(name)) for job, name in bodies.items()}
        gone = [job for job, task in deleting.items() if task.result()]
        if gone:
            await self._retention.forget_bodies(gone)
        return bool(gone)

    async def _delete(self, name: str) -> bool:
        try:
            await self._blobs.delete(name)
        except StoreUnavailable as error:
            log.warning("an old result could not be deleted, and will be later", name=name, reason=error.detail)
            return False
        return True


class Mending:
    """Looks for lanes that stand empty although something stands in them. There should be none, so each is told of."""

    name = "mending"
    every = timedelta(minutes=10)

    def __init__(self, workload: Workload, *, clock: Clock, metrics: Metrics) -> None:
        self._workload = workload
        self._clock = clock
        self._metrics = metrics

    async def do(self, _: Term, /) -> bool:
        mended = await self._workload.mend(self._clock.now())
        if mended:
            log.warning("lanes stood empty with work in them, and are back in line", lanes=mended)
            self._metrics.mended.inc(mended)
        return mended > 0


class ScalingWatch:
    """Says how many workers there should be. It changes nothing, so two may say it."""

    name = "scaling"
    every = timedelta(seconds=10)

    def __init__(
        self, workload: Workload, jobs: JobRecords, lanes_per_worker: int, *, clock: Clock, metrics: Metrics
    ) -> None:
        self._workload = workload
        self._jobs = jobs
        self._lanes_per_worker = lanes_per_worker
        self._clock = clock
        self._metrics = metrics

    async def look(self) -> Scaling:
        load = await self._workload.load(self._clock.now())
        return scaling_of(load, await self._jobs.depth(), self._lanes_per_worker)

    async def do(self, _: Term, /) -> bool:
        scaling = await self.look()
        self._metrics.wanted_workers.set(scaling.wanted_workers)
        self._metrics.ready_lanes.set(scaling.ready_lanes)
        self._metrics.waiting_items.set(scaling.waiting_items)
        self._metrics.oldest_wait.set(scaling.oldest_wait.total_seconds())
        return False


def _midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
