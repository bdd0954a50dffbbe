"""Who is let in: many for a moment, few where it lasts, and those who wait apart."""

import pytest

from emissary.engine.admission import Admission, Place
from emissary.model.errors import Overloaded
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

MOST, FEW, ASIDE = 16, 2, 3


@pytest.fixture
def admission(clock: FakeClock) -> Admission:
    return Admission(clock, most_at_once=MOST, most_aside=ASIDE)


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


async def test_whoever_never_sends_the_rest_keeps_a_place_among_all(admission: Admission, clock: FakeClock) -> None:
    slow = _slow(admission, MOST + ASIDE)
    assert len(slow) == MOST + ASIDE
    assert admission.enter() is None, "nobody is at work, but no more can be waited for"
    slow.pop().leave()
    clock.advance(1)
    assert len(_enter(admission, 2)) == 1


async def test_those_at_work_aside_and_slow_to_send_are_bounded_together(admission: Admission) -> None:
    waiting = _enter(admission, ASIDE)
    for place in waiting:
        place.stand_aside()
    slow = _slow(admission, MOST - 1)
    at_work = _enter(admission, 2)
    assert (len(slow), len(at_work)) == (MOST - 1, 1)


async def test_all_places_are_free_again_however_they_were_left(admission: Admission, clock: FakeClock) -> None:
    for _ in range(3):
        slow = _slow(admission, ASIDE)
        waiting, answered, resumed, *rest = _enter(admission, MOST)
        waiting.stand_aside()
        waiting.answer()
        answered.answer()
        resumed.pause()
        resumed.resume()
        for place in (*slow, waiting, answered, resumed, *rest):
            place.leave()
            place.leave()
            place.resume()
    assert len(_slow(admission, 2 * MOST)) == MOST + ASIDE
    clock.advance(1)
    assert admission.enter() is None


def _slow(admission: Admission, count: int) -> list[Place]:
    """All who are let in of so many that never send the rest of what they began."""
    slow = []
    for _ in range(count):
        for place in _enter(admission, 1):
            place.pause()
            slow.append(place)
    return slow


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
