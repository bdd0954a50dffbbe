"""Trouble that is not the worker's own: nobody behind a lane, items that kill, and hands that are full."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from workshop import LIMITS, A, B, Gate, Workshop, finished, job, working

from emissary.engine.handlers import Turn, Verdict, Work
from emissary.model.ids import JobId, WorkerId
from emissary.model.jobs import JobState, Priority
from emissary.model.lanes import Claim, LaneAdvice, Reason, Release, Report
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

NOBODY = LaneAdvice(found=False)


async def nobody_there(work: Work, turn: Turn) -> Verdict:
    async with turn():
        return msgspec.structs.replace(finished(), state=JobState.FAILED, advice=NOBODY)


# The breaker


async def test_a_lane_behind_which_nobody_is_gets_a_rest_after_five_visits(still: Workshop, clock: FakeClock) -> None:
    asked = [job() for _ in range(6)]
    await still.submit(*asked)
    async with working(still.worker(nobody_there)):
        await still.until_end(*asked[:5])
    why = await still.jobs.why_waiting(asked[5].id)
    assert why is not None
    assert (why.reason, why.until) == ("breaker", clock.now() + timedelta(seconds=30))


async def test_one_visit_after_the_rest_is_enough_to_rest_twice_as_long(still: Workshop, clock: FakeClock) -> None:
    asked = [job() for _ in range(7)]
    await still.submit(*asked)
    async with working(still.worker(nobody_there)):
        await still.until_end(*asked[:5])
    clock.advance(30)
    async with working(still.worker(nobody_there)):
        await still.until_end(asked[5])
    why = await still.jobs.why_waiting(asked[6].id)
    assert why is not None
    assert (why.reason, why.until) == ("breaker", clock.now() + timedelta(seconds=60))


async def test_somebody_who_is_there_again_ends_the_breaker(still: Workshop, clock: FakeClock) -> None:
    async def somebody(work: Work, turn: Turn) -> Verdict:
        async with turn():
            return msgspec.structs.replace(finished(), advice=LaneAdvice(found=True))

    asked = [job() for _ in range(20)]
    await still.submit(*asked)
    async with working(still.worker(nobody_there)):
        await still.until_end(*asked[:5])
    clock.advance(30)
    async with working(still.worker(somebody)):
        await still.until_end(*asked)


async def test_what_stands_in_a_lane_that_was_dead_for_long_ends_without_being_tried(workshop: Workshop) -> None:
    visits = 0

    async def counted(work: Work, turn: Turn) -> Verdict:
        nonlocal visits
        visits += 1
        return await nobody_there(work, turn)

    asked = [job() for _ in range(1_200)]
    await workshop.submit(*asked)
    now = workshop.clock.now()
    (lease,) = (await workshop.lanes.claim(Claim(WorkerId("wrk_before"), now, 1, 1), now)).leases
    await workshop.lanes.settle(Report((), (Release(lease.grip, now, Reason.BREAKER, strikes=8),)), now)
    async with working(workshop.worker(counted)):
        ended = await workshop.until_end(*asked)
    assert visits == 1
    assert {each.state for each in ended} == {JobState.FAILED}
    assert [each.result.outcome for each in ended[1:] if each.result] == [b'"given up"'] * 1_199


# Items that kill


async def die_with(workshop: Workshop, name: str) -> None:
    """A worker takes everything there is, and dies."""
    now = workshop.clock.now()
    await workshop.lanes.claim(Claim(WorkerId(name), now + timedelta(hours=1), 9, 9), now)
    await workshop.lanes.forsake([WorkerId(name)], now, timedelta())


async def test_an_item_that_may_have_killed_is_noted_before_it_is_handled_again(still: Workshop) -> None:
    asked = job()
    await still.submit(asked)
    await die_with(still, "wrk_first")
    for name in ("wrk_second", "wrk_third"):
        gate = Gate()
        worker = still.worker(gate.play, name)
        working_on_it = asyncio.create_task(worker.run())
        async with asyncio.timeout(20):
            await gate.reached.wait()
        # The worker dies in the middle of it.
        working_on_it.cancel()
        await asyncio.wait([working_on_it])
        await still.lanes.forsake([WorkerId(name)], still.clock.now(), timedelta())
    found = await still.see(asked.id)
    assert found.state is JobState.FAILED
    assert found.result is not None
    assert b'"poison"' in found.result.outcome


async def test_items_that_only_stood_beside_one_that_kills_are_done_one_at_a_time_and_well(still: Workshop) -> None:
    asked = [job(f"host:{number}.example") for number in range(8)]
    await still.submit(*asked)
    await die_with(still, "wrk_first")
    at_once, most = 0, 0

    async def play(work: Work, turn: Turn) -> Verdict:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.to_thread(lambda: None)
        at_once -= 1
        return finished()

    async with working(still.worker(play)):
        ended = await still.until_end(*asked)
    assert most == 1
    assert {each.state for each in ended} == {JobState.COMPLETED}


# Full hands


async def test_a_worker_with_full_hands_still_takes_what_somebody_waits_for(workshop: Workshop) -> None:
    gate = Gate()
    slow, urgent, patient = job(A), job(B, Priority.INTERACTIVE), job("host:c.example")
    seen: list[JobId] = []

    async def play(work: Work, turn: Turn) -> Verdict:
        if work.item.job == slow.id:
            return await gate.play(work, turn)
        seen.append(work.item.job)
        return finished()

    await workshop.submit(slow)
    async with working(workshop.worker(play, limits=replace(LIMITS, lanes=1, urgent_lanes=1))):
        await gate.reached.wait()
        await workshop.submit(patient)
        await workshop.submit(urgent)
        await workshop.until_end(urgent)
        assert seen == [urgent.id]
        gate.opened.set()
        await workshop.until_end(patient)
