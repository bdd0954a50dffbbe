"""Crawls over HTTP: a site from one page on, each page once, as far as one was asked to go."""

from collections import Counter
from typing import Any

import pytest
from batching import accepted, counted, ended, paths_asked, result_lines, results, steer
from served import Emissary
from watching import as_another_account

from emissary.testing.web import TestWebProcess

_PAGES = 50  # that the first page of a numbered host leads to


def _crawl(server: Emissary, url: str, **options: Any) -> str:
    told = accepted(server.post("/v1/crawl", {"url": url, **options}))
    assert list(told) == ["id"]
    assert told["id"].startswith("crl_")
    return str(told["id"])


def _walk(server: Emissary, web: TestWebProcess, url: str, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """The crawl by links once it has ended, and the paths for which its site was asked meanwhile."""
    before = len(paths_asked(web, url))
    crawl = ended(server, _crawl(server, url, **{"sitemap": "skip", **options}))
    return crawl, paths_asked(web, url)[before:]


def test_a_crawl_reads_every_page_that_is_linked_and_none_twice(server: Emissary, web: TestWebProcess) -> None:
    crawl, paths = _walk(server, web, web.host_url(8), includePaths=["^/page/"], formats=["text"])
    assert crawl["status"] == "completed"
    assert Counter(paths).most_common(1)[0][1] == 1
    # Pages lead to one another by numbers up to 100, and whichever is linked is read.
    assert {"/", *(f"/page/{k}" for k in range(_PAGES))} <= set(paths)
    assert counted(crawl) == {"completed": len(paths)}
    found = results(server, crawl["id"])
    assert {each["url"] for each in found} == {web.host_url(8, path) for path in paths}
    assert all(each["document"]["text"] and "links" not in each["document"] for each in found)
    assert result_lines(server, crawl["id"]) == found


def test_a_crawl_goes_only_as_deep_as_it_may(server: Emissary, web: TestWebProcess) -> None:
    crawl, paths = _walk(server, web, web.host_url(7), maxDepth=0)
    assert (paths, crawl["total"]) == (["/"], 1)
    crawl, paths = _walk(server, web, web.host_url(7), maxDepth=1)
    assert sorted(paths) == sorted(["/", *(f"/page/{k}" for k in range(_PAGES))])
    assert Counter(each["depth"] for each in results(server, crawl["id"])) == {0: 1, 1: _PAGES}


def test_a_crawl_reads_no_more_pages_than_its_limit(server: Emissary, web: TestWebProcess) -> None:
    crawl, paths = _walk(server, web, web.host_url(6), limit=5)
    assert len(paths) == 5
    assert crawl["counts"]["completed"] == 5
    left = server.get(f"/v1/crawl/{crawl['id']}/items?status=cancelled&limit=1").json()["data"]
    assert [each["outcome"]["code"] for each in left] == ["limit"]


def test_a_crawl_follows_what_is_included_and_leaves_out_what_is_excluded(
    server: Emissary, web: TestWebProcess
) -> None:
    rules = {"includePaths": ["^/listing", "^/product/"], "excludePaths": ["/product/.*[02468]$"], "limit": 30}
    _, paths = _walk(server, web, web.url("shop"), **rules)
    assert paths[0] == "/"
    followed = paths[1:]
    assert any(path.startswith("/listing") for path in followed)
    assert all(path.startswith("/listing") or int(path.removeprefix("/product/")) % 2 for path in followed)


def test_a_crawl_stays_on_its_site_and_keeps_out_where_it_is_not_wanted(server: Emissary, web: TestWebProcess) -> None:
    crawl, paths = _walk(server, web, web.url("shop"), maxDepth=1)
    assert not any(path.startswith(("/checkout", "/private")) for path in paths)
    assert all(each["url"].startswith(web.url("shop")) for each in results(server, crawl["id"]))


def test_a_crawl_is_steered_like_a_batch_and_found_only_as_a_crawl(server: Emissary, web: TestWebProcess) -> None:
    crawl = _crawl(server, web.url("news"), name="the town")
    assert steer(server, crawl, "pause").json()["status"] == "paused"
    assert steer(server, crawl, "resume").json()["status"] == "running"
    assert server.ask("DELETE", f"/v1/crawl/{crawl}", headers=server.authority).json()["status"] == "cancelled"
    seen = server.get(f"/v1/crawl/{crawl}").json()
    assert (seen["name"], seen["counts"]["waiting"]) == ("the town", 0)
    assert steer(server, crawl, "retry").json()["code"] == "batch_finished"
    nobodys = "crl_00000000000000000000000000"
    stranger = as_another_account(server, "crawls")
    for path in ("", "/items", "/results", "/errors"):
        theirs, none = (stranger.get(f"/v1/crawl/{name}{path}") for name in (crawl, nobodys))
        assert (theirs.status, none.status) == (404, 404)
        assert theirs.body.replace(crawl.encode(), b"") == none.body.replace(nobodys.encode(), b"")
    assert server.get(f"/v1/batch/{crawl}").status == 404


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"url": "nowhere"}, "invalid_url"),
        ({"includePaths": ["("]}, "invalid_request"),
        ({"excludePaths": ["a" * 501]}, "invalid_request"),
        ({"limit": 0}, "invalid_request"),
        ({"maxDepth": -1}, "invalid_request"),
        ({"sitemaps": "only"}, "unknown_field"),
        ({"sitemap": "always"}, "invalid_request"),
    ],
)
def test_a_crawl_that_cannot_be_done_is_refused_at_once(
    server: Emissary, web: TestWebProcess, options: dict[str, Any], code: str
) -> None:
    answer = server.post("/v1/crawl", {"url": web.host_url(8), **options})
    assert (answer.status, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"includePaths": ["^/a", "é("]}, "/includePaths/1: 'é(' is not a regular expression: missing ): é("),
        ({"excludePaths": ["a" * 501]}, "/excludePaths/0: a pattern has at most 500 characters"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_told_of_in_a_sentence(
    server: Emissary, options: dict[str, Any], told: str
) -> None:
    answer = server.post("/v1/crawl", {"url": "http://nowhere.invalid/", **options})
    assert (answer.status, answer.json()["detail"]) == (400, told)
