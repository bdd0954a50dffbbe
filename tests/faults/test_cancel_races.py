"""Cancelling what is just being settled: each job ends in one way, and the counts say which."""

import asyncio

import pytest
from ledger_checker import batch_breaches, ledger_of, left_behind
from stage import Order, Stage

from emissary.model.batches import BatchState
from emissary.model.ids import JobId
from emissary.model.jobs import FINAL_STATES, JobState

pytestmark = pytest.mark.anyio

BATCHES = 12
PAGES = 40


async def race(stage: Stage, order: Order) -> dict[JobId, JobState]:
    """Cancel some jobs, then the batch, while it is worked off; returns what was seen to have ended how by then."""
    await order.until_ended(stage.chance.randint(1, PAGES - 10))
    backend = stage.backend
    some = stage.chance.sample(sorted(order.accepted), 10)
    cancelled, _ = await asyncio.gather(
        backend.lanes.cancel(some, backend.clock.now()),
        backend.batches.mark(order.batch.id, BatchState.CANCELLED, backend.clock.now()),
    )
    seen = {line.job: line.state for line in await ledger_of(backend, order.batch.id) if line.state in FINAL_STATES}
    return seen | dict.fromkeys(cancelled, JobState.CANCELLED)


async def test_a_job_that_is_cancelled_while_it_finishes_ends_in_one_way(stage: Stage, times: int) -> None:
    await stage.hire(2)
    for _ in range(times):
        orders = [await stage.order() for _ in range(BATCHES)]
        for order in orders:
            await order.add(PAGES)
            await order.seal()
        seen = await asyncio.gather(*(race(stage, order) for order in orders))
        ends = [await check_the_end(stage, order, saw) for order, saw in zip(orders, seen, strict=True)]
        assert sum(each is JobState.COMPLETED for states in ends for each in states) > BATCHES
        assert sum(each is JobState.CANCELLED for states in ends for each in states) > BATCHES
    assert await stage.dismiss() == [0, 0]
    for order in orders:  # what was still in somebody's hands changed nothing any more
        assert await batch_breaches(stage.backend, order.batch.id, order.accepted) == []
    assert await left_behind(stage.backend) == []
    assert "Traceback" not in stage.place.log.read_text()


async def check_the_end(stage: Stage, order: Order, seen: dict[JobId, JobState]) -> list[JobState]:
    await order.until_all_ended()
    assert await batch_breaches(stage.backend, order.batch.id, order.accepted) == []
    states = {line.job: line.state for line in await ledger_of(stage.backend, order.batch.id)}
    changed = [f"{job}: {end}, then {states[job]}" for job, end in seen.items() if states[job] is not end]
    assert changed == [], "an end is for good"
    return list(states.values())
