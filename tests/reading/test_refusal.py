"""What came back: a page, a refusal, or nothing of use."""

from datetime import UTC, datetime, timedelta

import pytest

from emissary.model.pages import Code, Page, Refusal, Reply, RobotsNote, Timings, Unreachable
from emissary.reading.refusal import read, retry_at
from emissary.reading.urls import parse

_NOW = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
_URL = parse("https://example.org/")
_NOTE = RobotsNote(None, None, _NOW)


def _read(status: int, body: bytes = b"<p>hello", **headers: str) -> Page | Refusal | Unreachable:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return read(_URL, Reply(status, named, body, "192.0.2.1", "1.1", Timings(1, 1), len(body)), _NOTE, _NOW)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, Code.UNAUTHORIZED),
        (403, Code.FORBIDDEN),
        (407, Code.UNAUTHORIZED),
        (429, Code.RATE_LIMITED),
        (451, Code.LEGAL),
    ],
)
def test_a_no_is_a_refusal_with_its_evidence(status: int, code: Code) -> None:
    found = _read(status)
    assert isinstance(found, Refusal)
    assert (found.code, found.http_status, found.robots) == (code, status, _NOTE)
    assert found.evidence == (f"status {status}",)


def test_a_busy_site_that_says_when_to_come_back_has_refused_for_now() -> None:
    found = _read(503, retry_after="120")
    assert isinstance(found, Refusal)
    assert (found.code, found.retry_at) == (Code.UNAVAILABLE, _NOW + timedelta(minutes=2))


@pytest.mark.parametrize("status", [500, 502, 503, 599])
def test_a_broken_site_is_unreachable_and_may_mend(status: int) -> None:
    found = _read(status)
    assert isinstance(found, Unreachable)
    assert found.passing
    assert found.code is Code.SERVER_ERROR


def test_a_page_that_is_not_there_is_still_a_page() -> None:
    found = _read(404, content_type="text/html")
    assert isinstance(found, Page)
    assert found.code is Code.NOT_FOUND


@pytest.mark.parametrize(
    "kind",
    ["text/html; charset=utf-8", "TEXT/PLAIN", "application/xhtml+xml", "application/json", "application/rss+xml", ""],
)
def test_text_of_any_kind_is_a_page(kind: str) -> None:
    assert isinstance(_read(200, content_type=kind), Page)


@pytest.mark.parametrize("kind", ["application/pdf", "image/png", "application/octet-stream", "video/mp4"])
def test_what_is_not_text_is_bad_content_and_not_tried_again(kind: str) -> None:
    found = _read(200, content_type=kind)
    assert isinstance(found, Unreachable)
    assert (found.code, found.passing) == (Code.BAD_CONTENT, False)


def test_bytes_that_no_text_has_are_not_taken_for_a_page() -> None:
    assert isinstance(_read(200, b"\x00\x01\x02"), Unreachable)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        (" 30 ", 30),
        ("Wed, 18 Nov 2026 09:05:00 GMT", 300),
        ("Wed, 18 Nov 2026 08:00:00 GMT", 0),
        ("99999999999999999999", 86_400),
        ("Wed, 18 Nov 2099 09:00:00 GMT", 86_400),
    ],
)
def test_the_site_says_when_to_come_back_in_either_form(value: str, seconds: int) -> None:
    assert retry_at(value, _NOW) == _NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize("value", [None, "", "soon", "-5", "1.5", "\u0665"])
def test_what_is_no_time_is_no_promise(value: str | None) -> None:
    assert retry_at(value, _NOW) is None
