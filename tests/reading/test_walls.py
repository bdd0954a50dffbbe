"""Walls are recognised, and pages that look like walls are left alone."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from benchmarks.refusals import answer_to, cases, code_of, scores

from emissary.model.pages import Code, Page, Refusal, Reply, RobotsNote, Timings
from emissary.reading.refusal import read
from emissary.reading.urls import parse
from emissary.reading.walls import refresh_of
from emissary.testing.web.pages.walls import CHALLENGES, ORDINARY, WALLS

_NOW = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
_NOTE = RobotsNote(None, None, _NOW)
_CASES = cases()
# A page about a place in a real line, which nothing in it tells from a waiting room. Listed in docs/refusals.md.
_KNOWN = {"fresh-doctor-queue"}
_FLOOR = 0.9
_LEAST_PRECISION = 0.98


def _named(case_id: str) -> dict[str, Any]:
    return next(case for case in _CASES if case["id"] == case_id)


def _read(case_id: str) -> Any:
    url, reply, hops = answer_to(_named(case_id))
    return read(url, reply, _NOTE, _NOW, hops=hops)


def test_at_least_half_of_the_cases_are_ordinary_pages() -> None:
    labels = Counter(case["label"] for case in _CASES)
    assert len(_CASES) >= 120
    assert labels["page"] * 2 >= len(_CASES)


@pytest.mark.parametrize("case", [case for case in _CASES if case["label"] == "page"], ids=lambda case: case["id"])
def test_an_ordinary_page_is_never_read_as_a_refusal(case: dict[str, Any]) -> None:
    assert (code_of(case) == "page") is (case["id"] not in _KNOWN)


@pytest.mark.parametrize("label", sorted({case["label"] for case in _CASES}))
def test_every_kind_of_wall_is_recognised_often_enough(label: str) -> None:
    assert scores(_CASES)[label].recall >= _FLOOR


def test_what_is_called_a_wall_is_one() -> None:
    walls = [score for label, score in scores(_CASES).items() if label != "page"]
    assert sum(score.right for score in walls) / sum(score.said for score in walls) >= _LEAST_PRECISION


@pytest.mark.parametrize("case", [case for case in _CASES if case["label"] != "page"], ids=lambda case: case["id"])
def test_a_refusal_says_what_gave_it_away(case: dict[str, Any]) -> None:
    outcome = _read(case["id"])
    if isinstance(outcome, Refusal):
        assert outcome.detail
        assert outcome.evidence
        assert outcome.robots is _NOTE


def test_a_header_alone_says_that_it_is_a_challenge() -> None:
    outcome = _read("cf-header-only")
    assert outcome.code is Code.CHALLENGE
    assert outcome.evidence == ("cf-mitigated: challenge",)


@pytest.mark.parametrize(
    ("case_id", "seconds"),
    [
        ("cf-wr-default", 20),
        ("cf-wr-custom", 20),
        ("cf-wr-json", 20),
        ("generic-line-503", 10),
        ("holding-high-demand", None),
    ],
)
def test_a_waiting_room_says_when_to_come_back(case_id: str, seconds: int | None) -> None:
    outcome = _read(case_id)
    assert outcome.code is Code.WAITING_ROOM
    assert outcome.retry_at == (None if seconds is None else _NOW + timedelta(seconds=seconds))


def test_a_challenge_that_reloads_itself_makes_no_promise() -> None:
    assert _read("cf-managed-no-header").retry_at is None


def test_a_page_that_says_it_is_not_there_is_still_delivered() -> None:
    outcome = _read("soft-plain")
    assert isinstance(outcome, Page)
    assert outcome.code is Code.SOFT_404
    assert outcome.evidence


def test_the_same_sign_in_page_is_a_wall_only_where_another_was_asked_for() -> None:
    url, reply, hops = answer_to(_named("login-gitlab"))
    assert isinstance(read(url, reply, _NOTE, _NOW, hops=hops), Refusal)
    assert isinstance(read(url, reply, _NOTE, _NOW), Page)


def test_a_site_that_refuses_by_status_is_believed_whatever_its_page_says() -> None:
    body = b"<title>Hello</title><p>" + b"words " * 2_000
    for status, code in ((401, Code.UNAUTHORIZED), (403, Code.FORBIDDEN), (429, Code.RATE_LIMITED), (451, Code.LEGAL)):
        reply = Reply(status, {"content-type": "text/html"}, body, "", "1.1", Timings(1, 1), 1)
        outcome = read(parse("https://example.org/"), reply, _NOTE, _NOW)
        assert isinstance(outcome, Refusal)
        assert outcome.code is code


@pytest.mark.parametrize(
    "body", [b"", b"<", b"<title", b"<title>", b"\xff\xfe", b"<body><form><input", b"{", b"[1]", b"<p>" * 5_000]
)
@pytest.mark.parametrize("kind", ["text/html", "application/json", "text/html; charset=utf-16"])
@pytest.mark.parametrize("status", [200, 403, 503])
def test_whatever_the_bytes_are_there_is_an_answer(body: bytes, kind: str, status: int) -> None:
    reply = Reply(status, {"content-type": kind, "refresh": "x"}, body, "", "1.1", Timings(1, 1), 1)
    read(parse("https://example.org/login?next=/"), reply, _NOTE, _NOW)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("20", 20), ("5; url=/x", 5), (" 0;/y", 0), ("1.5,URL='/z'", 1), ("soon", None), ("", None), (None, None)],
)
def test_a_refresh_is_read_in_all_its_forms(value: str | None, seconds: int | None) -> None:
    assert refresh_of(value) == seconds


# The local web shows one of each.


def _served(path: str, answer: Any) -> Any:
    headers = {name.lower(): value for name, value in answer.headers}
    reply = Reply(answer.status, headers, answer.body, "", "1.1", Timings(1, 1), 1)
    return read(parse(f"https://walls.example{path}"), reply, _NOTE, _NOW)


@pytest.mark.parametrize("vendor", CHALLENGES)
def test_the_local_web_challenges_as_each_vendor_does(vendor: str) -> None:
    assert _served(f"/challenge/{vendor}", CHALLENGES[vendor]).code is Code.CHALLENGE


@pytest.mark.parametrize(
    ("path", "asked", "code"),
    [
        ("/waiting-room", "/waiting-room", Code.WAITING_ROOM),
        ("/login", "/login?next=/members", Code.LOGIN_WALL),
        ("/login", "/login", Code.OK),
        ("/consent", "/consent?continue=/news", Code.CONSENT_WALL),
        ("/soft-404", "/soft-404", Code.SOFT_404),
        ("/denied", "/denied", Code.FORBIDDEN),
    ],
)
def test_the_local_web_has_every_other_wall(path: str, asked: str, code: Code) -> None:
    assert _served(asked, WALLS[path][1]).code is code


@pytest.mark.parametrize("path", ORDINARY)
def test_the_local_web_has_pages_that_only_look_like_walls(path: str) -> None:
    assert _served(path, ORDINARY[path][1]).code is Code.OK
