"""How a batch or a crawl on its way is told, in one line."""

from datetime import timedelta
from typing import Any

import pytest

from emissary.cli.following import summary
from emissary.client.answers import BatchStatus, Counts, LaneWait
from emissary.compose import the_clock


def _in(seconds: float) -> Any:
    return the_clock().now() + timedelta(seconds=seconds)


def _status(batch: str = "bat_1", **given: Any) -> BatchStatus:
    """A batch of a hundred pages, of which one is left."""
    standing = {"status": "running", "total": 100, "counts": Counts(completed=99, waiting=1), "created_at": _in(-60)}
    return BatchStatus(id=batch, **{**standing, **given})


def _waits(reason: str, seconds: float) -> list[LaneWait]:
    return [LaneWait(lane="host:a", reason=reason, until=_in(seconds), items=1)]


@pytest.mark.parametrize(
    ("pace", "told"),
    [(0.004, "0.004"), (0.25, "0.25"), (1.26, "1.3"), (9.96, "10"), (108.3, "108"), (1_234.5, "1,234")],
)
def test_the_pace_is_a_plain_figure(pace: float, told: str) -> None:
    assert f", {told} pages/s" in summary(_status(pages_per_second=pace))


def test_what_is_left_goes_by_the_pace_so_far() -> None:
    assert summary(_status(eta=_in(90 * 60 + 30))).endswith(", 1 h 30 min left")


def test_it_is_never_sooner_than_what_it_waits_for() -> None:
    told = summary(_status(eta=_in(1), why_waiting=_waits("gap", 90 * 60 + 30)))
    assert told.endswith(", 1 h 30 min left")


def test_a_last_page_that_is_tried_again_later_says_so_and_counts_nothing_down() -> None:
    told = summary(_status(eta=_in(1), why_waiting=_waits("back_off", 90 * 60 + 30)))
    assert told.endswith(", tries again in 1 h 30 min")


def test_pages_that_are_in_hand_beside_it_have_an_end_to_count_down_to() -> None:
    counts = Counts(completed=98, waiting=1, active=1)
    told = summary(_status(counts=counts, eta=_in(1), why_waiting=_waits("back_off", 90 * 60 + 30)))
    assert told.endswith(", 1 h 30 min left")


@pytest.mark.parametrize("seconds", [-30, 0, 1])
def test_a_last_page_that_takes_its_time_is_not_a_second_off_all_the_while(seconds: float) -> None:
    told = summary(_status(eta=_in(seconds), why_waiting=_waits("back_off", seconds)))
    assert told == "bat_1 running: 99 of 100 pages, 99 came"


def test_the_lists_of_a_crawl_are_no_pages_that_came() -> None:
    ended = {"status": "completed", "total": 99, "counts": Counts(completed=8, cancelled=91, cached=1)}
    told = summary(_status("crl_1", credits_used=4, **ended))
    assert told == "crl_1 completed: 99 of 99 pages and lists of them, 4 pages came, 91 cancelled"
