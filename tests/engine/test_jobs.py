"""Accepting jobs, waiting for them, and ending them."""

from datetime import timedelta

import pytest
from workshop import Gate, Workshop, finished, job, working

from emissary.engine.handlers import Turn, Verdict, Work
from emissary.engine.jobs import new_job_id
from emissary.engine.results import JOB_TOPIC
from emissary.engine.worker import LANES_TOPIC
from emissary.model.accounts import Allowance
from emissary.model.errors import QueueFull, StoreUnavailable
from emissary.model.ids import AccountId
from emissary.model.jobs import JobState
from emissary.model.lanes import Pace
from emissary.model.waiting import Terms
from emissary.testing.clock import FakeClock, SeededChance

pytestmark = pytest.mark.anyio

LONG = timedelta(seconds=60)


async def test_whoever_waits_for_a_job_gets_its_end(workshop: Workshop) -> None:
    async def play(work: Work, turn: Turn) -> Verdict:
        return finished(b'{"small":true}')

    async with working(workshop.worker(play)):
        end = await workshop.jobs.accept_and_wait(job(), LONG)
    assert end.state is JobState.COMPLETED
    assert await workshop.jobs.body_of(end) == b'{"small":true}'


async def test_whoever_runs_out_of_patience_gets_the_job_as_it_is(workshop: Workshop) -> None:
    for patience in (timedelta(), timedelta(milliseconds=10)):
        found = await workshop.jobs.accept_and_wait(job(), patience)
        assert found.state is JobState.WAITING


async def test_whoever_waits_for_a_job_that_is_cancelled_is_told_at_once(workshop: Workshop) -> None:
    gate, asked = Gate(), job()

    async def cancel_soon(work: Work, turn: Turn) -> Verdict:
        assert await workshop.jobs.cancel(asked.id)
        return await gate.play(work, turn)

    async with working(workshop.worker(cancel_soon)):
        end = await workshop.jobs.accept_and_wait(asked, LONG)
        gate.opened.set()
    assert end.state is JobState.CANCELLED
    assert not await workshop.jobs.cancel(asked.id)
    assert (await workshop.see(asked.id)).result is None


async def test_workers_hear_of_a_job_only_after_it_is_on_disk(workshop: Workshop) -> None:
    async with workshop.bus.listen(LANES_TOPIC) as ears:
        workshop.lanes.down = True
        with pytest.raises(StoreUnavailable):
            await workshop.jobs.accept([job()])
        assert await ears.hear(0) == frozenset()
        workshop.lanes.down = False
        asked = job()
        await workshop.jobs.accept([asked])
        assert await ears.hear(0) == {asked.lane}
    assert await workshop.jobs.depth() == 1


async def test_a_job_in_line_says_when_it_may_start(still: Workshop, clock: FakeClock) -> None:
    gap = timedelta(seconds=10)
    still.terms = Terms(Allowance(), lambda _: Pace(gap))
    asked = [job() for _ in range(3)]
    await still.submit(*asked)
    clock.advance(5)
    why = await still.jobs.why_waiting(asked[2].id)
    assert why is not None
    assert (why.reason, why.ahead, why.until) == ("in_line", 2, clock.now() + 2 * gap)


async def test_no_more_is_accepted_than_may_stand_in_line(still: Workshop) -> None:
    still.terms = Terms(Allowance(most_queued=2), still.terms.pace_of)
    await still.submit(job(), job())
    with pytest.raises(QueueFull):
        await still.submit(job())
    assert await still.jobs.depth() == 2


async def test_a_job_is_shown_to_its_own_account_only(workshop: Workshop) -> None:
    asked = job()
    await workshop.jobs.accept([asked])
    assert await workshop.jobs.find(asked.id, asked.account) is not None
    assert await workshop.jobs.find(asked.id, AccountId("acc_other")) is None


async def test_a_missing_object_is_told_and_not_taken_for_an_empty_result(workshop: Workshop) -> None:
    async def play(work: Work, turn: Turn) -> Verdict:
        return finished(SeededChance().draw(200_000))

    async with working(workshop.worker(play)):
        end = await workshop.jobs.accept_and_wait(job(), LONG)
    assert end.result is not None
    assert end.result.blob is not None
    assert await workshop.jobs.body_of(end) == SeededChance().draw(200_000)
    await workshop.blobs.delete(end.result.blob)
    with pytest.raises(StoreUnavailable, match="missing"):
        await workshop.jobs.body_of(end)


async def test_a_result_of_middling_size_is_kept_beside_its_job(workshop: Workshop) -> None:
    async def play(work: Work, turn: Turn) -> Verdict:
        return finished(b"again and " * 20_000)

    async with working(workshop.worker(play)):
        end = await workshop.jobs.accept_and_wait(job(), LONG)
    assert end.result is not None
    assert end.result.blob is None
    assert await workshop.jobs.body_of(end) == b"again and " * 20_000


async def test_each_state_a_job_comes_to_is_said_on_the_bus(workshop: Workshop) -> None:
    gate, asked = Gate(), job()
    gate.opened.set()
    async with workshop.bus.listen(JOB_TOPIC + asked.id) as ears, working(workshop.worker(gate.play)):
        await workshop.submit(asked)
        assert await ears.hear(20) == {"completed"}


def test_job_names_sort_by_the_moment_they_were_made(clock: FakeClock) -> None:
    chance, names = SeededChance(), []
    for _ in range(5):
        names.append(new_job_id(clock, chance))
        clock.advance(0.001)
    assert names == sorted(set(names))
    assert all(name.startswith("job_") and len(name) == 30 for name in names)
