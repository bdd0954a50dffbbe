"""What may be kept of a page, for whom, and when a copy will do."""

from datetime import UTC, datetime, timedelta

import pytest

from emissary.model.cache import CachedPage
from emissary.model.pages import Reply, Timings
from emissary.reading.caching import Keeping, conditions, is_fresh_enough, keeping_of, refreshed

_NOW = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)


def _reply(status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, named, b"", "192.0.2.1", "1.1", Timings(1, 1), 0)


def _cached(age: timedelta = timedelta(), **headers: str) -> CachedPage:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return CachedPage("https://a.org/", _NOW - age, 200, named, b"", "")


@pytest.mark.parametrize(
    ("headers", "keeping"),
    [
        ({}, Keeping.EVERYONE),
        ({"cache_control": "public, max-age=60"}, Keeping.EVERYONE),
        ({"cache_control": "Private, max-age=60"}, Keeping.OWNER),
        ({"cache_control": "no-store"}, Keeping.NOBODY),
        ({"cache_control": "no-cache"}, Keeping.EVERYONE),
        ({"vary": "Accept-Encoding, User-Agent"}, Keeping.EVERYONE),
        ({"vary": "Cookie"}, Keeping.OWNER),
        ({"vary": "X-Something"}, Keeping.NOBODY),
        ({"vary": "*"}, Keeping.NOBODY),
        ({"set_cookie": "s=1"}, Keeping.OWNER),
    ],
)
def test_the_site_says_for_whom_a_copy_may_be_kept(headers: dict[str, str], keeping: Keeping) -> None:
    assert keeping_of(_reply(**headers), with_session=False, noarchive=False) is keeping


def test_what_a_session_saw_is_kept_for_its_account_alone() -> None:
    assert keeping_of(_reply(), with_session=True, noarchive=False) is Keeping.OWNER


def test_a_page_that_asks_not_to_be_archived_is_not_kept() -> None:
    assert keeping_of(_reply(), with_session=False, noarchive=True) is Keeping.NOBODY


@pytest.mark.parametrize("status", [204, 206, 301, 404, 500])
def test_only_whole_pages_are_kept(status: int) -> None:
    assert keeping_of(_reply(status), with_session=False, noarchive=False) is Keeping.NOBODY


@pytest.mark.parametrize(
    ("age", "max_age", "will_do"), [(10, 60, True), (60, 60, True), (61, 60, False), (0, 0, False)]
)
def test_a_copy_will_do_if_it_is_no_older_than_the_caller_allows(age: int, max_age: int, *, will_do: bool) -> None:
    cached = _cached(timedelta(seconds=age))
    assert is_fresh_enough(cached, timedelta(seconds=max_age), _NOW) is will_do


def test_a_copy_that_the_site_wants_to_be_asked_about_never_will() -> None:
    assert not is_fresh_enough(_cached(cache_control="no-cache"), timedelta(hours=1), _NOW)


def test_the_site_is_asked_with_both_its_validators() -> None:
    cached = _cached(etag='"x"', last_modified="Mon, 05 Jan 2026 09:00:00 GMT")
    assert conditions(cached) == {"If-None-Match": '"x"', "If-Modified-Since": "Mon, 05 Jan 2026 09:00:00 GMT"}
    assert conditions(_cached()) == {}


def test_a_copy_that_still_holds_is_as_good_as_new() -> None:
    again = refreshed(_cached(timedelta(days=1), etag='"x"'), _reply(304, etag='"y"', server="other"), _NOW)
    assert again.fetched_at == _NOW
    assert again.headers == {"etag": '"y"'}
