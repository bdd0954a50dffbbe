"""The promise of `ports.leadership.Leadership`: one leads, and whoever leads by mistake can write nothing."""

import asyncio
from datetime import timedelta

import pytest
from making import ANN, BOB, at
from sides import Side

from emissary.model.alerts import Alert
from emissary.model.errors import TermOver
from emissary.model.leadership import Term

pytestmark = pytest.mark.anyio

LEASE = timedelta(seconds=15)
NONE_AT_ALL = timedelta()


async def test_the_first_candidate_leads_and_the_second_stands_by(side: Side, other_side: Side) -> None:
    term = await side.leadership.lead(ANN, LEASE, at(0))
    assert term is not None
    assert term.leader == ANN
    assert await other_side.leadership.lead(BOB, LEASE, at(1)) is None


async def test_a_leader_goes_on_in_the_same_term(side: Side, other_side: Side) -> None:
    first = await side.leadership.lead(ANN, LEASE, at(0))
    for seconds in (5, 10, 15, 20, 25):
        assert await side.leadership.lead(ANN, LEASE, at(seconds)) == first
        assert await other_side.leadership.lead(BOB, LEASE, at(seconds)) is None


async def test_a_lease_that_ran_out_is_taken_over_in_a_new_term(side: Side, other_side: Side) -> None:
    old = await side.leadership.lead(ANN, NONE_AT_ALL, at(0))
    new = await other_side.leadership.lead(BOB, LEASE, at(0))
    assert old is not None
    assert new is not None
    assert new.number > old.number
    assert await side.leadership.lead(ANN, LEASE, at(1)) is None, "and the old leader stands by"


async def test_a_leader_that_was_late_goes_on_if_nobody_took_over(side: Side) -> None:
    term = await side.leadership.lead(ANN, NONE_AT_ALL, at(0))
    assert await side.leadership.lead(ANN, LEASE, at(60)) == term


async def test_whoever_resigns_makes_room_at_once(side: Side, other_side: Side) -> None:
    old = await side.leadership.lead(ANN, LEASE, at(0))
    assert old is not None
    await side.leadership.resign(old)
    new = await other_side.leadership.lead(BOB, LEASE, at(0))
    assert new is not None
    assert new.number > old.number


async def test_whoever_comes_back_after_resigning_begins_a_new_term(side: Side) -> None:
    old = await side.leadership.lead(ANN, LEASE, at(0))
    assert old is not None
    await side.leadership.resign(old)
    new = await side.leadership.lead(ANN, LEASE, at(0))
    assert new is not None
    assert new.number > old.number


async def test_an_old_leader_cannot_resign_for_the_new_one(side: Side, other_side: Side) -> None:
    old = await side.leadership.lead(ANN, NONE_AT_ALL, at(0))
    new = await other_side.leadership.lead(BOB, LEASE, at(0))
    assert old is not None
    await side.leadership.resign(old)
    assert await side.leadership.lead(ANN, LEASE, at(0)) is None
    assert await other_side.leadership.lead(BOB, LEASE, at(1)) == new


async def test_of_many_who_ask_at_once_one_leads(side: Side, other_side: Side) -> None:
    asked = [
        (side if number % 2 else other_side).leadership.lead(f"wrk_{number}", LEASE, at(0))  # type: ignore[arg-type]
        for number in range(20)
    ]
    assert len([term for term in await asyncio.gather(*asked) if term is not None]) == 1


async def test_nothing_is_written_under_a_term_that_is_over(side: Side, other_side: Side) -> None:
    old = await side.leadership.lead(ANN, NONE_AT_ALL, at(0))
    assert old is not None
    assert await side.alerts.note(old, Alert("worker.dead", "wrk_1", at(0)), []), "until another takes over"
    await other_side.leadership.lead(BOB, LEASE, at(0))
    with pytest.raises(TermOver):
        await side.alerts.note(old, Alert("worker.dead", "wrk_2", at(1)), [])
    assert [alert.subject for alert in await side.alerts.latest(most=9)] == ["wrk_1"]


async def test_nothing_is_written_under_a_term_that_never_was(side: Side) -> None:
    await side.leadership.lead(ANN, LEASE, at(0))
    with pytest.raises(TermOver):
        await side.alerts.note(Term(99, ANN), Alert("worker.dead", "wrk_1", at(0)), [])
