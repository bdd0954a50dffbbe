"""The leader's duties: lanes of the dead come back, the operator is told once, and what is old goes."""

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from office import Candidate
from workshop import A, B, job

from emissary.backends.embedded.alerts import SqliteAlerts
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.blobs import FileBlobs
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.leadership import SqliteLeadership
from emissary.backends.embedded.records import SqliteJobRecords
from emissary.backends.embedded.upkeep import SqliteRetention, SqliteWorkload
from emissary.backends.embedded.usage import SqliteUsage
from emissary.backends.embedded.webhooks import SqliteWebhooks
from emissary.backends.embedded.workers import LockedWorkers
from emissary.engine.duties import Accounting, Alarm, Recovery, Retiring, ScalingWatch, Tidying
from emissary.engine.events import DELIVER, Hook
from emissary.engine.hearers import Hearers
from emissary.model.batches import BatchState, NewBatch
from emissary.model.errors import TermOver
from emissary.model.ids import AccountId, BatchId, JobId, WebhookId, WorkerId, ulid
from emissary.model.jobs import JobState, NewJob, StoredResult
from emissary.model.lanes import Claim, Lease, Reason, Release, Report, Settlement
from emissary.model.leadership import Term
from emissary.model.usage import UsageBy
from emissary.model.webhooks import EventType, Webhook
from emissary.reading.urls import parse
from emissary.telemetry.metrics import Metrics
from emissary.testing.clock import FakeClock
from emissary.testing.stores import ShakyBlobs

pytestmark = pytest.mark.anyio

ANN, BOB, CLEO = WorkerId("wrk_ann"), WorkerId("wrk_bob"), WorkerId("wrk_cleo")
OPERATOR = AccountId("acc_operator")
HOOK = Hook(parse("https://operator.example/alerts"), "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0")
DAY = timedelta(days=1)


@dataclass(slots=True)
class Store:
    database: Database
    workers: LockedWorkers
    blobs: ShakyBlobs
    clock: FakeClock
    metrics: Metrics

    @property
    def lanes(self) -> SqliteLanes:
        return SqliteLanes(self.database)

    @property
    def jobs(self) -> SqliteJobRecords:
        return SqliteJobRecords(self.database)

    @property
    def alerts(self) -> SqliteAlerts:
        return SqliteAlerts(self.database)

    def recovery(self, hook: Hook | None = None) -> Recovery:
        return Recovery(
            self.workers,
            self.lanes,
            Alarm(self.alerts, hook, Hearers(SqliteWebhooks(self.database), self.clock), OPERATOR),
            gap=timedelta(seconds=10),
            clock=self.clock,
            metrics=self.metrics,
        )

    def retiring(self) -> Retiring:
        retention = SqliteRetention(self.database)
        return Retiring(retention, self.blobs, 30 * DAY, clock=self.clock, metrics=self.metrics)

    async def lead(self, candidate: WorkerId = ANN) -> Term:
        """Lead for no time at all: whoever asks next takes over."""
        term = await SqliteLeadership(self.database).lead(candidate, timedelta(), self.clock.now())
        assert term is not None
        return term

    async def claim(self, worker: WorkerId) -> list[Lease]:
        now = self.clock.now()
        return list((await self.lanes.claim(Claim(worker, now + DAY, 9, 9), now)).leases)

    def count(self, name: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"emissary_{name}")


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock, anyio_backend: str) -> AsyncIterator[Store]:
    database = await Database.open(tmp_path / "emissary.db")
    workers = LockedWorkers(database, tmp_path / "workers")
    yield Store(database, workers, ShakyBlobs(FileBlobs(tmp_path / "objects")), clock, Metrics())
    await database.close()


# Usage


async def test_what_was_used_is_added_up_in_portions(store: Store) -> None:
    for _ in range(51):
        await store.lanes.submit([job(A)], store.clock.now())
        (lease,) = await store.claim(BOB)
        (item,) = lease.items
        end = Settlement(lease.grip, item.job, item.rank, store.clock.now(), JobState.COMPLETED, credits=1)
        free = Release(lease.grip, store.clock.now(), Reason.GAP)
        await store.lanes.settle(Report((end,), (free,)), store.clock.now())
    duty, today = Accounting(SqliteUsage(store.database)), store.clock.now().date()
    assert await duty.do(await store.lead())
    assert not await duty.do(await store.lead())
    (row,) = await SqliteUsage(store.database).of_account(AccountId("acc_1"), today, today, UsageBy.HOST)
    assert (row.key, row.jobs, row.credits) == ("a.example", 51, 51)
    assert await SqliteUsage(store.database).fold(most=9) == 0


