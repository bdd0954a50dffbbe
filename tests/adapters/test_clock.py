"""A clock that is kept elsewhere: neither this machine's time of day nor jumps over there lead anybody astray."""

from datetime import UTC, datetime, timedelta

import pytest

from emissary.adapters.clock import CarriedClock

pytestmark = pytest.mark.anyio

# Far from any time of day that the machine of a test may have.
THERE = datetime(2090, 1, 1, tzinfo=UTC)
HOUR, A_LITTLE = timedelta(hours=1), timedelta(seconds=20)


class Elsewhere:
    """A clock that says what it is told to say."""

    def __init__(self) -> None:
        self.says = THERE

    async def look(self) -> datetime:
        return self.says


async def test_the_time_is_that_of_the_other_clock_whatever_the_time_of_day_is_here() -> None:
    clock = CarriedClock(Elsewhere().look)
    await clock.correct()
    assert THERE <= clock.now() < THERE + A_LITTLE


async def test_between_two_looks_it_goes_on_at_the_pace_of_the_steady_clock() -> None:
    clock = CarriedClock(Elsewhere().look)
    await clock.correct()
    before, began = clock.now(), clock.monotonic()
    await clock.sleep(0.05)
    passed = clock.monotonic() - began
    assert timedelta(seconds=0.05) <= clock.now() - before < timedelta(seconds=passed) + A_LITTLE


async def test_a_jump_ahead_is_followed_with_the_next_look_and_not_before() -> None:
    elsewhere = Elsewhere()
    clock = CarriedClock(elsewhere.look)
    await clock.correct()
    elsewhere.says += HOUR
    assert clock.now() < THERE + A_LITTLE
    await clock.correct()
    assert THERE + HOUR <= clock.now() < THERE + HOUR + A_LITTLE


async def test_a_jump_back_lets_it_stand_still_until_the_other_has_caught_up() -> None:
    elsewhere = Elsewhere()
    clock = CarriedClock(elsewhere.look)
    await clock.correct()
    latest = clock.now()
    elsewhere.says -= HOUR
    await clock.correct()
    assert latest == clock.now() == clock.now()
    elsewhere.says = latest + timedelta(seconds=1)
    await clock.correct()
    assert latest < clock.now() < latest + A_LITTLE
