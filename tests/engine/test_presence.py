"""Presence: a worker that nobody can be told of has left its lanes before others take it for dead."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from workshop import Gate, Workshop, job, working

from emissary.model.ids import WorkerId
from emissary.model.jobs import JobState, NewJob
from emissary.testing.clock import FakeClock
from emissary.testing.stores import ShakyWorkers

pytestmark = pytest.mark.anyio

BEAT = 4


@pytest.fixture
def shaky(still: Workshop) -> ShakyWorkers:
    still.workers = ShakyWorkers(still.workers)
    return still.workers


@asynccontextmanager
async def one_in_hand(still: Workshop) -> AsyncIterator[tuple[Gate, NewJob]]:
    """A worker works, and is in the middle of a job."""
    gate, asked = Gate(), job()
    await still.submit(asked)
    async with working(still.worker(gate.play)):
        await gate.reached.wait()
        yield gate, asked


async def let_beats_pass(clock: FakeClock, beats: int) -> None:
    for _ in range(beats):
        await clock.until_asleep(BEAT)
        clock.advance(BEAT)
    await clock.until_asleep(BEAT)


async def test_a_worker_says_that_it_is_there_for_as_long_as_it_works(
    still: Workshop, shaky: ShakyWorkers, clock: FakeClock
) -> None:
    async with working(still.worker(Gate().play)):
        await let_beats_pass(clock, 5)
        assert shaky.beats == [WorkerId("wrk_ann")] * 5


async def test_whoever_cannot_be_heard_leaves_its_lanes_before_it_is_taken_for_dead(
    still: Workshop, shaky: ShakyWorkers, clock: FakeClock
) -> None:
    async with one_in_hand(still) as (gate, asked):
        await let_beats_pass(clock, 1)
        shaky.down = True
        await let_beats_pass(clock, 2)
        assert not gate.stopped.is_set(), "a short silence costs nothing"
        await let_beats_pass(clock, 1)
        await gate.stopped.wait()
        assert clock.monotonic() <= BEAT + 30 / 2
        shaky.down = False
    assert (await still.see(asked.id)).result is None


async def test_who_is_heard_again_gives_its_lanes_back_and_goes_on(
    still: Workshop, shaky: ShakyWorkers, clock: FakeClock
) -> None:
    async with one_in_hand(still) as (gate, asked):
        shaky.down = True
        await let_beats_pass(clock, 3)
        await gate.stopped.wait()
        assert await still.lanes.wake(clock.now() + timedelta(seconds=50)) == 0, "the lease lasts longer than that"
        shaky.down = False
        gate.opened.set()
        await let_beats_pass(clock, 1)
        found = await still.until_state(asked.id, JobState.COMPLETED)
    assert gate.seen == [asked.id, asked.id]
    assert found.result is not None


async def test_a_worker_that_was_paused_for_long_does_not_go_on_as_if_nothing_had_been(
    still: Workshop, shaky: ShakyWorkers, clock: FakeClock
) -> None:
    async with one_in_hand(still) as (gate, _):
        await clock.until_asleep(BEAT)
        clock.advance(40)
        async with asyncio.timeout(20):
            await gate.stopped.wait()


async def test_who_cannot_say_that_it_goes_goes_all_the_same(
    still: Workshop, shaky: ShakyWorkers, clock: FakeClock
) -> None:
    async with working(still.worker(Gate().play)):
        await clock.until_asleep(BEAT)
        shaky.down = True
    shaky.down = False
    assert await shaky.living() == [WorkerId("wrk_ann")], "until it is missed"
    await shaky.leave(WorkerId("wrk_ann"))
