"""The promise of `ports.alerts.Alerts`: each is noted once, with its delivery or not at all."""

import asyncio
from datetime import timedelta

import pytest
from making import ANN, BOB, at, job
from sides import Side

from emissary.model.alerts import Alert
from emissary.model.errors import TermOver
from emissary.model.leadership import Term

pytestmark = pytest.mark.anyio

DEAD = Alert("worker.dead", "wrk_1", at(0))


async def leader(side: Side) -> Term:
    term = await side.leadership.lead(ANN, timedelta(seconds=15), at(0))
    assert term is not None
    return term


async def test_an_alert_is_noted_once_and_delivered_once(side: Side, other_side: Side) -> None:
    term = await leader(side)
    told = await asyncio.gather(side.alerts.note(term, DEAD, [job()]), other_side.alerts.note(term, DEAD, [job()]))
    assert sorted(told) == [False, True]
    assert await side.jobs.depth() == 1
    assert await other_side.alerts.latest(most=9) == [DEAD]


async def test_alerts_of_other_subjects_and_other_kinds_are_others(side: Side) -> None:
    term = await leader(side)
    others = [Alert("worker.dead", "wrk_2", at(1)), Alert("queue.deep", "wrk_1", at(2))]
    for each in (DEAD, *others):
        assert await side.alerts.note(term, each, [])
    assert await side.alerts.latest(most=2) == others[::-1]
    assert await side.jobs.depth() == 0


async def test_nothing_is_delivered_under_a_term_that_is_over(side: Side, other_side: Side) -> None:
    old = await side.leadership.lead(ANN, timedelta(), at(0))
    assert old is not None
    await other_side.leadership.lead(BOB, timedelta(seconds=15), at(0))
    with pytest.raises(TermOver):
        await side.alerts.note(old, DEAD, [job()])
    assert await side.jobs.depth() == 0
    assert await side.alerts.latest(most=9) == []
