"""Schedules: added, shown, fired when their moment comes, and made up for as they say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from office import Candidate

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.leadership import SqliteLeadership
from emissary.backends.embedded.records import SqliteJobRecords
from emissary.backends.embedded.schedules import SqliteSchedules
from emissary.backends.local_bus import LocalBus
from emissary.engine.schedules import FiringDuty, Timetable
from emissary.engine.worker import LANES_TOPIC
from emissary.model.errors import BadRequest, TermOver
from emissary.model.ids import AccountId, WorkerId
from emissary.model.jobs import Kind, Priority
from emissary.model.leadership import Term
from emissary.model.schedules import CatchUp, Due, Template
from emissary.model.timing import Cron, Every, Timing
from emissary.telemetry.metrics import Metrics
from emissary.testing.clock import FakeClock, SeededChance
from emissary.testing.coordination import StallingSchedules

pytestmark = pytest.mark.anyio

ACCOUNT, OTHER = AccountId("acc_1"), AccountId("acc_2")
TEMPLATE = Template(ACCOUNT, Kind("test"), "host:a.example", b'{"a":1}', Priority.HIGH)
HOURLY = Cron("0 * * * *")
HOUR = 3600


class Clockwork:
    """A timetable, and whoever fires what is in it."""

    def __init__(self, database: Database, clock: FakeClock) -> None:
        self.database = database
        self.clock = clock
        self.schedules = SqliteSchedules(database)
        self.jobs = SqliteJobRecords(database)
        self.timetable = Timetable(self.schedules, clock, SeededChance())
        self.bus = LocalBus()
        self.metrics = Metrics()

    def duty(self, schedules: StallingSchedules | None = None) -> FiringDuty:
        return FiringDuty(schedules or self.schedules, self.bus, clock=self.clock, metrics=self.metrics)

    def candidate(self, name: str, clock: FakeClock) -> Candidate:
        """A process that fires when it leads."""
        duty = FiringDuty(self.schedules, self.bus, clock=clock, metrics=self.metrics)
        return Candidate(name, self.database, clock, [duty])

    async def lead(self, name: str = "wrk_ann") -> Term:
        term = await SqliteLeadership(self.database).lead(WorkerId(name), timedelta(), self.clock.now())
        assert term is not None
        return term

    async def fire(self) -> None:
        duty, term = self.duty(), await self.lead()
        while await duty.do(term):
            pass

    async def hours(self, due: Due) -> list[int]:
        """When it was fired."""
        return [fire.moment.hour for fire in reversed(await self.schedules.fires(due.schedule.id, most=999))]


@pytest.fixture
async def clockwork(tmp_path: Path, clock: FakeClock, anyio_backend: str) -> AsyncIterator[Clockwork]:
    database = await Database.open(tmp_path / "emissary.db")
    yield Clockwork(database, clock)
    await database.close()


async def test_a_schedule_is_told_when_it_comes_due_first(clockwork: Clockwork) -> None:
    added = await clockwork.timetable.add(TEMPLATE, HOURLY)
    assert added.at == clockwork.clock.now() + timedelta(hours=1)
    assert await clockwork.timetable.of_account(ACCOUNT) == [added]
    assert await clockwork.timetable.of_account(OTHER) == []


@pytest.mark.parametrize(
    "timing",
    [
        Cron("hourly"),
        Cron("0 0 31 2 *"),
        Cron("* * * * *", "Nowhere"),
        Every(timedelta(), datetime(2030, 1, 1, tzinfo=UTC)),
    ],
)
async def test_a_schedule_that_cannot_be_read_is_not_kept(clockwork: Clockwork, timing: Timing) -> None:
    with pytest.raises(BadRequest):
        await clockwork.timetable.add(TEMPLATE, timing)
    assert await clockwork.timetable.of_account(ACCOUNT) == []


async def test_a_schedule_that_was_removed_comes_no_more(clockwork: Clockwork) -> None:
    added = await clockwork.timetable.add(TEMPLATE, HOURLY)
    assert not await clockwork.timetable.remove(added.schedule.id, OTHER)
    assert await clockwork.timetable.remove(added.schedule.id, ACCOUNT)
    clockwork.clock.advance(2 * HOUR)
    await clockwork.fire()
    assert await clockwork.jobs.depth() == 0


async def test_when_its_moment_comes_a_job_is_made_and_workers_hear_of_it(clockwork: Clockwork) -> None:
    added = await clockwork.timetable.add(TEMPLATE, HOURLY)
    async with clockwork.bus.listen(LANES_TOPIC) as ears:
        clockwork.clock.advance(HOUR - 1)
        await clockwork.fire()
        assert await clockwork.jobs.depth() == 0
        clockwork.clock.advance(1)
        await clockwork.fire()
        assert await ears.hear(0) == {TEMPLATE.lane}
    (fire,) = await clockwork.schedules.fires(added.schedule.id, most=9)
    found = await clockwork.jobs.job(fire.job, clockwork.clock.now())
    assert found is not None
    assert (found.account, found.kind, found.lane, found.order) == (
        TEMPLATE.account,
        TEMPLATE.kind,
        TEMPLATE.lane,
        TEMPLATE.order,
    )
    assert clockwork.metrics.registry.get_sample_value("emissary_schedules_fired_total") == 1


@pytest.mark.parametrize(
    ("catch_up", "hours"), [(CatchUp.SKIP, []), (CatchUp.ONCE, [5]), (CatchUp.ALL, [1, 2, 3, 4, 5])]
)
async def test_after_an_outage_as_much_is_made_up_for_as_the_schedule_says(
    clockwork: Clockwork, catch_up: CatchUp, hours: list[int]
) -> None:
    added = await clockwork.timetable.add(TEMPLATE, HOURLY, catch_up)
    clockwork.clock.advance(5.5 * HOUR)
    await clockwork.fire()
    assert await clockwork.hours(added) == hours
    clockwork.clock.advance(HOUR / 2)
    await clockwork.fire()
    assert await clockwork.hours(added) == [*hours, 6], "and then it goes on"


async def test_what_is_due_is_fired_however_much_it_is(clockwork: Clockwork) -> None:
    for _ in range(250):
        await clockwork.timetable.add(TEMPLATE, HOURLY)
    clockwork.clock.advance(HOUR)
    await clockwork.fire()
    assert await clockwork.jobs.depth() == 250


async def test_a_schedule_that_cannot_be_read_any_more_does_not_hold_up_the_others(clockwork: Clockwork) -> None:
    broken, sound = [await clockwork.timetable.add(TEMPLATE, HOURLY) for _ in range(2)]
    statement = "UPDATE schedules SET zone = 'Atlantis/Capital' WHERE id = ?"
    await clockwork.database.write(lambda connection: connection.execute(statement, (broken.schedule.id,)))
    clockwork.clock.advance(HOUR)
    await clockwork.fire()
    assert (await clockwork.hours(broken), await clockwork.hours(sound)) == ([], [1])
    assert await clockwork.schedules.due(clockwork.clock.now(), most=9) == [], "and it is not looked at all the time"


async def test_a_leader_that_was_paused_between_looking_and_firing_fires_nothing(clockwork: Clockwork) -> None:
    added = await clockwork.timetable.add(TEMPLATE, HOURLY, CatchUp.ALL)
    clockwork.clock.advance(HOUR)
    paused = StallingSchedules(clockwork.schedules)
    paused.stall()
    under_way = asyncio.create_task(clockwork.duty(paused).do(await clockwork.lead("wrk_old")))
    async with asyncio.timeout(10):
        while not paused.waiting:
            await clockwork.schedules.due(clockwork.clock.now(), most=1)
    clockwork.clock.advance(2 * HOUR)
    await clockwork.fire()
    paused.go_on()
    with pytest.raises(TermOver):
        await under_way
    assert await clockwork.hours(added) == [1, 2, 3]
    assert await clockwork.jobs.depth() == 3


async def test_a_moment_that_comes_while_the_lead_changes_is_fired_in_time_and_once(clockwork: Clockwork) -> None:
    added = await clockwork.timetable.add(TEMPLATE, HOURLY, CatchUp.SKIP)
    almost = clockwork.clock.now() + timedelta(minutes=59, seconds=30)
    ann, bob = (clockwork.candidate(name, FakeClock(almost)) for name in ("wrk_ann", "wrk_bob"))
    async with AsyncExitStack() as stack:
        async with ann.dying():
            await stack.enter_async_context(bob.running())
            for _ in range(25):
                await ann.after(1)
                await bob.after(1)
            assert (ann.leads, bob.leads) == (True, False)
        await bob.after(30)
        assert bob.leads
    assert await clockwork.hours(added) == [1], "although what is late by more than a minute would be skipped"
