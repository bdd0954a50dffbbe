"""What a site asks of those who have read a page."""

import msgspec
import pytest

from emissary.model.pages import Directives, UsagePreferences
from emissary.reading.extract.tree import parse
from emissary.reading.preferences import directives_of, usage_preferences_of


def _directives(header: str = "", html: str | None = None) -> Directives:
    headers = {"x-robots-tag": header} if header else {}
    return directives_of(headers, None if html is None else parse(html), "Emissary")


def test_a_page_that_asks_for_nothing_asks_for_nothing() -> None:
    assert _directives() == Directives()
    assert _directives(html="<title>x</title>") == Directives()
    assert usage_preferences_of({}, parse("<p>x")) == UsagePreferences()


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("noindex", Directives(noindex=True)),
        ("NoArchive, nofollow", Directives(nofollow=True, noarchive=True)),
        ("none", Directives(noindex=True, nofollow=True)),
        ("all", Directives()),
        ("emissary: noarchive", Directives(noarchive=True)),
        ("Emissary: noarchive, nofollow", Directives(nofollow=True, noarchive=True)),
        ("otherbot: noindex, nofollow", Directives()),
        ("otherbot: noindex, emissary: nofollow", Directives(nofollow=True)),
        ("noarchive, otherbot: noindex", Directives(noarchive=True)),
        ("emissarybot: noindex", Directives()),
        ("*: noindex", Directives(noindex=True)),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", Directives(noindex=True)),
        ("max-snippet: 20, nofollow", Directives(nofollow=True)),
        (",,:,", Directives()),
    ],
)
def test_the_header_speaks_to_everybody_or_to_an_agent_by_name(header: str, expected: Directives) -> None:
    assert _directives(header) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<meta name="robots" content="noindex,nofollow">', Directives(noindex=True, nofollow=True)),
        ('<meta name="ROBOTS" content="NOARCHIVE">', Directives(noarchive=True)),
        (
            '<meta name="emissary" content="noarchive"><meta name="robots" content="noindex">',
            Directives(True, False, True),
        ),
        ('<meta name="otherbot" content="noindex">', Directives()),
        ('<meta name="robots" content="noindex nofollow">', Directives(noindex=True, nofollow=True)),
    ],
)
def test_the_page_says_it_too(html: str, expected: Directives) -> None:
    assert _directives(html=html) == expected


def test_all_who_speak_count() -> None:
    assert _directives("noarchive", '<meta name="robots" content="noindex">') == Directives(True, False, True)


@pytest.mark.parametrize(
    ("value", "usage"),
    [
        ("train-ai=n", {"train-ai": False}),
        ("train-ai=n, search=y", {"train-ai": False, "search": True}),
        ("train-ai=n;why=x, search=y", {"train-ai": False, "search": True}),
        ("train-ai=y, train-ai=n", {"train-ai": False}),
        ("train-ai=n, ai-output=?1, other", {"train-ai": False}),
        ('train-ai=n, note="a, b"', {"train-ai": False}),
        ("train-ai=n, Search=y", {}),
        ("train-ai=n,", {}),
        ("", {}),
        ("n", {}),
    ],
)
def test_content_usage_is_a_dictionary_of_yes_and_no(value: str, usage: dict[str, bool]) -> None:
    assert usage_preferences_of({"content-usage": value}, None).content_usage == usage


@pytest.mark.parametrize(
    ("header", "by_robots", "usage"),
    [
        ("", {"train-ai": False}, {"train-ai": False}),
        ("search=y", {"train-ai": False}, {"search": True, "train-ai": False}),
        ("train-ai=y", {"train-ai": False}, {"train-ai": False}),
        ("train-ai=n", {"train-ai": True}, {"train-ai": False}),
    ],
)
def test_of_header_and_robots_txt_both_count_and_a_no_stays_a_no(
    header: str, by_robots: dict[str, bool], usage: dict[str, bool]
) -> None:
    assert usage_preferences_of({"content-usage": header}, None, by_robots=by_robots).content_usage == usage


def test_a_reservation_is_read_from_the_header_and_else_from_the_page() -> None:
    page = parse('<meta name="tdm-reservation" content="1"><meta name="tdm-policy" content="https://x.example/p.json">')
    assert usage_preferences_of({}, page) == UsagePreferences({}, True, "https://x.example/p.json")
    assert usage_preferences_of({"tdm-reservation": "0"}, page).tdm_reservation is False
    assert usage_preferences_of({"tdm-reservation": "perhaps"}, None).tdm_reservation is None


def test_the_receipt_shows_only_what_was_said() -> None:
    assert msgspec.json.encode(UsagePreferences()) == b"{}"
    said = usage_preferences_of({"content-usage": "train-ai=n", "tdm-reservation": "1"}, None)
    assert msgspec.json.encode(said) == b'{"contentUsage":{"train-ai":false},"tdmReservation":true}'
