"""robots.txt by RFC 9309, and by the cases Google published with its own reader."""

import json
from datetime import timedelta
from pathlib import Path

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emissary.reading.robots import MAX_ROBOTS_BYTES, parse_robots

_CASES = json.loads((Path(__file__).parent.parent / "data" / "robots-cases.json").read_text())


def _path(url: str) -> str:
    """The path as the published cases mean it: the bytes of the URL, not yet put in order by a parser."""
    rest = url.partition("://")[2]
    return "/" + rest.partition("/")[2].partition("#")[0]


@pytest.mark.parametrize("case", _CASES, ids=[f"{case['test']}-{number}" for number, case in enumerate(_CASES)])
def test_a_published_case_is_read_as_its_authors_do(case: dict[str, str | bool]) -> None:
    rules = parse_robots(str(case["robots"]).encode("latin-1"), str(case["agent"]))
    assert rules.verdict(_path(str(case["url"]))).allowed is case["allowed"]


def test_all_142_published_cases_are_there() -> None:
    assert len(_CASES) == 142


def test_the_line_that_decided_is_told() -> None:
    rules = parse_robots(b"User-agent: *\nDisallow: /private/\nAllow: /private/open$\n", "Emissary")
    assert rules.verdict("/private/x").rule == "Disallow: /private/"
    assert rules.verdict("/private/open").rule == "Allow: /private/open$"
    assert rules.verdict("/elsewhere").rule is None


def test_a_group_that_names_us_stands_in_place_of_the_one_for_everyone() -> None:
    rules = parse_robots(b"User-agent: *\nDisallow: /\n\nUser-agent: emissary\nDisallow: /x\n", "Emissary")
    assert rules.verdict("/y").allowed
    assert not rules.verdict("/x").allowed


def test_a_group_for_a_longer_name_is_not_ours() -> None:
    rules = parse_robots(b"User-agent: EmissaryBot\nDisallow: /\n", "Emissary")
    assert rules.verdict("/").allowed


def test_groups_that_name_us_twice_are_read_together() -> None:
    body = (
        b"User-agent: Emissary\nDisallow: /a\n\nUser-agent: other\nDisallow: /\n\nUser-agent: Emissary\nDisallow: /b\n"
    )
    rules = parse_robots(body, "Emissary")
    assert [rules.verdict(path).allowed for path in ("/a", "/b", "/c")] == [False, False, True]


