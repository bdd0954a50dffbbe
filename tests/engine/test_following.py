"""Following a batch: what is told, when, and that it ends."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from workshop import Workshop

from emissary.adapters.clock import SystemChance
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.ledger import SqliteLedger
from emissary.backends.embedded.webhooks import SqliteWebhooks
from emissary.engine.hearers import Hearers
from emissary.model.batches import BatchState, Finished
from emissary.model.ids import AccountId, BatchId, WorkerId
from emissary.model.jobs import JobState, StoredResult
from emissary.model.lanes import Claim, Report, Settlement
from emissary.products.scrape.batches import BatchWish, Line, ScrapeBatches
from emissary.products.scrape.following import Event, Following, Over, Progress, Silence
from emissary.products.scrape.order import ScrapeOptions
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

ACCOUNT = AccountId("acc_1")


@pytest.fixture
async def database(tmp_path: Path, still: Workshop, anyio_backend: str) -> AsyncIterator[Database]:
    database = await Database.open(tmp_path / "emissary.db")
    yield database
    await database.close()


@pytest.fixture
def fronts(database: Database, still: Workshop, clock: FakeClock) -> ScrapeBatches:
    batches, ledger = SqliteBatches(database), SqliteLedger(database)
    hearers = Hearers(SqliteWebhooks(database), clock)
    return ScrapeBatches(still.jobs, batches, ledger, hearers=hearers, clock=clock, chance=SystemChance())


async def begun(fronts: ScrapeBatches, *urls: str) -> BatchId:
    intake = await fronts.begin(ACCOUNT, BatchWish(ScrapeOptions()))
    await intake.add([Line(url) for url in urls])
    return (await intake.end()).id


async def end_all(database: Database, clock: FakeClock) -> None:
    """A worker reads all that stands in line."""
    lanes, now = SqliteLanes(database), clock.now()
    leases = (await lanes.claim(Claim(WorkerId("wrk_ann"), now + timedelta(minutes=5), 10, 10), now)).leases
    result = StoredResult(b'{"kind":"page","code":"ok"}', b"body")
    told = [
        Settlement(lease.grip, item.job, item.rank, now, JobState.COMPLETED, result)
        for lease in leases
        for item in lease.items
    ]
    await lanes.settle(Report(tuple(told), ()), now)


async def after_seconds(events: AsyncIterator[Event], clock: FakeClock, seconds: int) -> Event:
    """The next event, which comes after so many looks."""
    coming = asyncio.ensure_future(anext(events))
    for _ in range(seconds):
        await clock.until_asleep(1)
        assert not coming.done()
        clock.advance(1)
    return await coming


async def test_counts_come_first_and_then_silence_until_something_happens(
    fronts: ScrapeBatches, database: Database, clock: FakeClock
) -> None:
    batch = await begun(fronts, "https://a.example/1", "https://a.example/2")
    events = aiter(Following(fronts, clock).follow(ACCOUNT, batch, ""))
    first = await anext(events)
    assert isinstance(first, Progress)
    assert (first.batch.total, first.batch.counts.ended) == (2, 0)
    assert await after_seconds(events, clock, 15) == Silence()
    await end_all(database, clock)
    second = await after_seconds(events, clock, 1)
    assert isinstance(second, Progress)
    assert second.batch.counts.completed == 2
    rest = [event async for event in events]
    assert [type(event) for event in rest] == [Finished, Finished, Over]


async def test_a_batch_that_has_ended_is_told_without_any_waiting(
    fronts: ScrapeBatches, database: Database, clock: FakeClock
) -> None:
    batch = await begun(fronts, *(f"https://a.example/{n}" for n in range(3)))
    await end_all(database, clock)
    events = [event async for event in Following(fronts, clock).follow(ACCOUNT, batch, "")]
    assert [type(event) for event in events] == [Progress, Finished, Finished, Finished, Over]
    pages = [event for event in events if isinstance(event, Finished)]
    rest = [event async for event in Following(fronts, clock).follow(ACCOUNT, batch, pages[0].cursor)]
    assert [event for event in rest if isinstance(event, Finished)] == pages[1:]


async def test_a_cancelled_batch_is_over_at_the_next_look(fronts: ScrapeBatches, clock: FakeClock) -> None:
    batch = await begun(fronts, "https://a.example/1")
    events = aiter(Following(fronts, clock).follow(ACCOUNT, batch, ""))
    await anext(events)
    await fronts.mark(ACCOUNT, batch, BatchState.CANCELLED)
    second = await after_seconds(events, clock, 1)
    assert isinstance(second, Progress)
    assert second.batch.counts.cancelled == 1
    assert [event async for event in events] == [Over(second.batch)]


async def test_what_is_told_to_stop_ends_within_a_second(fronts: ScrapeBatches, clock: FakeClock) -> None:
    batch, following = await begun(fronts, "https://a.example/1"), Following(fronts, clock)
    events = aiter(following.follow(ACCOUNT, batch, ""))
    await anext(events)
    ending = asyncio.ensure_future(anext(events, None))
    await clock.until_asleep(1)
    following.stop()
    clock.advance(1)
    assert await ending is None


async def test_a_stream_breaks_off_when_its_time_is_over(fronts: ScrapeBatches, clock: FakeClock) -> None:
    batch = await begun(fronts, "https://a.example/1")
    events = aiter(Following(fronts, clock, seconds=2.5).follow(ACCOUNT, batch, ""))
    await anext(events)
    ending = asyncio.ensure_future(anext(events, None))
    for seconds in (1, 1, 0.5):
        await clock.until_asleep(seconds)
        assert not ending.done()
        clock.advance(seconds)
    assert await ending is None


async def test_what_has_ended_is_told_to_its_end_however_little_time_there_is(
    fronts: ScrapeBatches, database: Database, clock: FakeClock
) -> None:
    batch = await begun(fronts, *(f"https://a.example/{n}" for n in range(3)))
    await end_all(database, clock)
    events = [event async for event in Following(fronts, clock, seconds=0).follow(ACCOUNT, batch, "")]
    assert isinstance(events[-1], Over)
