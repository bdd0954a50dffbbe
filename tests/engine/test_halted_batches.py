"""Of a batch that is cancelled or paused nothing more begins, whoever has some of it in hand."""

import asyncio
from datetime import timedelta

import pytest
from workshop import A, Gate, Workshop, finished, job, working

from emissary.backends.embedded.batches import SqliteBatches
from emissary.engine.handlers import Turn, Verdict, Work
from emissary.model.batches import BatchState, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId
from emissary.model.jobs import JobState
from emissary.model.lanes import Pace

pytestmark = pytest.mark.anyio

BATCH = BatchId(f"bat_{1:026d}")
HALTS = [BatchState.CANCELLED, BatchState.PAUSED]


@pytest.fixture
async def batches(workshop: Workshop) -> SqliteBatches:
    batches = SqliteBatches(workshop.database)
    await batches.open(NewBatch(BATCH, AccountId("acc_1"), job().kind, None, b"{}"), workshop.clock.now())
    return batches


async def until_heard(workshop: Workshop) -> None:
    async with asyncio.timeout(20):
        while not workshop.halted:
            await workshop.clock.sleep(0.01)


@pytest.mark.parametrize("halt", HALTS)
async def test_what_was_taken_and_not_begun_is_given_back(
    workshop: Workshop, batches: SqliteBatches, halt: BatchState
) -> None:
    gate, asked = Gate(), [job(batch=BATCH) for _ in range(5)]
    await workshop.submit(*asked)
    async with working(workshop.worker(gate.play)):
        await gate.reached.wait()
        await batches.mark(BATCH, halt, workshop.clock.now())
        await until_heard(workshop)
        gate.opened.set()
        await workshop.until_let_go(A)
    assert gate.seen == [asked[0].id], "only what had begun came to its end"


@pytest.mark.parametrize("halt", HALTS)
async def test_what_only_waits_for_its_turn_is_given_back_as_well(
    workshop: Workshop, batches: SqliteBatches, halt: BatchState
) -> None:
    seen: list[JobId] = []

    async def play(work: Work, turn: Turn) -> Verdict:
        async with turn():
            seen.append(work.item.job)
        return finished()

    asked = [job(batch=BATCH) for _ in range(3)]
    await workshop.submit(*asked)
    async with working(workshop.worker(play, pace=Pace(timedelta(seconds=1.9)))):
        await workshop.until_state(asked[0].id, JobState.COMPLETED)
        await batches.mark(BATCH, halt, workshop.clock.now())
        await workshop.until_let_go(A)
        assert seen == [asked[0].id]


async def test_others_at_the_same_host_are_served_all_the_same(workshop: Workshop, batches: SqliteBatches) -> None:
    gate, cancelled, alone = Gate(), [job(batch=BATCH) for _ in range(3)], job()
    await workshop.submit(*cancelled, alone)
    async with working(workshop.worker(gate.play)):
        await gate.reached.wait()
        await batches.mark(BATCH, BatchState.CANCELLED, workshop.clock.now())
        await until_heard(workshop)
        gate.opened.set()
        await workshop.until_end(alone)
    assert gate.seen == [cancelled[0].id, alone.id]
