"""Killing and pausing the database under way: whoever works waits for it, and nothing is lost or done twice."""

import asyncio
from contextlib import suppress

import pytest
from account import Account
from stage import Order, Stage
from the_end import check_the_end

from emissary.adapters.clock import SystemClock
from emissary.model.errors import StoreUnavailable
from emissary.testing.servers import PostgresServer

pytestmark = pytest.mark.anyio

KILLS = 10
PAUSES = (2.0, 4.0, 14.0)  # after 12 seconds of silence a worker leaves its lanes
PAGES = 80


async def add_or_lose(order: Order) -> None:
    """What was not answered may have been accepted all the same."""
    with suppress(StoreUnavailable):
        await order.add(PAGES)


async def test_the_database_may_be_killed_at_any_moment_and_every_job_ends_once(
    frail_stage: Stage, own_postgres: PostgresServer, times: int, account: Account
) -> None:
    order = await frail_stage.order()
    await frail_stage.hire(2)
    for _ in range(KILLS * times):
        await order.add(PAGES)
        before = (await order.find()).counts.ended
        await order.until_ended(before + frail_stage.chance.randint(5, PAGES // 2))
        await asyncio.gather(add_or_lose(order), asyncio.to_thread(own_postgres.kill))
        own_postgres.start()  # by this thread: a server ends with the thread that started it
        account.one_more()
    await check_the_end(frail_stage, order, account)
    assert len(order.accepted) >= PAGES * KILLS * times


async def test_a_database_that_hangs_for_a_while_loses_nothing_and_does_nothing_twice(
    frail_stage: Stage, own_postgres: PostgresServer, times: int, account: Account
) -> None:
    order = await frail_stage.order()
    await frail_stage.hire(2)
    for seconds in PAUSES * times:
        await order.add(2 * PAGES)
        before = (await order.find()).counts.ended
        await order.until_ended(before + PAGES // 2)
        own_postgres.pause()
        adding = asyncio.create_task(order.add(PAGES))
        await SystemClock().sleep(seconds)  # the fault itself
        own_postgres.resume()
        account.one_more()
        await adding
    await check_the_end(frail_stage, order, account)
    assert len(order.accepted) == 3 * PAGES * len(PAUSES) * times
