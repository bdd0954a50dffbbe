"""Told twice, since the first answer was lost: what is said again changes nothing."""

import asyncio
from datetime import timedelta

import pytest
from ledger_checker import batch_breaches, left_behind
from stage import Stage

from emissary.model.batches import Batch
from emissary.model.ids import AccountId, BatchId
from emissary.model.jobs import JobState, StoredResult
from emissary.model.lanes import Claim, Reason, Release, Report, Settlement
from emissary.products.scrape.batches import BatchWish, Line
from emissary.products.scrape.order import ScrapeOptions

pytestmark = pytest.mark.anyio

PAGES = 60
TELLERS = 4
ACCOUNT = AccountId("acc_faults")
RESULT = StoredResult(b'{"kind":"page","code":"ok"}', b"{}")


async def claim_all(stage: Stage) -> Report:
    """Everything that stands in line, as done by this process."""
    now = stage.backend.clock.now()
    asked = Claim(stage.backend.worker, now + timedelta(minutes=5), PAGES, PAGES)
    leases = (await stage.backend.lanes.claim(asked, now)).leases
    settlements = tuple(
        Settlement(lease.grip, item.job, item.rank, now, JobState.COMPLETED, RESULT, credits=1)
        for lease in leases
        for item in lease.items
    )
    return Report(settlements, tuple(Release(lease.grip, now, Reason.GAP) for lease in leases))


async def work_off(stage: Stage, batch: BatchId) -> Batch:
    """Tell every report several times, some of them at the same time and some after the lanes are in hand again."""
    lanes, clock, told = stage.backend.lanes, stage.backend.clock, []
    while (report := await claim_all(stage)).settlements:
        written = await asyncio.gather(*(lanes.settle(report, clock.now()) for _ in range(TELLERS)))
        assert sorted(len(each) for each in written)[:-1] == [0] * (TELLERS - 1), "written by one of them"
        told.append(report)
    for report in told:
        assert await lanes.settle(report, clock.now()) == frozenset()
    await stage.tidy()
    found = await stage.backend.batches.find(batch)
    assert found is not None
    return found


async def test_a_report_that_is_told_several_times_is_written_once(stage: Stage, times: int) -> None:
    for _ in range(times):
        order = await stage.order()
        await order.add(PAGES)
        await order.seal()
        assert (await work_off(stage, order.batch.id)).counts.credits == PAGES
        assert await batch_breaches(stage.backend, order.batch.id, order.accepted, ends={JobState.COMPLETED}) == []
    assert await left_behind(stage.backend) == []


async def test_pages_that_are_sent_again_after_a_lost_answer_are_accepted_once(stage: Stage, times: int) -> None:
    for _ in range(times):
        intake = await stage.fronts.begin(ACCOUNT, BatchWish(ScrapeOptions()))
        lines = [Line(stage.web.host_url(number % 8 + 1, f"/page/{number}")) for number in range(PAGES)]
        await asyncio.gather(*(intake.add(lines) for _ in range(TELLERS)))
        result = await intake.end()
        assert (result.accepted, result.duplicates) == (PAGES, PAGES * (TELLERS - 1))
        batch = await work_off(stage, result.id)
        assert (batch.total, batch.counts.completed) == (PAGES, PAGES)
        assert await batch_breaches(stage.backend, result.id, (), ends={JobState.COMPLETED}) == []
    assert await left_behind(stage.backend) == []
