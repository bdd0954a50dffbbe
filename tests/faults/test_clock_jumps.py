"""Somebody sets the time of day under way: rests last as long as they should, and what is in hand stays there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from stage import until
from workshop import LIMITS, A, B, Gate, Workshop, finished, job, working
from wrist_watch import WristWatch

from emissary.adapters.clock import AgreedClock, SystemChance
from emissary.compose.backends import open_backend
from emissary.engine.handlers import Turn, Verdict, Work
from emissary.engine.worker import Worker, WorkerLimits
from emissary.model.jobs import JobState
from emissary.model.lanes import Pace
from emissary.settings import Settings
from emissary.testing.stores import ShakyBlobs, ShakyLanes

pytestmark = pytest.mark.anyio

HOUR = 3600.0
REST = 1.0
ONE_LANE = WorkerLimits(1, 0, lease=LIMITS.lease, poll=LIMITS.poll, grace=LIMITS.grace)

both_ways = pytest.mark.parametrize("by", [HOUR, -HOUR])


@asynccontextmanager
async def opened(folder: Path, watch: WristWatch) -> AsyncIterator[Workshop]:
    """The stores of the directory, as one process sees them that goes by the watch."""
    async with open_backend(Settings(data_dir=folder), SystemChance(), watch.machine) as backend:
        lanes, blobs = ShakyLanes(backend.lanes), ShakyBlobs(backend.blobs)
        yield Workshop(lanes, backend.jobs, blobs, backend.workers, backend.clock, backend.bus)


async def set_by(seconds: float, watch: WristWatch, *workshops: Workshop) -> None:
    """Set the time of day; all have seen it when this returns."""
    watch.set_by(seconds)
    for workshop in workshops:
        if isinstance(workshop.clock, AgreedClock):
            await workshop.clock.correct()


@pytest.fixture
def watch() -> WristWatch:
    return WristWatch()


async def test_a_process_sees_by_itself_that_the_time_of_day_was_set(tmp_path: Path, watch: WristWatch) -> None:
    async with opened(tmp_path, watch) as here:
        began, begun = here.clock.now(), watch.machine.steady()

        async def look() -> bool:
            return here.clock.now() - began > timedelta(seconds=watch.machine.steady() - begun + 0.05)

        watch.set_by(HOUR)
        await until(look)


@both_ways
async def test_what_is_in_hand_stays_there_when_the_time_of_day_is_set(
    tmp_path: Path, watch: WristWatch, by: float
) -> None:
    anns, bobs, asked, others = Gate(), Gate(), job(A), [job(B), job(B)]
    bobs.opened.set()
    async with opened(tmp_path, watch) as here, opened(tmp_path, watch) as there:
        await here.submit(asked)
        async with working(here.worker(anns.play, limits=ONE_LANE)):
            await anns.reached.wait()
            await set_by(by, watch, here, there)
            async with working(there.worker(bobs.play, "wrk_bob")):
                for other in others:  # two that only Bob can do: he has looked, and looked again
                    await there.submit(other)
                    await there.until_end(other)
                anns.opened.set()
                (end,) = await here.until_end(asked)
    assert (anns.seen, bobs.seen) == ([asked.id], [each.id for each in others])
    assert end.state is JobState.COMPLETED
    assert here.metrics.registry.get_sample_value("emissary_leases_lost_total") == 0


@both_ways
async def test_a_rest_lasts_as_long_as_it_should_when_the_time_of_day_is_set(
    tmp_path: Path, watch: WristWatch, by: float
) -> None:
    begun, asked = [], [job(), job()]

    async def play(work: Work, turn: Turn) -> Verdict:
        async with turn():
            begun.append(there.clock.monotonic())
        return finished()

    def worker(workshop: Workshop) -> Worker:
        return workshop.worker(play, pace=Pace(timedelta(seconds=REST)))

    async with opened(tmp_path, watch) as here, opened(tmp_path, watch) as there:
        async with working(worker(here)):
            await here.submit(asked[0])
            await here.until_end(asked[0])
        await set_by(by, watch, here, there)
        async with working(worker(there)):
            await there.submit(asked[1])
            await there.until_end(asked[1])
    # By a clock that gains or loses a fifth.
    assert REST / 1.2 <= begun[1] - begun[0] < 10 * REST
