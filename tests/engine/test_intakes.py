"""Batches while they are filled: slow lines keep theirs open, and one that nobody fills any more ends."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from workshop import Workshop

from emissary.adapters.clock import SystemChance
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.ledger import SqliteLedger
from emissary.backends.embedded.webhooks import SqliteWebhooks
from emissary.engine.duties import Tidying
from emissary.engine.hearers import Hearers
from emissary.model.batches import Batch, BatchState
from emissary.model.ids import AccountId, WorkerId
from emissary.model.leadership import Term
from emissary.products.scrape.batches import BatchWish, Intake, Line, ScrapeBatches
from emissary.products.scrape.crawling import CrawlRules
from emissary.products.scrape.order import ScrapeOptions
from emissary.products.scrape.waits import positions_to_look_at, waits_of
from emissary.reading.urls import parse
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

ACCOUNT = AccountId("acc_1")


@pytest.fixture
async def fronts(tmp_path: Path, still: Workshop, clock: FakeClock, anyio_backend: str) -> AsyncIterator[ScrapeBatches]:
    database = await Database.open(tmp_path / "emissary.db")
    batches, ledger = SqliteBatches(database), SqliteLedger(database)
    hearers = Hearers(SqliteWebhooks(database), clock)
    yield ScrapeBatches(still.jobs, batches, ledger, hearers=hearers, clock=clock, chance=SystemChance())
    await database.close()


async def tidied(fronts: ScrapeBatches, intake: Intake, clock: FakeClock) -> Batch:
    """The batch after the coordinator has done its duty."""
    while await Tidying(fronts.batches, clock).do(Term(1, WorkerId("wrk_ann"))):
        pass
    return await fronts.show(ACCOUNT, intake.result.id)


async def test_lines_may_come_as_slowly_as_they_like(fronts: ScrapeBatches, clock: FakeClock) -> None:
    intake = await fronts.begin(ACCOUNT, BatchWish(ScrapeOptions()))
    async with intake.kept_open():
        await intake.add([Line("https://a.example/1")])
        for _ in range(20):
            await clock.until_asleep(10)
            clock.advance(10)
        await clock.until_asleep(10)
        assert (await tidied(fronts, intake, clock)).state is BatchState.RUNNING
        await intake.add([Line("https://a.example/2")])
        assert (await intake.end()).accepted == 2


@pytest.mark.parametrize("crawl", [None, CrawlRules(start=parse("https://a.example/"), limit=9)])
async def test_a_batch_whose_server_was_killed_while_it_was_filled_ends(
    fronts: ScrapeBatches, clock: FakeClock, crawl: CrawlRules | None
) -> None:
    intake = await fronts.begin(ACCOUNT, BatchWish(ScrapeOptions(crawl=crawl)))
    await intake.add([Line("https://a.example/1"), Line("https://b.example/1")])
    clock.advance(60)
    assert (await tidied(fronts, intake, clock)).state is BatchState.RUNNING
    clock.advance(1)
    batch = await tidied(fronts, intake, clock)
    assert (batch.state, batch.reason, batch.counts.cancelled) == (BatchState.CANCELLED, "intake_lost", 2)


@pytest.mark.parametrize("total", [0, 1, 250, 251, 499, 500, 501, 10_000, 999_999, 1_000_000])
def test_of_however_many_pages_the_same_number_is_looked_at_for_all(total: int) -> None:
    looked_at = list(positions_to_look_at(total))
    positions = [position for position, _ in looked_at]
    assert len(positions) == len(set(positions)) == min(total, 500)
    assert all(0 <= position < total for position in positions)
    assert sum(weight for _, weight in looked_at) == total


async def test_of_a_long_batch_the_fullest_lanes_are_estimated(fronts: ScrapeBatches) -> None:
    intake = await fronts.begin(ACCOUNT, BatchWish(ScrapeOptions()))
    hosts = ["large", "large", "large", "middle", *("small" for _ in range(2)), *(f"h{number}" for number in range(4))]
    await intake.add([Line(f"https://{hosts[number % 10]}.example/{number}") for number in range(4_000)])
    await intake.end()
    waits = await waits_of(await fronts.show(ACCOUNT, intake.result.id), fronts.ledger, fronts.jobs)
    assert len(waits) == 5
    assert [wait.why.lane for wait in waits[:2]] == ["host:large.example", "host:small.example"]
    for wait, counted in zip(waits, [1_200, 800, 400, 400, 400], strict=True):
        assert wait.items == pytest.approx(counted, rel=0.2)
        assert wait.why.reason == "in_line"