def test_a_byte_order_mark_hides_nothing() -> None:
    assert not parse_robots(b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n", "Emissary").verdict("/x").allowed


def test_rules_are_read_up_to_500_kib_at_least() -> None:
    filler = b"# a line of filler\n" * 27_000
    assert 500 * 1024 < len(filler) < MAX_ROBOTS_BYTES
    assert not parse_robots(filler + b"User-agent: *\nDisallow: /\n", "Emissary").verdict("/x").allowed


@pytest.mark.parametrize(
    ("lines", "gap"),
    [
        (b"Crawl-delay: 2.5", 2.5),
        (b"Crawl-delay: soon", None),
        (b"Crawl-delay: -1", None),
        (b"Request-rate: 1/10", 10.0),
        (b"Request-rate: 2/1m", 30.0),
        (b"Crawl-delay: 1\nRequest-rate: 1/5", 5.0),
    ],
)
def test_the_site_says_how_far_apart_it_wants_our_visits(lines: bytes, gap: float | None) -> None:
    rules = parse_robots(b"User-agent: *\n" + lines + b"\nDisallow: /x\n", "Emissary")
    assert rules.gap == (None if gap is None else timedelta(seconds=gap))


def test_sitemaps_belong_to_no_group() -> None:
    body = b"Sitemap: https://example.org/a.xml\nUser-agent: other\nDisallow: /\nSitemap: https://example.org/b.xml\n"
    assert parse_robots(body, "Emissary").sitemaps == ("https://example.org/a.xml", "https://example.org/b.xml")


_USAGE = b"""
User-Agent: *
Allow: /
Content-Usage: train-ai=n
Disallow: /never/
content-usage : /ai-ok/ train-ai=y  # a remark
Content-Usage: /ai-ok/*.pdf$\ttrain-ai=n, search=y

User-Agent: Emissary
Content-Usage: search=n
"""


@pytest.mark.parametrize(
    ("agent", "path", "usage"),
    [
        ("other", "/x", {"train-ai": False}),
        ("other", "/ai-ok/x", {"train-ai": True}),
        ("other", "/ai-ok/x.pdf", {"train-ai": False, "search": True}),
        ("other", "/ai-ok/x.pdf?page=1", {"train-ai": True}),
        ("Emissary", "/ai-ok/x", {"search": False}),
    ],
)
def test_the_use_that_a_site_wishes_for_is_said_by_group_and_path(
    agent: str, path: str, usage: dict[str, bool]
) -> None:
    assert parse_robots(_USAGE, agent).usage(path) == usage


@pytest.mark.parametrize(
    ("lines", "usage"),
    [
        (b"Content-Usage: /a train-ai=y\nContent-Usage: /a train-ai=n, search=y", {"train-ai": False, "search": True}),
        (b"Content-Usage: train-ai=n\nContent-Usage: /a", {"train-ai": False}),
        (b"Content-Usage: train-ai=n\nContent-Usage: /a Nonsense!", {"train-ai": False}),
        (b"Content-Usage: train-ai=n\nContent-Usage: /a search=y", {"search": True}),
        (b"Content-Usage: /b train-ai=n", {}),
        (b"Content-Usage:", {}),
        (b"", {}),
    ],
)
def test_of_several_lines_the_longest_path_counts_and_then_the_no(lines: bytes, usage: dict[str, bool]) -> None:
    assert parse_robots(b"User-agent: *\n" + lines + b"\n", "Emissary").usage("/a/page") == usage


def test_a_line_about_use_ends_a_run_of_names_as_any_rule_does() -> None:
    rules = parse_robots(b"User-agent: Emissary\nContent-Usage: train-ai=n\nUser-agent: x\nDisallow: /\n", "Emissary")
    assert rules.verdict("/page").allowed
    assert rules.usage("/page") == {"train-ai": False}


def test_a_pattern_made_to_take_for_ever_does_not() -> None:
    rules = parse_robots(b"User-agent: *\nDisallow: /" + b"a*" * 2_000 + b"b\n", "Emissary")
    assert rules.verdict("/" + "a" * 8_000).allowed


@given(st.binary(max_size=400), st.text(max_size=50))
def test_no_file_and_no_path_break_the_reader(body: bytes, path: str) -> None:
    rules = parse_robots(body, "Emissary")
    rules.verdict("/" + path)
    rules.usage("/" + path)
    assert rules.weight > 0


@given(st.lists(st.sampled_from(["/", "a", "b", "*", "$", "%41"]), max_size=8), st.text("/ab$", max_size=10))
def test_a_pattern_matches_what_a_plain_search_says_it_matches(pieces: list[str], path: str) -> None:
    pattern, path = "/" + "".join(pieces), "/" + path
    rules = parse_robots(f"User-agent: *\nDisallow: {pattern}\n".encode(), "Emissary")
    assert rules.verdict(path).allowed is not _matches(pattern, path)


def _matches(pattern: str, path: str) -> bool:
    """The meaning of a pattern, spelled out without regard to time."""
    if pattern in ("", "$"):
        return pattern == "" or path == ""
    if pattern[0] == "*":
        return any(_matches(pattern[1:], path[start:]) for start in range(len(path) + 1))
    return path[:1] == pattern[0] and _matches(pattern[1:], path[1:])


def test_the_parser_of_urls_escapes_as_the_rules_do() -> None:
    rules = parse_robots("User-agent: *\nDisallow: /caf\u00e9\n".encode(), "Emissary")
    assert not rules.verdict(ada_url.URL("https://example.org/caf\u00e9").pathname).allowed
