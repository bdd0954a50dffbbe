"""Killing workers again and again: what they held is done by others, and everything ends once."""

import pytest
from account import Account
from ledger_checker import batch_breaches, left_behind
from stage import Stage

from emissary.model.jobs import JobState

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
    await order.seal()
    await order.until_all_ended()
    assert await stage.dismiss() == [0, 0]
    assert len(order.accepted) == PAGES * KILLS * times
    breaches = await batch_breaches(stage.backend, order.batch.id, order.accepted, ends={JobState.COMPLETED})
    account.close(len(order.accepted), breaches + await left_behind(stage.backend))
    assert "Traceback" not in stage.place.log.read_text()
