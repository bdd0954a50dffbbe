"""Who is let in: many for a moment, few where it lasts, and those who wait apart."""

import pytest

from emissary.engine.admission import Admission, Place
from emissary.model.errors import Overloaded
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

MOST, FEW = 16, 2


@pytest.fixture
def admission(clock: FakeClock) -> Admission:
    return Admission(clock, most_at_once=MOST, most_aside=3)


def _enter(admission: Admission, count: int) -> list[Place]:
    """All who are let in of so many."""
    places = (admission.enter() for _ in range(count))
    return [place for place in places if place is not None]


async def test_one_more_than_the_bound_is_turned_away_and_let_in_when_another_has_gone(
    admission: Admission, clock: FakeClock
) -> None:
    places = _enter(admission, MOST)
    assert len(places) == MOST
    assert admission.enter() is None
    clock.advance(1)
    places[0].leave()
    assert admission.enter() is not None
    assert admission.enter() is None


async def test_once_somebody_was_turned_away_few_are_let_in(admission: Admission) -> None:
    places = _enter(admission, MOST + 1)
    places.pop().leave()
    assert admission.enter() is None, "there is a place, but not in a rush"
    while len(places) >= FEW:
        places.pop().leave()
    assert len(_enter(admission, MOST)) == 1


async def test_as_many_as_there_are_places_can_come_and_go_for_ever(admission: Admission) -> None:
    places = _enter(admission, MOST)
    for _ in range(10 * MOST):
        places.pop(0).leave()
        places += _enter(admission, 1)
        assert len(places) == MOST


async def test_after_a_calm_second_many_are_let_in_again(admission: Admission, clock: FakeClock) -> None:
    for place in _enter(admission, MOST + 1):
        place.leave()
    clock.advance(0.5)
    assert len(_enter(admission, MOST)) == FEW, "it was not calm for long enough"
    clock.advance(1)
    assert len(_enter(admission, MOST)) == MOST - FEW


async def test_whoever_waits_makes_room_for_others(admission: Admission) -> None:
    places = _enter(admission, MOST)
    for place in places[:3]:
        place.stand_aside()
    assert len(_enter(admission, 3)) == 3
    with pytest.raises(Overloaded):
        places[3].stand_aside()
    places[0].leave()
    places[3].stand_aside()
    assert len(_enter(admission, 1)) == 1


async def test_whoever_is_slow_to_send_or_to_take_the_answer_makes_room_as_well(admission: Admission) -> None:
    sending, taking, *_ = _enter(admission, MOST)
    sending.pause()
    taking.answer()
    assert len(_enter(admission, 2)) == 2
    sending.resume()
    sending.leave()
    assert admission.enter() is None


async def test_whoever_waits_keeps_that_place_while_being_answered(admission: Admission) -> None:
    waiting = _enter(admission, 3)
    for place in waiting:
        place.stand_aside()
        place.answer()
    (other,) = _enter(admission, 1)
    with pytest.raises(Overloaded):
        other.stand_aside()


async def test_a_place_is_given_back_once(admission: Admission) -> None:
    places = _enter(admission, MOST)
    for _ in range(2):
        places[0].answer()
        places[0].leave()
    assert len(_enter(admission, 2)) == 1
