"""Pausing workers for longer than they may be silent: others take over, and whoever wakes then does no harm."""

import pytest
from account import Account
from leaders import holds_lanes
from leases import end_leases
from stage import Order, Stage, until
from the_end import check_the_end

from emissary.model.ids import WorkerId

pytestmark = pytest.mark.anyio

PAUSES = 5
PAGES = 60
SILENCE_SECONDS = 30  # after which others take a worker for dead


async def pause_one(stage: Stage, order: Order, *, past_its_leases: bool) -> WorkerId:
    """SIGSTOP to one of the workers that has something in hand."""

    async def look() -> WorkerId | None:
        await order.add(2)
        name = stage.chance.choice(sorted(stage.workers))
        stage.workers[name].pause()
        caught = end_leases if past_its_leases else holds_lanes
        if await caught(stage.place, name):
            return name
        stage.workers[name].resume()
        return None

    return await until(look)


async def until_taken_over(stage: Stage, paused: WorkerId, *, within: float = 60.0) -> None:
    async def look() -> bool:
        return not await holds_lanes(stage.place, paused)

    await until(look, within=within)


async def until_at_work(stage: Stage, order: Order, worker: WorkerId) -> None:
    async def look() -> bool:
        await order.add(2)
        return await holds_lanes(stage.place, worker)

    await until(look)


async def test_workers_may_be_paused_past_their_leases_and_every_job_ends_once(
    stage: Stage, times: int, account: Account
) -> None:
    order = await stage.order()
    await stage.hire(2)
    for _ in range(PAUSES * times):
        await order.add(PAGES)
        paused = await pause_one(stage, order, past_its_leases=True)
        account.one_more()
        await until_taken_over(stage, paused)
        stage.workers[paused].resume()
    await check_the_end(stage, order, account)
    assert len(order.accepted) > PAGES * PAUSES * times


@pytest.mark.timeout(240)
@pytest.mark.parametrize("place", ["cluster"], indirect=True)
async def test_whoever_was_taken_for_dead_while_it_was_paused_works_on_when_it_wakes(
    stage: Stage, account: Account
) -> None:
    order = await stage.order()
    await stage.hire(2)
    await order.add(PAGES)
    paused = await pause_one(stage, order, past_its_leases=False)
    account.one_more()
    await until_taken_over(stage, paused, within=3 * SILENCE_SECONDS)
    stage.workers[paused].resume()
    await until_at_work(stage, order, paused)
    await check_the_end(stage, order, account)