# Recovery


async def test_the_lanes_of_a_dead_worker_rest_and_go_to_others(store: Store) -> None:
    await store.lanes.submit([job(A), job(B)], store.clock.now())
    await store.claim(BOB)  # who never enlisted, and so is not there
    await store.recovery().do(await store.lead())
    assert await store.claim(CLEO) == []
    store.clock.advance(10)
    assert len(await store.claim(CLEO)) == 2
    assert (store.count("lanes_recovered_total"), store.count("workers_dead_total")) == (2, 1)


async def test_the_lanes_of_a_living_worker_stay_with_it(store: Store) -> None:
    await store.lanes.submit([job(A)], store.clock.now())
    await store.workers.enlist(BOB)
    await store.claim(BOB)
    await store.recovery().do(await store.lead())
    store.clock.advance(60)
    assert await store.claim(CLEO) == []
    assert await store.alerts.latest(most=9) == []
    await store.workers.leave(BOB)


async def test_the_operator_is_told_once_of_a_dead_worker_whoever_sees_it(store: Store) -> None:
    for leader in (ANN, CLEO, ANN):
        await store.lanes.submit([job(A)], store.clock.now())
        store.clock.advance(60)
        await store.claim(BOB)
        await store.recovery(HOOK).do(await store.lead(leader))
    assert [alert.subject for alert in await store.alerts.latest(most=9)] == [BOB]
    assert store.count("workers_dead_total") == 1
    store.clock.advance(60)
    told = [item for lease in await store.claim(CLEO) for item in lease.items if item.kind == DELIVER]
    assert [item.account for item in told] == [OPERATOR]
    payload = msgspec.json.decode(msgspec.json.decode(told[0].order)["payload"])
    assert (payload["type"], payload["data"]) == ("worker.dead", {"subject": BOB})


async def test_the_operators_webhooks_that_name_the_event_are_told_as_well(store: Store) -> None:
    names = [WebhookId(f"whk_{number:026d}") for number in range(4)]
    heard = frozenset({EventType.WORKER_DEAD})
    now, url = store.clock.now(), HOOK.url
    for webhook in (
        Webhook(names[0], OPERATOR, url, heard, b"sealed", now),
        Webhook(names[1], OPERATOR, url, frozenset({EventType.JOB_FAILED}), b"sealed", now),
        Webhook(names[2], OPERATOR, url, heard, b"sealed", now, active=False),
        Webhook(names[3], AccountId("acc_1"), url, heard, b"sealed", now),
    ):
        await SqliteWebhooks(store.database).add(webhook)
    await store.lanes.submit([job(A)], now)
    await store.claim(BOB)
    await store.recovery(HOOK).do(await store.lead())
    told = [item for lease in await store.claim(CLEO) for item in lease.items if item.kind == DELIVER]
    orders = [msgspec.json.decode(item.order) for item in told]
    assert [order.get("webhook") for order in orders] == [None, names[0]]
    assert len({order["event"] for order in orders}) == 1, "it is one event, whoever is told of it"
    assert len({item.job for item in told}) == 2


async def test_nobody_is_told_where_there_is_nobody_to_be_told(store: Store) -> None:
    await store.lanes.submit([job(A)], store.clock.now())
    await store.claim(BOB)
    await store.recovery().do(await store.lead())
    assert await store.jobs.depth() == 1
    assert len(await store.alerts.latest(most=9)) == 1


async def test_whoever_leads_no_more_takes_nothing_back_and_tells_nobody(store: Store) -> None:
    await store.lanes.submit([job(A)], store.clock.now())
    await store.claim(BOB)
    old = await store.lead(ANN)
    await store.lead(CLEO)
    with pytest.raises(TermOver):
        await store.recovery(HOOK).do(old)
    assert await store.alerts.latest(most=9) == []
    assert await store.workers.dead() == [BOB], "that is left to the new leader"


# Tidying up


async def test_what_a_cancelled_batch_left_behind_goes_within_a_second(store: Store) -> None:
    batches, now = SqliteBatches(store.database), store.clock.now()
    batch = BatchId(f"bat_{ulid(now, bytes(10))}")
    await batches.open(NewBatch(batch, AccountId("acc_1"), job().kind, None, b"{}"), now)
    jobs = [msgspec.structs.replace(job(f"host:{number}.example"), batch=batch) for number in range(5_000)]
    await store.lanes.submit(jobs, now)
    await batches.seal(batch)
    candidate = Candidate("wrk_ann", store.database, store.clock, [Tidying(batches, store.clock)])
    async with candidate.running():
        await candidate.after(0.3, step=0.02)
        await batches.mark(batch, BatchState.CANCELLED, store.clock.now())
        await candidate.after(1, step=0.02)
    assert await items_left(store.database) == 0


