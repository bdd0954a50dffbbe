"""Jobs that come one by one are written together, and each is told what became of it."""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from workshop import Workshop, job

from emissary.engine.intake import Intake
from emissary.model.accounts import Allowance
from emissary.model.errors import QueueFull, StoreUnavailable
from emissary.model.ids import AccountId, JobId
from emissary.model.jobs import NewJob
from emissary.model.lanes import Pace
from emissary.model.waiting import Terms

pytestmark = pytest.mark.anyio


class _Slow:
    """A store that writes when it is let, and says what it was given."""

    def __init__(self) -> None:
        self.groups: list[list[NewJob]] = []
        self.begun = asyncio.Semaphore(0)
        self.let = asyncio.Semaphore(0)
        self.is_down = False

    async def write(self, jobs: Sequence[NewJob]) -> frozenset[JobId]:
        self.groups.append(list(jobs))
        self.begun.release()
        await self.let.acquire()
        if self.is_down:
            raise StoreUnavailable("it is away")
        return frozenset(each.id for each in jobs)


async def test_what_comes_while_something_is_written_is_written_together() -> None:
    store = _Slow()
    intake, jobs = Intake(store.write), [job() for _ in range(5)]
    async with asyncio.TaskGroup() as group:
        accepted = [group.create_task(intake.accept(each)) for each in jobs]
        for _ in range(2):
            await store.begun.acquire()
            store.let.release()
    assert store.groups == [jobs[:1], jobs[1:]]
    assert [each.result() for each in accepted] == [{each.id} for each in jobs]


async def test_whoever_stops_waiting_takes_nobody_along() -> None:
    store = _Slow()
    intake, jobs = Intake(store.write), [job() for _ in range(4)]
    first, second, third = (asyncio.create_task(intake.accept(each)) for each in jobs[:3])
    await store.begun.acquire()
    first.cancel()
    await store.begun.acquire()
    second.cancel()
    store.let.release()
    assert await third == {jobs[2].id}
    store.let.release()
    assert await intake.accept(jobs[3]) == {jobs[3].id}


async def test_a_store_that_is_away_is_told_to_all_who_wait_and_to_nobody_later() -> None:
    store = _Slow()
    intake = Intake(store.write)
    store.is_down = True
    waiting = [asyncio.create_task(intake.accept(job())) for _ in range(3)]
    for _ in range(2):
        await store.begun.acquire()
        store.let.release()
    told = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in told] == [StoreUnavailable] * 3
    store.is_down = False
    store.let.release()
    assert await intake.accept(job())


async def test_accounts_do_not_wait_for_each_other() -> None:
    store = _Slow()
    intake, one, other = Intake(store.write), job(), replace(job(), account=AccountId("acc_other"))
    async with asyncio.TaskGroup() as group:
        for each in (one, other):
            group.create_task(intake.accept(each))
        for _ in range(2):
            await store.begun.acquire()
        store.let.release()
        store.let.release()
    assert store.groups == [[one], [other]]


async def test_where_there_is_room_for_some_of_those_who_come_together_some_are_accepted(still: Workshop) -> None:
    still.terms = Terms(Allowance(most_queued=4), lambda _: Pace())
    jobs = still.jobs
    told = await asyncio.gather(*(jobs.accept([job()]) for _ in range(10)), return_exceptions=True)
    assert sum(isinstance(each, frozenset) for each in told) == 4
    assert sum(isinstance(each, QueueFull) for each in told) == 6
    assert await jobs.depth() == 4
