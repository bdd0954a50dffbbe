"""Sessions: cookies are kept under a name, sealed, and go where they belong and nowhere else."""

import gzip
from collections.abc import Callable

import pytest
from served import Emissary
from watching import as_another_account, every_file, requests_to

from emissary.testing.web import TestWebProcess


def sent(web: TestWebProcess) -> list[str | None]:
    """The cookies of each request for the page that shows them."""
    return [each["headers"].get("cookie") for each in requests_to(web, "trouble", "/cookies/show")]


def test_a_session_brings_the_cookies_it_was_given(server: Emissary, web: TestWebProcess) -> None:
    server.scrape(web.url("trouble", "/cookies/set?colour=green&size=9"), session="shopper")
    answer = server.scrape(web.url("trouble", "/cookies/show"), session="shopper", formats=["text"])
    assert "colour=green; size=9" in answer["document"]["text"]


def test_no_one_else_brings_them(server: Emissary, web: TestWebProcess) -> None:
    stranger = as_another_account(server, "sessions")
    server.scrape(web.url("trouble", "/cookies/set?owner=me"), session="mine")
    web.clear()
    server.scrape(web.url("trouble", "/cookies/show"))
    server.scrape(web.url("trouble", "/cookies/show"), session="another")
    stranger.scrape(web.url("trouble", "/cookies/show"), session="mine")
    assert sent(web) == [None, None, None]
    server.scrape(web.url("trouble", "/cookies/show"), session="mine")
    assert sent(web)[3] == "owner=me"


def test_a_cookie_stays_with_the_host_that_gave_it(server: Emissary, web: TestWebProcess) -> None:
    server.scrape(web.url("trouble", "/cookies/set?from=trouble"), session="traveller")
    web.clear()
    server.scrape(web.url("shop", "/product/3"), session="traveller")
    assert [each["headers"].get("cookie") for each in requests_to(web, "shop")][-1] is None


def test_robots_txt_is_asked_for_without_cookies(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start()
    web.clear()
    server.scrape(web.url("trouble", "/cookies/set?a=b"), session="s")
    assert all("cookie" not in each["headers"] for each in requests_to(web, "trouble", "/robots.txt"))


def test_two_visits_at_a_time_both_leave_their_cookies(server: Emissary, web: TestWebProcess) -> None:
    urls = [web.url("trouble", f"/cookies/set?at{number}=yes") for number in range(6)]
    for job in [server.submit(url, session="busy") for url in urls]:
        assert server.finished(job)["status"] == "completed"
    web.clear()
    server.scrape(web.url("trouble", "/cookies/show"), session="busy")
    assert sorted((sent(web)[0] or "").split("; ")) == [f"at{number}=yes" for number in range(6)]


def test_a_session_outlives_the_server(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    first = start()
    first.scrape(web.url("trouble", "/cookies/set?kept=yes"), session="long")
    key = first.key
    assert first.stop() == 0
    second = start()
    second.key = key
    web.clear()
    second.scrape(web.url("trouble", "/cookies/show"), session="long")
    assert sent(web) == ["kept=yes"]


def test_cookies_are_nowhere_in_the_clear(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start()
    server.scrape(web.url("trouble", "/cookies/greet"), session="secret")
    web.clear()
    server.scrape(web.url("trouble", "/"), session="secret", formats=["rawHtml"])
    (cookie,) = [each["headers"]["cookie"] for each in requests_to(web, "trouble")]
    value = cookie.removeprefix("visitor=").encode()
    assert len(value) == 64
    kept = every_file(server.folder / "data")
    assert {"emissary.db", "emissary.db-wal"} <= set(kept)
    assert [name for name, body in kept.items() if value in body] == []
    assert [name for name in kept if name.startswith("captures/")] == []
    assert value not in (server.folder / "log").read_bytes()


def test_a_capture_withholds_the_cookies_that_a_page_sets(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start()
    server.scrape(web.url("trouble", "/cookies/greet"))
    kept = every_file(server.folder / "data")
    (segment,) = (body for name, body in kept.items() if name.startswith("captures/"))
    unpacked = gzip.decompress(segment)
    assert b"Set-Cookie: withheld" in unpacked
    assert b"visitor=" not in unpacked


@pytest.mark.parametrize("name", ["", "a b", "../up", "x" * 65, "ключ"])
def test_a_name_that_is_none_is_refused(server: Emissary, name: str) -> None:
    answer = server.post("/v1/scrape", {"url": "http://127.0.0.1:9/", "session": name})
    assert answer.status == 400
    assert "session" in answer.json()["detail"]
