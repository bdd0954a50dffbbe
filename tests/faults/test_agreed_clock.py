"""The clock of a directory: its processes agree, and whoever sets the time of day leads none of them astray."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from wrist_watch import StillWatch

from emissary.adapters.clock import AgreedClock, Machine
from emissary.model.errors import StoreUnavailable

pytestmark = pytest.mark.anyio

BEGIN = 3_786_912_000.0  # far from any time of day that the machine of a test may have
HOUR, LEASE = 3600.0, 300.0
Opener = Callable[[], Awaitable[AgreedClock]]

both_ways = pytest.mark.parametrize("by", [HOUR, -HOUR])


def shown(clock: AgreedClock) -> float:
    """Seconds since the beginning."""
    return (clock.now() - datetime.fromtimestamp(BEGIN, UTC)) / timedelta(seconds=1)


@pytest.fixture
def watch() -> StillWatch:
    return StillWatch(BEGIN)


@pytest.fixture
async def another(tmp_path: Path, watch: StillWatch, anyio_backend: str) -> AsyncIterator[Opener]:
    """Opens the clock of the same directory once more, as another process does."""
    clocks = []

    async def opened() -> AgreedClock:
        clocks.append(await AgreedClock.open(tmp_path / "clock", watch.machine))
        return clocks[-1]

    yield opened
    for clock in clocks:
        clock.close()


@both_ways
async def test_the_time_goes_by_the_steady_clock_when_the_time_of_day_is_set(
    watch: StillWatch, another: Opener, by: float
) -> None:
    clock = await another()
    assert shown(clock) == 0
    watch.go_on(10)
    watch.set_by(by)
    assert shown(clock) == 10
    await clock.correct()
    assert shown(clock) == 10


@both_ways
async def test_it_comes_to_the_time_that_was_set_slowly_and_goes_on_with_it(
    watch: StillWatch, another: Opener, by: float
) -> None:
    clock = await another()
    watch.set_by(by)
    await clock.correct()
    watch.go_on(10)
    assert shown(clock) == pytest.approx(12 if by > 0 else 8)
    watch.go_on(5 * HOUR)
    assert shown(clock) == pytest.approx(5 * HOUR + 10 + by)
    await clock.correct()
    watch.go_on(10)
    assert shown(clock) == pytest.approx(5 * HOUR + 20 + by)


async def test_a_time_that_is_set_back_before_it_was_reached_is_followed_from_where_the_clock_is(
    watch: StillWatch, another: Opener
) -> None:
    clock = await another()
    watch.set_by(HOUR)
    await clock.correct()
    watch.go_on(100)
    watch.set_by(-HOUR)
    await clock.correct()
    assert shown(clock) == pytest.approx(120)
    watch.go_on(50)
    assert shown(clock) == pytest.approx(160)
    watch.go_on(100)
    assert shown(clock) == pytest.approx(250)


async def test_no_lease_ends_before_its_holder_has_let_go(watch: StillWatch, another: Opener) -> None:
    clock = await another()
    watch.set_by(24 * HOUR)
    for _ in range(int(0.7 * LEASE)):
        await clock.correct()
        watch.go_on(1)
    assert shown(clock) < 0.9 * LEASE


@both_ways
async def test_whoever_comes_while_somebody_is_there_has_the_same_time(
    watch: StillWatch, another: Opener, by: float
) -> None:
    first = await another()
    watch.set_by(by)
    second = await another()
    assert shown(second) == shown(first) == 0
    await second.correct()
    await first.correct()
    watch.go_on(10)
    assert shown(second) == shown(first) == pytest.approx(12 if by > 0 else 8)


async def test_what_another_saw_first_lets_the_time_stand_still_and_never_takes_it_back(
    watch: StillWatch, another: Opener
) -> None:
    first, second = await another(), await another()
    watch.set_by(-HOUR)
    await first.correct()
    watch.go_on(5)
    assert (shown(first), shown(second)) == pytest.approx((4, 5))
    await second.correct()
    assert shown(second) == 5
    watch.go_on(5)
    assert shown(first) == shown(second) == pytest.approx(8)


@both_ways
async def test_when_all_have_gone_the_next_takes_the_time_of_day_as_it_is(
    watch: StillWatch, another: Opener, by: float
) -> None:
    first, second = await another(), await another()
    watch.set_by(by)
    first.close()
    third = await another()
    assert shown(third) == 0
    second.close()
    third.close()
    assert shown(await another()) == by


async def test_the_time_of_a_boot_that_is_over_is_no_longer_gone_by(tmp_path: Path, watch: StillWatch) -> None:
    before = await AgreedClock.open(tmp_path / "clock", watch.machine)
    before.close()
    after = await AgreedClock.open(tmp_path / "clock", StillWatch(BEGIN + 60, steady=3.0).machine)
    assert shown(after) == 60
    after.close()


async def test_those_who_come_at_once_agree_whoever_was_first(tmp_path: Path) -> None:
    for _ in range(20):
        watches = [StillWatch(BEGIN + number * HOUR) for number in range(8)]
        opening = [AgreedClock.open(tmp_path / "clock", watch.machine) for watch in watches]
        clocks = await asyncio.gather(*opening)
        assert len({shown(clock) for clock in clocks}) == 1
        for clock in clocks:
            clock.close()


async def test_who_comes_while_the_first_is_still_taking_the_time_waits_for_it(tmp_path: Path) -> None:
    began, goes_on = threading.Event(), threading.Event()

    def slowly() -> float:
        began.set()
        goes_on.wait()
        return BEGIN

    slow = Machine(slowly, StillWatch(BEGIN).machine.steady)
    first = asyncio.create_task(AgreedClock.open(tmp_path / "clock", slow))
    await asyncio.to_thread(began.wait)
    second = asyncio.create_task(AgreedClock.open(tmp_path / "clock", StillWatch(BEGIN + HOUR).machine))
    came_early, _ = await asyncio.wait([second], timeout=0.1)
    goes_on.set()
    clocks = await asyncio.gather(first, second)
    assert not came_early
    assert [shown(clock) for clock in clocks] == [0, 0]
    for clock in clocks:
        clock.close()


async def test_a_place_where_no_clock_can_be_kept_is_a_store_that_cannot_be_used(
    tmp_path: Path, watch: StillWatch
) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        await AgreedClock.open(tmp_path / "nowhere" / "clock", watch.machine)
