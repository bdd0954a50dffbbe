"""What the store itself brought about is told by the leader, to those who want to hear of it and to nobody else."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.leadership import SqliteLeadership
from emissary.backends.embedded.records import SqliteJobRecords
from emissary.backends.embedded.webhooks import SqliteHappenings, SqliteWebhooks
from emissary.backends.local_bus import LocalBus
from emissary.engine.events import DELIVER, Hook
from emissary.engine.hearers import Hearers
from emissary.engine.jobs import new_job_id
from emissary.engine.telling import TellingDuty
from emissary.model.batches import BatchState, NewBatch
from emissary.model.errors import BadRequest
from emissary.model.ids import AccountId, BatchId, JobId, WebhookId, WorkerId
from emissary.model.jobs import NewJob
from emissary.model.lanes import Claim, Report, Thing, Trial, host_lane
from emissary.model.webhooks import EventType, Webhook
from emissary.products.scrape.crawling import CrawlRules
from emissary.products.scrape.order import SCRAPE_HTTP, PageOfBatch, ScrapeOptions, ScrapeOrder
from emissary.products.scrape.telling import Crier, HappeningCrier
from emissary.reading.urls import parse
from emissary.testing.clock import FakeClock, SeededChance

pytestmark = pytest.mark.anyio

ANN, BOB = WorkerId("wrk_ann"), WorkerId("wrk_bob")
ACCOUNT, OTHER = AccountId("acc_1"), AccountId("acc_2")
FIRST, SECOND = WebhookId("whk_00000000000000000000000001"), WebhookId("whk_00000000000000000000000002")
BATCH, CRAWL = BatchId("bat_00000000000000000000000001"), BatchId("crl_00000000000000000000000001")
URL = parse("https://hooks.example/a")
PAGE = "https://shop.example/1"
GIVEN = Hook(URL, "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0")


@dataclass(slots=True)
class Town:
    """A store, and a leader with one duty."""

    database: Database
    clock: FakeClock
    chance: SeededChance = field(default_factory=SeededChance)

    @property
    def lanes(self) -> SqliteLanes:
        return SqliteLanes(self.database)

    @property
    def batches(self) -> SqliteBatches:
        return SqliteBatches(self.database)

    async def add_webhook(self, *events: EventType, name: WebhookId = FIRST, account: AccountId = ACCOUNT) -> Webhook:
        webhook = Webhook(name, account, URL, frozenset(events), b"sealed", self.clock.now())
        await SqliteWebhooks(self.database).add(webhook)
        return webhook

    async def open_batch(self, options: ScrapeOptions, name: BatchId = BATCH) -> None:
        batch = NewBatch(name, ACCOUNT, SCRAPE_HTTP, "mine", msgspec.json.encode(options))
        await self.batches.open(batch, self.clock.now())

    async def submit(self, order: ScrapeOrder | PageOfBatch, batch: BatchId | None = None) -> JobId:
        name = new_job_id(self.clock, self.chance)
        job = NewJob(name, ACCOUNT, SCRAPE_HTTP, host_lane("shop.example"), msgspec.json.encode(order), batch=batch)
        await self.lanes.submit([job], self.clock.now())
        return name

    async def poison(self, job: JobId) -> None:
        """Three workers die over the job."""
        for _ in range(3):
            self.clock.advance(100)
            now = self.clock.now()
            await self.lanes.wake(now)
            asked = Claim(BOB, now + timedelta(seconds=60), 1, 1, things=frozenset({Thing.HOST}))
            (lease,) = (await self.lanes.claim(asked, now)).leases
            await self.lanes.settle(Report(trials=(Trial(lease.grip, job),)), now)
            await self.lanes.forsake([BOB], now, timedelta(seconds=1))

    async def tell(self) -> list[dict[str, Any]]:
        """The leader does its duty; what is to be told then, and to whom."""
        crier = Crier(Hearers(SqliteWebhooks(self.database), self.clock), self.clock, self.chance)
        happened = HappeningCrier(crier, self.batches, SqliteJobRecords(self.database), self.clock)
        duty = TellingDuty(SqliteHappenings(self.database), happened.deliveries, LocalBus(), self.clock)
        term = await SqliteLeadership(self.database).lead(ANN, timedelta(seconds=15), self.clock.now())
        assert term is not None
        assert not await duty.do(term)
        asked = Claim(ANN, self.clock.now() + timedelta(seconds=60), 9, 9, things=frozenset({Thing.HOOK}))
        items = [item for lease in (await self.lanes.claim(asked, self.clock.now())).leases for item in lease.items]
        assert all(item.kind == DELIVER for item in items)
        orders = [msgspec.json.decode(item.order) for item in items]
        return [{"to": order.get("webhook"), **msgspec.json.decode(order["payload"])} for order in orders]


@pytest.fixture
async def town(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Town]:
    database = await Database.open(tmp_path / "emissary.db")
    yield Town(database, FakeClock())
    await database.close()


async def test_a_page_over_which_workers_died_is_told_of_like_any_other(town: Town) -> None:
    await town.add_webhook(EventType.JOB_FAILED)
    job = await town.submit(ScrapeOrder(parse(PAGE), PAGE, {"order": 7}))
    await town.poison(job)
    (told,) = await town.tell()
    assert (told["to"], told["type"]) == (FIRST, "job.failed")
    assert (told["data"]["id"], told["data"]["status"], told["data"]["url"]) == (job, "failed", PAGE)
    assert told["data"]["outcome"]["code"] == "poison"
    assert told["data"]["metadata"] == {"order": 7}
    assert await town.tell() == [], "once"


async def test_of_a_page_of_a_batch_only_those_are_told_whom_the_batch_names(town: Town) -> None:
    await town.add_webhook(EventType.JOB_FAILED)
    await town.add_webhook(name=SECOND)
    await town.open_batch(ScrapeOptions(webhook=SECOND))
    job = await town.submit(PageOfBatch(PAGE), BATCH)
    await town.poison(job)
    (told,) = await town.tell()
    assert (told["to"], told["data"]["id"], told["data"]["batch"]) == (SECOND, job, BATCH)


async def test_the_end_of_a_batch_is_told_to_whom_it_was_given_and_to_whoever_hears_of_all(town: Town) -> None:
    await town.add_webhook(EventType.BATCH_CANCELLED)
    await town.add_webhook(EventType.BATCH_CANCELLED, name=SECOND, account=OTHER)
    await town.open_batch(ScrapeOptions(hook=GIVEN))
    for number in range(3):
        await town.submit(PageOfBatch(f"{PAGE}?{number}"), BATCH)
    assert await town.batches.mark(BATCH, BatchState.CANCELLED, town.clock.now())
    given, heard = await town.tell()
    assert (given["to"], heard["to"]) == (None, FIRST)
    assert given["data"] == heard["data"]
    assert (heard["type"], heard["data"]["status"], heard["data"]["name"]) == ("batch.cancelled", "cancelled", "mine")
    assert heard["data"]["counts"] == {"completed": 0, "refused": 0, "failed": 0, "cancelled": 3, "cached": 0}


async def test_a_receiver_that_names_events_is_told_of_no_others(town: Town) -> None:
    await town.open_batch(ScrapeOptions(hook=msgspec.structs.replace(GIVEN, events=(EventType.BATCH_COMPLETED,))))
    await town.submit(PageOfBatch(PAGE), BATCH)
    assert await town.batches.mark(BATCH, BatchState.CANCELLED, town.clock.now())
    assert await town.tell() == []


@pytest.mark.parametrize("lists", [True, False])
async def test_of_a_map_nobody_is_told_nor_of_a_batch_into_which_nothing_came(town: Town, *, lists: bool) -> None:
    await town.add_webhook(*EventType)
    rules = CrawlRules(parse(PAGE), lists=True)
    await town.open_batch(ScrapeOptions(crawl=rules) if lists else ScrapeOptions())
    if lists:
        await town.submit(PageOfBatch(PAGE), BATCH)
    assert await town.batches.mark(BATCH, BatchState.CANCELLED, town.clock.now())
    assert await town.tell() == []


async def test_the_end_of_a_crawl_has_a_name_of_its_own(town: Town) -> None:
    await town.add_webhook(EventType.CRAWL_COMPLETED, EventType.BATCH_COMPLETED)
    await town.open_batch(ScrapeOptions(), CRAWL)
    await town.batches.seal(CRAWL)
    (told,) = await town.tell()
    assert (told["type"], told["data"]["id"], told["data"]["status"]) == ("crawl.completed", CRAWL, "completed")


async def test_webhooks_are_remembered_for_five_seconds_but_for_one_that_is_named(town: Town) -> None:
    hearers, event = Hearers(SqliteWebhooks(town.database), town.clock), EventType.JOB_FAILED
    await hearers.learn(ACCOUNT)
    webhook = await town.add_webhook(event)
    await hearers.learn(ACCOUNT)
    assert hearers.of(ACCOUNT, event) == []
    await hearers.learn(ACCOUNT, FIRST)
    assert hearers.of(ACCOUNT, event) == [webhook]
    await SqliteWebhooks(town.database).change(replace(webhook, active=False))
    town.clock.advance(4)
    await hearers.learn(ACCOUNT)
    assert hearers.of(ACCOUNT, event) == [webhook]
    town.clock.advance(1)
    await hearers.learn(ACCOUNT)
    assert hearers.of(ACCOUNT, event) == []


async def test_only_an_accounts_own_webhook_can_be_named(town: Town) -> None:
    hearers = Hearers(SqliteWebhooks(town.database), town.clock)
    await town.add_webhook()
    await hearers.check(ACCOUNT, FIRST)
    await hearers.check(ACCOUNT, None)
    for account, name in ((OTHER, FIRST), (ACCOUNT, SECOND)):
        with pytest.raises(BadRequest, match="there is no webhook"):
            await hearers.check(account, name)
