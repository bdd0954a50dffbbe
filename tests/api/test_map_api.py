"""Maps over HTTP: the pages of a site, by its sitemaps and by the links of one page, none of which is read."""

import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from batching import begin, paths_asked
from served import Emissary, until

from emissary.testing.web import TestWebProcess

_PRODUCTS = {f"/product/{n}" for n in range(1, 101)}
_LISTS = ["/sitemap-1.xml", "/sitemap-2.xml.gz", "/sitemap.xml"]


def _map(server: Emissary, url: str, **options: Any) -> dict[str, Any]:
    answer = server.post("/v1/map", {"url": url, **options})
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


def _paths(web: TestWebProcess, site: str, drawn: dict[str, Any]) -> list[str]:
    origin = web.url(site, "")
    assert all(link["url"].startswith(origin) for link in drawn["links"])
    return [link["url"].removeprefix(origin) for link in drawn["links"]]


def test_a_map_lists_what_sitemaps_and_one_page_name_and_reads_none_of_it(
    server: Emissary, web: TestWebProcess
) -> None:
    before = len(paths_asked(web, web.url("shop")))
    drawn = _map(server, web.url("shop"))
    assert sorted(paths_asked(web, web.url("shop"))[before:]) == ["/", *_LISTS]
    assert (drawn["complete"], drawn["unread"]) == (True, [])
    paths = _paths(web, "shop", drawn)
    assert len(paths) == len(set(paths))
    assert {"/", "/listing?page=1", *_PRODUCTS} <= set(paths)
    known = dict(zip(paths, drawn["links"], strict=True))
    assert known["/"]["source"] == "start"
    assert known["/"]["title"]
    assert known["/listing?page=1"] == {
        "url": web.url("shop", "/listing?page=1"),
        "title": "See all 100 articles",
        "lastModified": None,
        "source": "link",
    }
    # What was found in two ways has what is known of both.
    assert len(known["/product/3"]["lastModified"]) == len("2026-01-01")
    assert known["/product/3"]["title"]
    assert known["/product/4"]["source"] == "sitemap"


def test_a_map_is_drawn_by_sitemaps_only_or_without_them(server: Emissary, web: TestWebProcess) -> None:
    only = _map(server, web.url("shop"), sitemap="only")
    assert set(_paths(web, "shop", only)) == _PRODUCTS
    before = len(paths_asked(web, web.url("shop")))
    without = _map(server, web.url("shop"), sitemap="skip")
    assert paths_asked(web, web.url("shop"))[before:] == ["/"]
    assert {link["source"] for link in without["links"]} == {"start", "link"}


def test_a_map_lists_what_is_searched_for_up_to_its_limit(server: Emissary, web: TestWebProcess) -> None:
    found = _paths(web, "shop", _map(server, web.url("shop"), sitemap="only", search="PRODUCT /9"))
    assert set(found) == {path for path in _PRODUCTS if "/9" in path}
    drawn = _map(server, web.url("longlisted"), limit=7)
    assert (len(drawn["links"]), drawn["complete"]) == (7, False)
    whole = _map(server, web.url("longlisted"), sitemap="only")
    assert (len(whole["links"]), whole["complete"]) == (5_000, True)


def test_a_map_says_what_it_could_not_read(server: Emissary, web: TestWebProcess) -> None:
    drawn = _map(server, web.url("listed"))
    unread = {each["url"]: each["outcome"]["code"] for each in drawn["unread"]}
    assert unread == {web.url("listed", "/shut/map.xml"): "robots"}
    assert drawn["complete"]
    assert {"/", *(f"/leaf/{n}" for n in range(10, 15))} <= set(_paths(web, "listed", drawn))
    closed = _map(server, web.url("closed"))
    assert closed["links"] == []
    assert {each["outcome"]["code"] for each in closed["unread"]} == {"robots"}


def test_a_map_that_takes_too_long_is_given_as_far_as_it_came_and_ends(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server = start(EMISSARY_HOST_GAP="5")
    drawn = _map(server, web.url("shop"), timeoutMs=1_000)
    assert not drawn["complete"]
    kept = server.get(f"/v1/crawl/{drawn['id']}").json()
    assert (kept["status"], kept["counts"]["waiting"]) == ("cancelled", 0)


def test_nobody_waits_for_a_site_that_is_left_alone(server: Emissary) -> None:
    # The client of this test waits for half a minute; the map would for ten times that.
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        nowhere = f"http://127.0.0.1:{gone.getsockname()[1]}"
    batch = begin(server, [f"{nowhere}/{n}" for n in range(6)])
    until(lambda: _waits_for_breaker(server, batch))
    drawn = _map(server, nowhere, timeoutMs=300_000)
    assert (drawn["complete"], drawn["links"]) == (False, [])
    assert [each["outcome"]["code"] for each in drawn["unread"]] == ["connect"]
    plan = server.post("/v1/plan", {"urls": [nowhere], "timeoutMs": 60_000}).json()
    assert plan["hosts"][0]["robots"] == "unknown"


def _waits_for_breaker(server: Emissary, batch: str) -> bool:
    return "breaker" in {lane["reason"] for lane in server.get(f"/v1/batch/{batch}").json()["whyWaiting"]}


def test_a_map_is_kept_like_a_crawl_with_a_receipt_for_each_list(server: Emissary, web: TestWebProcess) -> None:
    drawn = _map(server, web.url("shop"))
    kept = server.get(f"/v1/crawl/{drawn['id']}/results").json()["data"]
    assert sorted(each["part"] for each in kept) == ["page", "robots", "sitemap", "sitemap", "sitemap"]
    assert all(each["receipt"]["agent"] for each in kept)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"url": "nowhere"}, "invalid_url"),
        ({"limit": 0}, "invalid_request"),
        ({"sitemap": "always"}, "invalid_request"),
        ({"ignoreRobotsTxt": True}, "unknown_field"),
    ],
)
def test_a_map_that_cannot_be_drawn_is_refused_at_once(
    server: Emissary, web: TestWebProcess, options: dict[str, Any], code: str
) -> None:
    answer = server.post("/v1/map", {"url": web.url("shop"), **options})
    assert (answer.status, answer.json()["code"]) == (400, code)
