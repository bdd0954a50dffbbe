"""Stopping and killing leaders: another takes over in time, and no moment of a schedule is lost or fired twice."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from emissary.adapters.clock import SystemClock
from emissary.backends.cluster.database import Database
from emissary.backends.cluster.jobs import PostgresJobRecords
from emissary.backends.cluster.schedules import PostgresSchedules
from emissary.model.ids import AccountId, ScheduleId
from emissary.model.jobs import Kind
from emissary.model.schedules import CatchUp, Fire, Schedule, Template
from emissary.model.timing import Every

pytestmark = pytest.mark.anyio

LEASE = 1.5
ROUNDS = 3
TICKS = ScheduleId("sch_ticks")


class Candidates:
    """Processes that may lead, each under its name."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        program = Path(__file__).with_name("one_candidate.py")
        self._processes[name] = subprocess.Popen([sys.executable, program, self._url, name, str(LEASE)])

    def send(self, name: str, number: signal.Signals) -> None:
        self._processes[name].send_signal(number)
        if number is signal.SIGKILL:
            self._processes[name].wait()

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()


@pytest.fixture
def candidates(database_url: str) -> Iterator[Candidates]:
    candidates = Candidates(database_url)
    for name in ("wrk_ann", "wrk_bob", "wrk_cleo"):
        candidates.start(name)
    yield candidates
    candidates.close()


@pytest.fixture
async def database(database_url: str, anyio_backend: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


async def leader(database: Database, other_than: str | None = None) -> str:
    """Who leads, as soon as it is somebody else."""
    async with asyncio.timeout(30):
        while True:
            row = await database.read_one("SELECT leader FROM leadership WHERE until > now()")
            if row is not None and row[0] not in (None, other_than):
                return str(row[0])
            await SystemClock().sleep(0.02)


async def until_fired(database: Database, more: int) -> list[Fire]:
    """The moments so far, as soon as there are so many more than now."""
    schedules = PostgresSchedules(database)
    wanted = len(await schedules.fires(TICKS, most=9_999)) + more
    async with asyncio.timeout(30):
        while len(fires := await schedules.fires(TICKS, most=9_999)) < wanted:
            await SystemClock().sleep(0.02)
    return fires


@pytest.mark.parametrize("harm", [signal.SIGSTOP, signal.SIGKILL])
async def test_no_moment_is_lost_or_fired_twice_when_leaders_are_stopped_and_killed(
    database: Database, candidates: Candidates, harm: signal.Signals
) -> None:
    begin = SystemClock().now().replace(microsecond=0)
    template = Template(AccountId("acc_1"), Kind("test"), "host:a.example", b"{}")
    ticks = Schedule(TICKS, template, Every(timedelta(seconds=1), begin), CatchUp.ALL, begin)
    await PostgresSchedules(database).add(ticks, begin + timedelta(seconds=1))
    for _ in range(ROUNDS):
        old = await leader(database)
        await until_fired(database, 1)
        candidates.send(old, harm)
        assert await leader(database, other_than=old) != old
        await until_fired(database, 2)
        if harm is signal.SIGSTOP:
            candidates.send(old, signal.SIGCONT)  # it wakes, believes that it leads, and goes on where it was
        else:
            candidates.start(old)
    fires = (await until_fired(database, 2))[::-1]
    moments = [fire.moment for fire in fires]
    assert moments[0] == begin + timedelta(seconds=1)
    assert all(after - before == timedelta(seconds=1) for before, after in pairwise(moments))
    candidates.close()
    made = await PostgresSchedules(database).fires(TICKS, most=9_999)
    assert await PostgresJobRecords(database).depth() == len(made)
