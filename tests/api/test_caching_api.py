"""Copies: given where the caller is content with one and the site allows it, and to nobody it was not meant for."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from served import Emissary
from watching import as_another_account, requests_to

from emissary.testing.web import TestWebProcess


def cached(web: TestWebProcess, directive: str, query: str) -> str:
    """A page with that Cache-Control; the query makes it one that no other test has read."""
    return web.url("trouble", f"/cache/{quote(directive)}?{query}")


@pytest.fixture(scope="module")
def other(server: Emissary) -> Emissary:
    return as_another_account(server, "caching")


def test_a_copy_that_is_young_enough_is_given_and_the_site_is_not_asked(server: Emissary, web: TestWebProcess) -> None:
    url = cached(web, "max-age=60", "hit")
    first = server.scrape(url, maxAge=60)
    web.clear()
    second = server.scrape(url, maxAge=60)
    assert requests_to(web, "trouble") == []
    assert (first["receipt"]["cache"], second["receipt"]["cache"]) == ("miss", "hit")
    assert second["receipt"]["engine"] == "cache"
    assert second["document"]["markdown"] == first["document"]["markdown"]
    assert [second["receipt"][name] == first["receipt"][name] for name in ("sha256", "bytes")] == [True, True]
    assert second["receipt"]["id"] != first["receipt"]["id"]
    assert second["document"]["id"] != first["document"]["id"]


def test_something_else_can_be_taken_from_a_copy(server: Emissary, web: TestWebProcess) -> None:
    url = cached(web, "max-age=60", "something-else")
    first = server.scrape(url, formats=["text"])
    again = server.scrape(url, formats=["rawHtml", "links"], fields={"title": {"css": "h1"}}, maxAge=60)
    assert again["receipt"]["cache"] == "hit"
    assert again["document"]["fields"] == {"title": "Kept or not"}
    assert first["document"]["text"].split()[-1] in again["document"]["rawHtml"]


def test_without_max_age_the_site_is_asked(server: Emissary, web: TestWebProcess) -> None:
    url = cached(web, "max-age=60", "asked")
    assert server.scrape(url)["document"]["markdown"] != server.scrape(url)["document"]["markdown"]


@pytest.mark.parametrize("directive", ["max-age=60", "no-cache"])
def test_a_copy_that_still_holds_is_confirmed_by_its_etag(
    server: Emissary, web: TestWebProcess, directive: str
) -> None:
    url = cached(web, directive, f"etag=held-{directive}")
    first = server.scrape(url)
    web.clear()
    second = server.scrape(url, maxAge=60 if directive == "no-cache" else 0)
    (asked,) = requests_to(web, "trouble")
    assert asked["headers"]["if-none-match"] == f'"held-{directive}"'
    assert second["receipt"]["cache"] == "revalidated"
    assert second["document"]["markdown"] == first["document"]["markdown"]
    assert second["receipt"]["sha256"] == first["receipt"]["sha256"]
    assert second["receipt"]["robots"]["fetchedAt"]


def test_a_copy_that_was_confirmed_is_as_good_as_new(server: Emissary, web: TestWebProcess) -> None:
    url = cached(web, "max-age=60", "etag=renewed")
    first, second = server.scrape(url), server.scrape(url)
    third = server.scrape(url, maxAge=3600)
    assert third["receipt"]["cache"] == "hit"
    assert third["receipt"]["fetchedAt"] > first["receipt"]["fetchedAt"]
    assert third["document"]["markdown"] == second["document"]["markdown"]


def test_a_shop_says_by_date_and_tag_that_nothing_has_changed(server: Emissary, web: TestWebProcess) -> None:
    url = web.url("shop", "/product/88")
    server.scrape(url)
    web.clear()
    again = server.scrape(url)
    (asked,) = requests_to(web, "shop", "/product/88")
    assert {"if-none-match", "if-modified-since"} <= set(asked["headers"])
    assert again["receipt"]["cache"] == "revalidated"
    assert again["receipt"]["wireBytes"] == 0


def test_a_page_that_moved_is_copied_under_the_address_it_has_now(server: Emissary, web: TestWebProcess) -> None:
    url = web.url("moved", "/once")
    server.scrape(url, formats=["text"])
    again = server.scrape(url, formats=["markdown"], maxAge=60)
    assert again["receipt"]["cache"] == "hit"
    assert again["document"]["url"] == web.url("moved", "/landed")
    assert again["document"]["sourceUrl"] == url


@pytest.mark.parametrize(
    ("directive", "query"),
    [
        ("no-store", "a=1"),
        ("private, no-store", "a=1"),
        ("max-age=60", "vary=*"),
        ("max-age=60", "vary=Accept-Encoding, X-Weather"),
    ],
)
def test_what_may_not_be_kept_is_not_kept(*, server: Emissary, web: TestWebProcess, directive: str, query: str) -> None:
    url = cached(web, directive, query)
    first, second = server.scrape(url, maxAge=60), server.scrape(url, maxAge=60)
    assert (first["receipt"]["cache"], second["receipt"]["cache"]) == ("miss", "miss")
    assert first["document"]["markdown"] != second["document"]["markdown"]


@pytest.mark.parametrize("how", ["header", "meta"])
def test_a_page_that_wants_no_copy_is_neither_copied_nor_captured(
    server: Emissary, web: TestWebProcess, how: str
) -> None:
    for _ in range(2):
        answer = server.scrape(web.url("trouble", f"/wishes/{how}"), maxAge=60)
        assert answer["status"] == "completed"
        assert answer["receipt"]["cache"] == "miss"
        assert answer["receipt"]["capture"] is None
        assert answer["receipt"]["directives"]["noarchive"] is True


def test_wishes_for_others_are_not_ours(server: Emissary, web: TestWebProcess) -> None:
    receipt = server.scrape(web.url("trouble", "/wishes/other"))["receipt"]
    assert receipt["directives"] is None
    assert receipt["capture"] is not None


def test_usage_preferences_are_passed_on_with_the_receipt(server: Emissary, web: TestWebProcess) -> None:
    receipt = server.scrape(web.url("trouble", "/wishes/usage"))["receipt"]
    assert receipt["usagePreferences"] == {"contentUsage": {"train-ai": False}, "tdmReservation": True}


def test_a_copy_for_everyone_serves_other_accounts_too(server: Emissary, other: Emissary, web: TestWebProcess) -> None:
    url = cached(web, "max-age=60", "shared")
    first = server.scrape(url)
    web.clear()
    again = other.scrape(url, maxAge=60)
    assert requests_to(web, "trouble") == []
    assert again["receipt"]["cache"] == "hit"
    assert again["document"]["markdown"] == first["document"]["markdown"]


@pytest.mark.parametrize(
    ("directive", "query"),
    [
        ("private", "etag=mine-1"),
        ("max-age=60", "etag=mine-2&vary=Cookie"),
        ("max-age=60", "etag=mine-3&cookie=a%3Db"),
    ],
)
def test_a_copy_for_one_account_is_seen_by_that_account_alone_even_after_it_was_confirmed(
    *, server: Emissary, other: Emissary, web: TestWebProcess, directive: str, query: str
) -> None:
    url = cached(web, directive, query)
    server.scrape(url)
    assert server.scrape(url)["receipt"]["cache"] == "revalidated"
    assert server.scrape(url, maxAge=60)["receipt"]["cache"] == "hit"
    web.clear()
    theirs = other.scrape(url, maxAge=60)
    (asked,) = requests_to(web, "trouble")
    assert "if-none-match" not in asked["headers"]
    assert theirs["receipt"]["cache"] == "miss"


def test_what_was_seen_in_a_session_stays_in_it(server: Emissary, other: Emissary, web: TestWebProcess) -> None:
    url = cached(web, "max-age=60", "in-session")
    first = server.scrape(url, session="one")
    assert server.scrape(url, session="one", maxAge=60)["document"] | {"id": 0} == first["document"] | {"id": 0}
    for reader, options in ((server, {"session": "two"}), (other, {"session": "one"}), (server, {})):
        assert reader.scrape(url, maxAge=60, **options)["receipt"]["cache"] == "miss"
    # The last of them was for everyone, but a session sees only what it was shown itself.
    assert server.scrape(url, maxAge=60)["receipt"]["cache"] == "hit"
    assert server.scrape(url, maxAge=60, session="three")["receipt"]["cache"] == "miss"


def test_a_page_whose_house_rules_were_elsewhere_is_kept_like_any_other(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server, url = start(), web.url("lentrobots", "/open/kept")
    first = server.scrape(url)
    assert (first["receipt"]["cache"], first["receipt"]["redirects"]) == ("miss", [])
    assert server.scrape(url, maxAge=60)["receipt"]["cache"] == "hit"
