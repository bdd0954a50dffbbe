"""The promises of `ports.clock`, over the real clock and the one that tests move."""

import asyncio
from datetime import timedelta

import pytest

from emissary.adapters.clock import SystemChance, SystemClock
from emissary.ports.clock import Chance, Clock
from emissary.testing.clock import FakeClock, SeededChance

pytestmark = pytest.mark.anyio


async def pass_time(clock: Clock, seconds: float) -> None:
    if isinstance(clock, FakeClock):
        await clock.until_asleep(seconds)
        clock.advance(seconds)


@pytest.mark.parametrize("make", [SystemClock, FakeClock])
async def test_a_sleeper_comes_back_when_its_time_has_passed_and_not_before(make: type[Clock]) -> None:
    clock = make()
    began, day = clock.monotonic(), clock.now()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(clock.sleep(0.02))
        group.create_task(pass_time(clock, 0.02))
    assert clock.monotonic() - began >= 0.02
    assert clock.now() - day >= timedelta(seconds=0.015), "the time of day may be set, but not by as much"


@pytest.mark.parametrize("make", [SystemClock, FakeClock])
async def test_whoever_need_not_sleep_comes_back_at_once(make: type[Clock]) -> None:
    async with asyncio.timeout(10):
        await make().sleep(0)
        await make().sleep(-5)


@pytest.mark.parametrize("make", [SystemClock, FakeClock])
def test_the_time_of_day_is_aware_and_in_utc(make: type[Clock]) -> None:
    assert make().now().utcoffset() == timedelta()


async def test_sleepers_of_a_moved_clock_wake_in_order_and_only_those_who_are_due() -> None:
    clock, woken = FakeClock(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(sleeper(seconds)) for seconds in (3, 1, 2, 9)]
        await clock.until_asleep(9)
        clock.advance(5)
        await asyncio.wait(tasks[:3])
        assert (woken, clock.waits) == ([1, 2, 3], [4])
        tasks[3].cancel()
    assert clock.waits == []


@pytest.mark.parametrize("make", [SystemChance, SeededChance])
def test_chance_gives_as_many_bytes_as_asked_and_not_the_same_again(make: type[Chance]) -> None:
    chance = make()
    assert [len(chance.draw(count)) for count in (0, 1, 10)] == [0, 1, 10]
    assert len({chance.draw(16) for _ in range(100)}) == 100


def test_the_same_seed_gives_the_same_chance() -> None:
    assert SeededChance(7).draw(20) == SeededChance(7).draw(20) != SeededChance(8).draw(20)
