"""Random histories of leaders that come, go, are paused and wake: every moment of a schedule is fired exactly once."""

import asyncio
import itertools
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice, takewhile

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from making import ACCOUNT, A, at
from sides import SIDES, Side

from cron_expressions import crons
from emissary.backends.local_bus import LocalBus
from emissary.engine.schedules import FiringDuty
from emissary.model.errors import BadRequest, TermOver
from emissary.model.ids import ScheduleId, WorkerId
from emissary.model.jobs import Kind
from emissary.model.leadership import Term
from emissary.model.schedules import CatchUp, Schedule, Template
from emissary.model.timing import Timing, moments, next_moment
from emissary.telemetry.metrics import Metrics
from emissary.testing.clock import FakeClock
from emissary.testing.coordination import StallingSchedules

NOBODY_WAITS = timedelta()
_numbers = itertools.count(1)


@dataclass(slots=True)
class Process:
    """A process that may lead, and may be paused between looking at what is due and writing what it fires."""

    name: WorkerId
    side: Side
    clock: FakeClock
    schedules: StallingSchedules = field(init=False)
    term: Term | None = None
    under_way: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.schedules = StallingSchedules(self.side.schedules)

    async def take_over(self) -> None:
        await self._elect()
        await self.go_on()

    async def take_over_and_pause(self) -> None:
        await self._elect()
        await self.pause()

    async def go_on(self) -> None:
        """Do what is due, whether it leads or only believes so."""
        await self.wake()
        await self._do()

    async def pause(self) -> None:
        """It goes as far as it gets, and then nothing of it moves."""
        if self.under_way is None:
            self.schedules.stall()
            self.under_way = asyncio.create_task(self._do())
            while not self.schedules.waiting and not self.under_way.done():
                await self.side.schedules.due(self.clock.now(), most=1)

    async def wake(self) -> None:
        self.schedules.go_on()
        if self.under_way is not None:
            await self.under_way
        self.under_way = None

    async def _elect(self) -> None:
        self.term = await self.side.leadership.lead(self.name, NOBODY_WAITS, self.clock.now()) or self.term

    async def _do(self) -> None:
        if self.term is not None:
            duty = FiringDuty(self.schedules, LocalBus(), clock=self.clock, metrics=Metrics())
            with suppress(TermOver):
                await duty.do(self.term)


step = st.one_of(
    st.tuples(st.sampled_from(["take_over", "take_over_and_pause", "go_on", "pause", "wake"]), st.integers(0, 2)),
    st.tuples(st.just("pass"), st.integers(0, 3)),
)


async def live_through(side: Side, timing: Timing, start: datetime, steps: list[tuple[str, int]]) -> None:
    clock, waiting_before = FakeClock(start), await side.jobs.depth()
    schedule = Schedule(
        ScheduleId(f"sch_{next(_numbers)}"), Template(ACCOUNT, Kind("test"), A, b"{}"), timing, CatchUp.ALL, start
    )
    await side.schedules.add(schedule, next_moment(timing, start))
    try:
        await walk(side, timing, clock, steps)
        made = await count_fires(side, schedule, start, clock.now())
        assert await side.jobs.depth() == waiting_before + made
    finally:
        assert await side.schedules.remove(schedule.id, ACCOUNT)


async def walk(side: Side, timing: Timing, clock: FakeClock, steps: list[tuple[str, int]]) -> None:
    processes = [Process(WorkerId(f"wrk_{number}"), side, clock) for number in range(3)]
    for name, number in steps:
        if name == "pass":
            let_pass(clock, timing, number)
        else:
            await getattr(processes[number], name)()
    for process in processes:
        await process.wake()
    await processes[0].take_over()


def let_pass(clock: FakeClock, timing: Timing, moments_to_pass: int) -> None:
    """Until after so many moments of the schedule; with none of them, for a second."""
    until = [*islice(moments(timing, clock.now()), moments_to_pass), clock.now()]
    clock.advance((max(until) - clock.now()).total_seconds() + 1)


async def count_fires(side: Side, schedule: Schedule, start: datetime, now: datetime) -> int:
    """They are those that came, each with a job of its own."""
    came = list(takewhile(lambda moment: moment <= now, moments(schedule.timing, start)))
    fires = (await side.schedules.fires(schedule.id, most=1_000))[::-1]
    assert [fire.moment for fire in fires] == came
    assert len({fire.job for fire in fires}) == len(fires)
    for fire in fires:
        assert await side.jobs.job(fire.job, now) is not None
    return len(fires)


@pytest.mark.parametrize(("store", "examples"), [("embedded", 200), ("cluster", 50)])
def test_every_moment_is_fired_exactly_once(store: str, examples: int, request: pytest.FixtureRequest) -> None:
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        place = f"{folder}/emissary.db" if store == "embedded" else request.getfixturevalue("database_url")
        opened = SIDES[store](place)
        side = runner.run(opened.__aenter__())

        @given(timing=crons, start=st.integers(0, 300 * 86_400), steps=st.lists(step, min_size=12, max_size=25))
        @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        def history(timing: Timing, start: int, steps: list[tuple[str, int]]) -> None:
            with suppress(BadRequest):  # the 30th of February, and the like
                next_moment(timing, at(start))
                runner.run(live_through(side, timing, at(start), steps))

        history()
        runner.run(opened.__aexit__(None, None, None))