async def items_left(database: Database) -> int:
    count: int = await database.read(lambda connection: connection.execute("SELECT count(*) FROM items").fetchone()[0])
    return count


# Retention


async def finish(store: Store, *jobs: NewJob, blob: str | None = None) -> None:
    """Have the jobs done now."""
    now = store.clock.now()
    await store.lanes.submit(jobs, now)
    for lease in await store.claim(BOB):
        result = StoredResult(b"{}", None if blob else b"small", blob)
        told = [Settlement(lease.grip, item.job, item.rank, now, JobState.COMPLETED, result) for item in lease.items]
        await store.lanes.settle(Report(tuple(told), (Release(lease.grip, now, Reason.GAP),)), now)


def dated_job(store: Store, lane: str = A) -> NewJob:
    return msgspec.structs.replace(job(lane), id=JobId(f"job_{ulid(store.clock.now(), secrets.token_bytes(10))}"))


async def retire(store: Store) -> None:
    duty, term = store.retiring(), await store.lead()
    while await duty.do(term):
        pass


async def is_there(store: Store, kept: NewJob) -> bool:
    return await store.jobs.job(kept.id, store.clock.now()) is not None


async def test_a_job_is_kept_for_thirty_days_and_gone_the_day_after(store: Store) -> None:
    kept = dated_job(store)
    await finish(store, kept)
    store.clock.advance(30 * 86_400)
    await retire(store)
    assert await is_there(store, kept)
    store.clock.advance(86_400)
    await retire(store)
    assert not await is_there(store, kept)
    assert store.count("records_dropped_total") == 1


async def test_the_objects_of_old_results_are_deleted_with_them(store: Store) -> None:
    await store.blobs.put("results/large", b"large")
    kept = dated_job(store)
    await finish(store, kept, blob="results/large")
    store.clock.advance(31 * 86_400)
    await retire(store)
    assert await store.blobs.get("results/large") is None
    assert not await is_there(store, kept)


async def test_while_an_object_cannot_be_deleted_its_row_stays_and_others_go(store: Store) -> None:
    await store.blobs.put("results/large", b"large")
    large, small = dated_job(store), dated_job(store, B)
    await finish(store, large, blob="results/large")
    await finish(store, small)
    store.clock.advance(31 * 86_400)
    store.blobs.down = True
    await retire(store)
    assert [await is_there(store, each) for each in (large, small)] == [True, False]
    store.blobs.down = False
    await retire(store)
    assert await store.blobs.get("results/large") is None
    assert not await is_there(store, large)


async def test_lanes_go_a_week_after_the_last_of_their_jobs(store: Store) -> None:
    await finish(store, dated_job(store))
    for days, left in ((31, 1), (6, 1), (1, 0)):
        store.clock.advance(days * 86_400)
        await retire(store)
        assert await lanes_left(store.database) == left


async def lanes_left(database: Database) -> int:
    count: int = await database.read(lambda connection: connection.execute("SELECT count(*) FROM lanes").fetchone()[0])
    return count


# How many workers there should be


async def test_the_leader_says_how_many_workers_there_should_be(store: Store) -> None:
    watch = ScalingWatch(
        SqliteWorkload(store.database), store.jobs, lanes_per_worker=10, clock=store.clock, metrics=store.metrics
    )
    await watch.do(await store.lead())
    assert store.count("wanted_workers") == 0
    await store.lanes.submit([job(f"host:{number}.example") for number in range(25)], store.clock.now())
    await store.claim(BOB)
    store.clock.advance(30)
    await watch.do(await store.lead())
    names = ("wanted_workers", "ready_lanes", "waiting_items", "oldest_wait_seconds")
    assert [store.count(name) for name in names] == [3, 16, 25, 30]


async def test_one_worker_is_wanted_as_long_as_anything_waits(store: Store) -> None:
    later = store.clock.now() + timedelta(hours=1)
    await store.lanes.submit([msgspec.structs.replace(job(), not_before=later)], store.clock.now())
    watch = ScalingWatch(SqliteWorkload(store.database), store.jobs, 10, clock=store.clock, metrics=store.metrics)
    assert (await watch.look()).wanted_workers == 1
