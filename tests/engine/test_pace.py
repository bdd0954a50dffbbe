"""Pacing in memory, with a clock that stands still."""

import asyncio
from datetime import timedelta

import pytest

from emissary.engine.pace import LanePace
from emissary.model.lanes import Grip, LaneAdvice, LaneKey, Lease, Pace, Reason, Strain
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

TEN_SECONDS = timedelta(seconds=10)


def _pace(pace: Pace, clock: FakeClock, asked: timedelta | None = None, stretch: float = 1.0) -> LanePace:
    lease = Lease(Grip(LaneKey("host:a.example"), 1), (), asked, stretch)
    return LanePace(pace, lease, clock, lambda: 0.0)


class Visitor:
    """Uses the lane and notes when."""

    def __init__(self, pace: LanePace, clock: FakeClock, seconds: float = 0) -> None:
        self._pace, self._clock, self._seconds = pace, clock, seconds
        self.began: list[float] = []
        self.inside = 0

    async def visit(self) -> None:
        async with self._pace.turn():
            self.began.append(self._clock.monotonic())
            self.inside += 1
            await self._clock.sleep(self._seconds)
            self.inside -= 1


async def test_the_first_visit_waits_for_nothing(clock: FakeClock) -> None:
    visitor = Visitor(_pace(Pace(TEN_SECONDS), clock), clock)
    await visitor.visit()
    assert visitor.began == [0]


async def test_the_gap_runs_from_the_end_of_one_visit_to_the_beginning_of_the_next(clock: FakeClock) -> None:
    visitor = Visitor(_pace(Pace(TEN_SECONDS), clock), clock, seconds=3)
    async with asyncio.TaskGroup() as group:
        group.create_task(visitor.visit())
        group.create_task(visitor.visit())
        await clock.until_asleep(3)
        clock.advance(3)
        await clock.until_asleep(10)
        clock.advance(9)
        await clock.until_asleep(1)
        assert visitor.began == [0]
        clock.advance(1)
        await clock.until_asleep(3)
        clock.advance(3)
    assert visitor.began == [0, 13]


async def test_no_more_visits_at_once_than_the_lane_allows(clock: FakeClock) -> None:
    visitor = Visitor(_pace(Pace(timedelta(), concurrency=2), clock), clock, seconds=5)
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(visitor.visit())
        for _ in range(2):
            await clock.until_asleep(5, sleepers=2)
            assert visitor.inside == 2
            clock.advance(5)
    assert visitor.began == [0, 0, 5, 5]


async def test_a_site_may_ask_for_more_patience_than_we_plan_and_never_for_less(clock: FakeClock) -> None:
    for asked, kept in ((30, 30), (2, 10)):
        pace = _pace(Pace(TEN_SECONDS), clock, timedelta(seconds=asked))
        await Visitor(pace, clock).visit()
        assert pace.rest() == (clock.now() + timedelta(seconds=kept), Reason.GAP)


async def test_a_longer_gap_holds_from_the_visit_that_learned_of_it(clock: FakeClock) -> None:
    pace = _pace(Pace(TEN_SECONDS), clock)
    visitor = Visitor(pace, clock)
    await visitor.visit()
    pace.heed(LaneAdvice(gap=timedelta(seconds=30)))
    assert pace.rest() == (clock.now() + timedelta(seconds=30), Reason.GAP)
    async with asyncio.TaskGroup() as group:
        group.create_task(visitor.visit())
        await clock.until_asleep(30)
        clock.advance(30)
    assert visitor.began == [0, 30]


async def test_a_lane_that_is_to_be_left_alone_is(clock: FakeClock) -> None:
    pace, later = _pace(Pace(TEN_SECONDS, concurrency=2), clock), clock.now() + timedelta(seconds=60)
    visitor = Visitor(pace, clock)
    assert not pace.must_rest
    pace.heed(LaneAdvice(rest_until=later, reason=Reason.RETRY_AFTER))
    pace.heed(LaneAdvice(rest_until=clock.now() + timedelta(seconds=20)))
    assert pace.must_rest
    assert pace.rest() == (later, Reason.RETRY_AFTER)
    async with asyncio.TaskGroup() as group:
        group.create_task(visitor.visit())  # one that was on its way when its neighbour was sent off
        await clock.until_asleep(60)
        clock.advance(60)
    assert not pace.must_rest
    assert visitor.began == [60]


