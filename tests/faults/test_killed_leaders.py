"""Killing the leader again and again: another sees to its duties, and no moment and no job is lost or done twice."""

from datetime import datetime, timedelta
from itertools import pairwise

import msgspec
import pytest
from account import Account
from leaders import end_term, holds_lanes, leader_of
from ledger_checker import batch_breaches, left_behind
from stage import Order, Stage, until

from emissary.model.ids import AccountId, ScheduleId, WorkerId
from emissary.model.jobs import JobState
from emissary.model.lanes import host_lane
from emissary.model.schedules import CatchUp, Fire, Schedule, Template
from emissary.model.timing import Every
from emissary.products.scrape.order import SCRAPE_HTTP, ScrapeOrder
from emissary.reading.urls import parse

pytestmark = pytest.mark.anyio

KILLS_IN_SHORT, KILLS_EACH_TIME = 4, 10
ALONE_EVERY = 4  # kills after which nobody new comes before one of the others has taken over: that takes longer
PAGES = 30
TICKS = ScheduleId("sch_ticks")
KEEPER = AccountId("acc_ticks")  # not the batch's: what that one used is compared with what the batch counts
TICK = timedelta(seconds=1)
MOST = 99_999


async def keep_ticking(stage: Stage) -> datetime:
    """A page is to be read each second from now on: something that a leader can lose."""
    page = stage.web.host_url(1, "/small")
    template = Template(KEEPER, SCRAPE_HTTP, host_lane(parse(page).authority), order_for(page))
    begin = stage.backend.clock.now().replace(microsecond=0) + TICK
    ticks = Schedule(TICKS, template, Every(TICK, begin), CatchUp.ALL, begin)
    await stage.backend.schedules.add(ticks, begin)
    return begin


def order_for(page: str) -> bytes:
    return msgspec.json.encode(ScrapeOrder(parse(page), page))


async def new_leader(stage: Stage, *, other_than: WorkerId | None = None) -> WorkerId:
    async def look() -> WorkerId | None:
        leader = await leader_of(stage.place)
        return leader if leader in stage.workers and leader != other_than else None

    return await until(look)


async def kill_the_leader(stage: Stage) -> WorkerId:
    """SIGKILL; everybody knows of it at once. Returns who it was."""
    leader = await new_leader(stage)
    stage.workers.pop(leader).kill()
    await stage.place.lay_to_rest(leader)
    await end_term(stage.place, leader)
    return leader


async def keep_the_leader_busy(stage: Stage, order: Order) -> None:
    """Until it has lanes in hand, which then are to be taken back."""

    async def look() -> bool:
        await order.add(2)
        return await holds_lanes(stage.place, await new_leader(stage))

    await until(look)


async def see_another_take_over(stage: Stage, dead: WorkerId) -> None:
    """One of those who stood by leads, and has given back what the dead one held: a newcomer would do that itself."""
    await new_leader(stage, other_than=dead)

    async def look() -> bool:
        return not await stage.backend.workers.dead()

    await until(look)


async def tick_breaches(stage: Stage, begin: datetime, fires: list[Fire]) -> list[str]:
    """Each second has its job, in the order of the seconds, and each of these was done."""
    moments = [fire.moment for fire in fires]
    breaches = [] if moments[0] == begin else [f"the first moment was {moments[0]}, not {begin}"]
    breaches += [f"{after} came after {before}" for before, after in pairwise(moments) if after - before != TICK]
    for job in [fire.job for fire in fires]:
        found = await stage.backend.jobs.job(job, stage.backend.clock.now())
        if found is None or found.state is not JobState.COMPLETED:
            breaches.append(f"{job} was made for a moment, and is {found and found.state}")
    return breaches


async def stop_ticking(stage: Stage) -> list[Fire]:
    """The moments so far, in order, as soon as all their jobs have ended."""
    fires = (await stage.backend.schedules.fires(TICKS, most=MOST))[::-1]
    await stage.backend.schedules.remove(TICKS, KEEPER)

    async def look() -> bool:
        return await stage.backend.jobs.depth() == 0

    await until(look)
    return fires


async def test_leaders_may_be_killed_at_any_moment_and_another_sees_to_everything(
    stage: Stage, times: int, account: Account
) -> None:
    kills = KILLS_IN_SHORT if times == 1 else KILLS_EACH_TIME * times
    order = await stage.order()
    await stage.hire(3)
    begin = await keep_ticking(stage)
    for number in range(kills):
        await order.add(PAGES)
        before = (await order.find()).counts.ended
        await order.until_ended(before + stage.chance.randint(5, PAGES - 5))
        alone = number % ALONE_EVERY == 0
        if alone:
            await keep_the_leader_busy(stage, order)
        dead = await kill_the_leader(stage)
        account.one_more()
        if alone:
            await see_another_take_over(stage, dead)
        await stage.hire()
    await order.seal()
    await order.until_all_ended()
    fires = await stop_ticking(stage)
    assert set(await stage.dismiss()) == {0}
    breaches = await batch_breaches(stage.backend, order.batch.id, order.accepted, ends={JobState.COMPLETED})
    breaches += await tick_breaches(stage, begin, fires)
    breaches += await left_behind(stage.backend)
    account.close(len(order.accepted) + len(fires), breaches)
    assert len(fires) >= kills // 2, "too little was fired to say anything"
    assert "Traceback" not in stage.place.log.read_text()
