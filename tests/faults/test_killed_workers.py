"""Killing workers again and again: what they held is done by others, and everything ends once."""

import pytest
from account import Account
from stage import Stage
from the_end import check_the_end

pytestmark = pytest.mark.anyio

KILLS = 10
PAGES = 60


async def test_workers_may_be_killed_at_any_moment_and_every_job_ends_once(
    stage: Stage, times: int, account: Account
) -> None:
    order = await stage.order()
    await stage.hire(2)
    for _ in range(KILLS * times):
        await order.add(PAGES)
        before = (await order.find()).counts.ended
        await order.until_ended(before + stage.chance.randint(10, PAGES - 10))
        await stage.kill_one()
        account.one_more()
        await stage.hire()
    await check_the_end(stage, order, account)
    assert len(order.accepted) == PAGES * KILLS * times