async def test_a_lane_that_was_not_used_need_not_rest(clock: FakeClock) -> None:
    pace = _pace(Pace(TEN_SECONDS), clock)
    assert pace.rest() == (clock.now(), Reason.GAP)


async def test_a_visit_that_broke_off_counts_as_a_visit(clock: FakeClock) -> None:
    pace = _pace(Pace(TEN_SECONDS), clock)
    with pytest.raises(LookupError):
        async with pace.turn():
            raise LookupError
    assert pace.rest() == (clock.now() + TEN_SECONDS, Reason.GAP)


async def test_a_strained_site_is_visited_less_often_and_by_and_by_as_often_as_before(clock: FakeClock) -> None:
    pace = _pace(Pace(TEN_SECONDS), clock)
    await Visitor(pace, clock).visit()
    pace.heed(LaneAdvice(strain=Strain.HEAVY))
    assert pace.rest()[0] == clock.now() + timedelta(seconds=20)
    pace.heed(LaneAdvice(strain=Strain.RISING))
    assert pace.rest()[0] == clock.now() + timedelta(seconds=30)
    for _ in range(20):
        pace.heed(LaneAdvice(strain=Strain.NONE))
    assert pace.rest()[0] == clock.now() + timedelta(seconds=10)


async def test_a_site_without_a_gap_gets_one_when_it_strains(clock: FakeClock) -> None:
    pace = _pace(Pace(timedelta()), clock)
    await Visitor(pace, clock).visit()
    pace.heed(LaneAdvice(strain=Strain.HEAVY))
    assert pace.rest()[0] > clock.now()


async def test_the_strain_that_the_last_holder_saw_is_remembered(clock: FakeClock) -> None:
    pace = _pace(Pace(TEN_SECONDS), clock, stretch=3.0)
    await Visitor(pace, clock).visit()
    assert pace.rest()[0] == clock.now() + timedelta(seconds=30)


async def test_a_turn_waits_a_little_longer_than_its_gap_and_never_shorter(clock: FakeClock) -> None:
    lease = Lease(Grip(LaneKey("host:a.example"), 1), ())
    visitor = Visitor(LanePace(Pace(TEN_SECONDS), lease, clock, lambda: 0.03), clock)
    await visitor.visit()
    async with asyncio.TaskGroup() as group:
        group.create_task(visitor.visit())
        await clock.until_asleep(10.3)
        clock.advance(10.3)
    assert visitor.began == [0, 10.3]


async def test_a_wait_that_grows_is_drawn_out_by_chance_only_once(clock: FakeClock) -> None:
    lease = Lease(Grip(LaneKey("host:a.example"), 1), ())
    pace = LanePace(Pace(TEN_SECONDS), lease, clock, lambda: 0.03)
    visitor = Visitor(pace, clock)
    await visitor.visit()
    async with asyncio.TaskGroup() as group:
        group.create_task(visitor.visit())
        await clock.until_asleep(10.3)
        pace.heed(LaneAdvice(gap=timedelta(seconds=30)))  # as a timer that comes too early, by a lot
        clock.advance(10.3)
        await clock.until_asleep(19.7)
        clock.advance(19.7)
    assert visitor.began == [0, 30]


async def test_whoever_only_waits_can_be_told_to_give_up(clock: FakeClock) -> None:
    pace = _pace(Pace(TEN_SECONDS), clock)
    visitor = Visitor(pace, clock)
    await visitor.visit()
    waiting = asyncio.create_task(visitor.visit())
    await clock.until_asleep(10)
    pace.give_up_waiting()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert visitor.began == [0]


async def test_whoever_comes_to_wait_after_that_gives_up_as_well(clock: FakeClock) -> None:
    pace = _pace(Pace(TEN_SECONDS, concurrency=2), clock)
    visitor = Visitor(pace, clock, seconds=3)
    inside = asyncio.create_task(visitor.visit())
    await clock.until_asleep(3)
    behind = [asyncio.create_task(visitor.visit()) for _ in range(2)]
    await clock.until_asleep(10)
    pace.give_up_waiting()
    clock.advance(3)
    await inside
    waiting = [*behind, asyncio.create_task(visitor.visit())]
    await asyncio.wait(waiting, timeout=10)
    assert [each.cancelled() for each in waiting] == [True] * 3
    assert visitor.began == [0]
