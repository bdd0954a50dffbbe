"""How long to wait before trying again."""

from datetime import UTC, datetime, timedelta

import pytest

from emissary.engine.backoff import TOLD_FOR, next_delivery, next_try

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("failures", "attempts", "seconds"),
    [(0, 3, 2), (1, 3, 2), (2, 3, 4), (3, 9, 8), (4, 9, 16), (5, 9, 25), (6, 9, 25), (5000, 9999, 25)],
)
def test_each_failure_doubles_the_wait_up_to_half_a_minute(failures: int, attempts: int, seconds: int) -> None:
    assert next_try(failures, attempts, NOW, 0) == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize("failures", range(12))
def test_each_wait_is_up_to_a_fifth_longer_and_never_more_than_half_a_minute(failures: int) -> None:
    waits = [_wait(failures, step / 255) for step in range(256)]
    assert waits == sorted(waits)
    assert waits[-1] / waits[0] == pytest.approx(1.2)
    assert waits[-1] <= timedelta(seconds=30)
    assert len(set(waits)) == 256, "those who failed together come back apart, however often they failed"


def _wait(failures: int, chance: float) -> timedelta:
    at = next_try(failures, 99, NOW, chance)
    assert at is not None
    return at - NOW


@pytest.mark.parametrize(("failures", "attempts"), [(1, 1), (3, 3), (4, 3), (1, 0)])
def test_when_every_attempt_was_made_there_is_no_next(failures: int, attempts: int) -> None:
    assert next_try(failures, attempts, NOW, 0.5) is None


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 2), (1, 2), (2, 10), (3, 60), (6, 1800), (7, 3600), (10, 28_800), (99, 28_800)]
)
def test_an_event_is_told_again_less_and_less_often(failures: int, seconds: int) -> None:
    assert next_delivery(failures, NOW, NOW, 0) == NOW + timedelta(seconds=seconds)
    assert next_delivery(failures, NOW, NOW, 1) == NOW + timedelta(seconds=seconds * 1.2)


def test_the_last_try_of_an_event_is_at_the_end_of_three_days() -> None:
    end = NOW + TOLD_FOR
    assert timedelta(days=3) == TOLD_FOR
    assert next_delivery(12, NOW, end - timedelta(minutes=1), 0.5) == end
    assert next_delivery(13, NOW, end, 0.5) is None
