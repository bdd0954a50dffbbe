"""A database that takes its time over every answer: work goes on through it, and everything ends once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from account import Account
from slow_line import SlowLine
from stage import Place, Stage, open_stage, shared_place
from the_end import check_the_end

from emissary.testing.web import TestWebProcess

pytestmark = pytest.mark.anyio

PAGES = 60


@pytest.fixture
async def line(database_url: str, anyio_backend: str) -> AsyncIterator[SlowLine]:
    async with SlowLine.to(database_url) as line:
        yield line


@pytest.fixture
def slow_place(line: SlowLine, objects_url: str, tmp_path: Path) -> Place:
    return shared_place(tmp_path, line.url, objects_url)


@pytest.fixture
async def slow_stage(slow_place: Place, slow_web: TestWebProcess, anyio_backend: str) -> AsyncIterator[Stage]:
    async with open_stage(slow_place, slow_web) as stage:
        yield stage


@pytest.mark.timeout(240)
async def test_work_goes_on_through_a_slow_database_and_every_job_ends_once(
    slow_stage: Stage, line: SlowLine, times: int, account: Account
) -> None:
    order = await slow_stage.order()
    await slow_stage.hire(2)
    line.is_slow = True
    for _ in range(times):
        await order.add(PAGES)
        before = (await order.find()).counts.ended
        await order.until_ended(before + PAGES // 2)
    account.faults = line.pieces
    assert line.stalls > 0
    line.is_slow = False  # what was done is looked at more closely than a slow line bears
    await check_the_end(slow_stage, order, account)
    assert len(order.accepted) == PAGES * times
