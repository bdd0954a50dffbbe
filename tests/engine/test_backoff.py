"""How long to wait before trying again."""

from datetime import UTC, datetime, timedelta

import pytest

from emissary.engine.backoff import next_try

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("failures", "attempts", "seconds"),
    [(0, 3, 2), (1, 3, 2), (2, 3, 4), (3, 9, 8), (4, 9, 16), (5, 9, 30), (6, 9, 30), (5000, 9999, 30)],
)
def test_each_failure_doubles_the_wait_up_to_half_a_minute(failures: int, attempts: int, seconds: int) -> None:
    assert next_try(failures, attempts, NOW) == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(("failures", "attempts"), [(1, 1), (3, 3), (4, 3), (1, 0)])
def test_when_every_attempt_was_made_there_is_no_next(failures: int, attempts: int) -> None:
    assert next_try(failures, attempts, NOW) is None
