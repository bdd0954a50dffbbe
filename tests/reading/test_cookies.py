"""Cookies by RFC 6265, and no further than their site."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emissary.reading.cookies import Cookies
from emissary.reading.urls import parse

_NOW = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)


def _sent(set_by: str, lines: list[str], to: str, after: timedelta = timedelta()) -> str | None:
    return Cookies().after(parse(set_by), lines, _NOW).header_for(parse(to), _NOW + after)


@pytest.mark.parametrize(
    ("set_by", "line", "to", "sent"),
    [
        ("https://a.example.org/", "s=1", "https://a.example.org/x", "s=1"),
        ("https://a.example.org/", "s=1", "https://b.example.org/", None),
        ("https://a.example.org/", "s=1", "https://x.a.example.org/", None),
        ("https://a.example.org/", "s=1; Domain=example.org", "https://b.example.org/", "s=1"),
        ("https://a.example.org/", "s=1; Domain=.example.org", "https://example.org/", "s=1"),
        ("https://a.example.org/", "s=1; Domain=other.org", "https://other.org/", None),
        ("https://a.example.org/", "s=1; Domain=b.a.example.org", "https://b.a.example.org/", None),
        ("https://a.co.uk/", "s=1; Domain=co.uk", "https://b.co.uk/", None),
        ("https://me.github.io/", "s=1; Domain=github.io", "https://you.github.io/", None),
        ("https://a.com/", "s=1; Domain=com", "https://b.com/", None),
        ("http://127.0.0.1/", "s=1; Domain=0.0.1", "http://127.0.0.1/", None),
        ("http://127.0.0.1/", "s=1", "http://127.0.0.1/", "s=1"),
        ("https://a.org/", "s=1; Secure", "http://a.org/", None),
        ("http://a.org/", "s=1; Secure", "https://a.org/", None),
        ("https://a.org/dir/page", "s=1", "https://a.org/dir/other", "s=1"),
        ("https://a.org/dir/page", "s=1", "https://a.org/", None),
        ("https://a.org/", "s=1; Path=/dir", "https://a.org/dirt", None),
        ("https://a.org/", "s=1; Path=/dir", "https://a.org/dir/x?y", "s=1"),
        ("https://a.org/", "s=1; Max-Age=0", "https://a.org/", None),
        ("https://a.org/", "s=1; Expires=Wed, 18 Nov 2026 08:00:00 GMT", "https://a.org/", None),
        ("https://a.org/", "s=1; Expires=Wed, 18-Nov-2026 10:00:00 GMT", "https://a.org/", "s=1"),
        ("https://a.org/", "__Host-s=1; Secure; Path=/", "https://a.org/", "__Host-s=1"),
        ("https://a.org/", "__Host-s=1; Secure; Path=/; Domain=a.org", "https://a.org/", None),
        ("https://a.org/", "=1", "https://a.org/", None),
        ("https://a.org/", "s", "https://a.org/", None),
        ("https://a.org/", "s=1\x00", "https://a.org/", None),
        ("https://a.org/", "s=" + "x" * 5000, "https://a.org/", None),
    ],
)
def test_a_cookie_goes_where_it_belongs_and_nowhere_else(set_by: str, line: str, to: str, sent: str | None) -> None:
    assert _sent(set_by, [line], to) == sent


def test_a_cookie_is_forgotten_when_its_time_is_over() -> None:
    assert _sent("https://a.org/", ["s=1; Max-Age=60"], "https://a.org/", timedelta(seconds=59)) == "s=1"
    assert _sent("https://a.org/", ["s=1; Max-Age=60"], "https://a.org/", timedelta(seconds=60)) is None


def test_a_cookie_that_is_set_again_is_replaced() -> None:
    assert _sent("https://a.org/", ["s=1", "s=2"], "https://a.org/") == "s=2"


def test_the_longest_path_is_sent_first() -> None:
    assert _sent("https://a.org/", ["a=1; Path=/", "b=2; Path=/deep"], "https://a.org/deep/x") == "b=2; a=1"


def test_a_site_cannot_fill_a_session_up() -> None:
    cookies = Cookies().after(parse("https://a.org/"), [f"c{number}=1" for number in range(200)], _NOW)
    assert len(cookies.kept) == 50
    assert cookies.kept[-1].name == "c199"


@given(st.lists(st.text(max_size=80), max_size=5))
def test_nothing_a_site_sends_breaks_the_reader(lines: list[str]) -> None:
    url = parse("https://a.example.org/")
    header = Cookies().after(url, lines, _NOW).header_for(url, _NOW)
    assert header is None or ("\r" not in header and "\n" not in header)
