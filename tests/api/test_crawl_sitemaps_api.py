"""Crawls that find pages by the site's own lists: robots.txt, sitemaps, nested, packed and broken ones."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from batching import accepted, counted, ended, paths_asked, results
from served import Emissary, until

from emissary.testing.web import TestWebProcess


def _crawl(server: Emissary, web: TestWebProcess, site: str, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """The crawl once it has ended, and the paths for which its site was asked meanwhile."""
    url = web.url(site)
    before = len(paths_asked(web, url))
    begun = accepted(server.post("/v1/crawl", {"url": url, "formats": ["text"], **options}))
    return ended(server, begun["id"]), paths_asked(web, url)[before:]


def _parts(server: Emissary, crawl: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """All that the crawl has read, by what it was."""
    found: dict[str, list[dict[str, Any]]] = {}
    for each in results(server, crawl["id"]):
        found.setdefault(each["part"], []).append(each)
    return found


def test_a_crawl_finds_pages_by_the_sitemaps_that_robots_names(server: Emissary, web: TestWebProcess) -> None:
    crawl, paths = _crawl(server, web, "shop", sitemap="only")
    products = [f"/product/{n}" for n in range(1, 101)]
    assert sorted(paths) == sorted(["/sitemap.xml", "/sitemap-1.xml", "/sitemap-2.xml.gz", *products])
    parts = _parts(server, crawl)
    assert {each["url"] for each in parts["page"]} == {web.url("shop", path) for path in products}
    assert {each["depth"] for each in parts["page"]} == {1}
    assert [each["url"] for each in parts["robots"]] == [web.url("shop", "/robots.txt")]
    assert len(parts["sitemap"]) == 3
    assert all(each["document"] is None and each["receipt"]["robots"] for each in parts["sitemap"])
    assert counted(crawl) == {"completed": 104}
    assert crawl["creditsUsed"] == 100


def test_a_crawl_finds_pages_by_links_and_by_sitemaps_and_reads_none_twice(
    server: Emissary, web: TestWebProcess
) -> None:
    rules = {"excludePaths": ["^/listing", "^/about", "/product/.*[2-9]$"]}
    crawl, paths = _crawl(server, web, "shop", **rules)
    assert max(Counter(paths).values()) == 1
    assert {"/", *(f"/product/{n}" for n in range(1, 101) if n % 10 in (0, 1))} <= set(paths)
    assert len(_parts(server, crawl)["page"]) == len(paths) - 3


def test_sitemaps_count_against_no_limit(server: Emissary, web: TestWebProcess) -> None:
    crawl, paths = _crawl(server, web, "shop", limit=5)
    assert len([path for path in paths if "sitemap" not in path]) == 5
    assert crawl["creditsUsed"] == 5


def test_a_crawl_that_goes_nowhere_or_skips_them_asks_for_no_sitemap(server: Emissary, web: TestWebProcess) -> None:
    for options in ({"maxDepth": 0}, {"sitemap": "skip", "maxDepth": 1, "includePaths": ["^/none"]}):
        crawl, paths = _crawl(server, web, "shop", **options)
        assert (paths, crawl["total"]) == (["/"], 1)


def test_a_bad_sitemap_spoils_no_other(server: Emissary, web: TestWebProcess) -> None:
    crawl, paths = _crawl(server, web, "listed")
    leaves = {f"/leaf/{n}?of=5&lost={n}" for n in range(1, 5)} | {f"/leaf/{n}" for n in range(10, 15)}
    assert {path for path in paths if path.startswith("/leaf")} == leaves
    assert max(Counter(paths).values()) == 1  # the index names itself
    assert not any(path.startswith("/shut") for path in paths)
    told = {each["url"].removeprefix(web.url("listed", "")): each["outcome"]["code"] for each in _whole(server, crawl)}
    lists = {"/odd.xml": "soft_404", "/gone.xml": "not_found", "/bomb.xml": "soft_404", "/shut/map.xml": "robots"}
    assert lists.items() <= told.items()
    assert told["/shut/leaf"] == "robots"


def _whole(server: Emissary, crawl: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.get(f"/v1/crawl/{crawl['id']}/items?limit=1000").json()["data"]
    return found


@pytest.mark.parametrize("killed", [False, True])
def test_a_long_sitemap_is_asked_for_once_and_read_to_its_end(
    start: Callable[..., Emissary], web: TestWebProcess, *, killed: bool
) -> None:
    server, before = start(), len(paths_asked(web, web.url("longlisted")))
    key = {"EMISSARY_API_KEY": server.key}
    asked = {"url": web.url("longlisted"), "limit": 1_050, "formats": ["text"], "sitemap": "only"}
    crawl = accepted(server.post("/v1/crawl", asked))["id"]
    if killed:
        _until_some_are_read(server, crawl)
        server.process.kill()
        server.process.wait()
        server = start(**key)
    seen = ended(server, crawl)
    parts = Counter(each["part"] for each in _all_items(server, crawl))
    assert parts == {"robots": 1, "sitemap": 1, "lines": 1, "page": 1_050}
    assert counted(seen) == {"completed": 1_053}
    paths = Counter(paths_asked(web, web.url("longlisted"))[before:])
    assert {f"/leaf/{n}" for n in range(1_050)} | {"/long.xml.gz"} == set(paths)
    assert paths["/long.xml.gz"] == 1


def test_lists_are_read_on_the_cluster_as_well(
    start: Callable[..., Emissary], web: TestWebProcess, database_url: str, objects_url: str
) -> None:
    server = start(EMISSARY_DATABASE_URL=database_url, EMISSARY_OBJECTS_URL=objects_url)
    crawl, _ = _crawl(server, web, "shop", sitemap="only", limit=10)
    assert crawl["creditsUsed"] == 10
    long = accepted(server.post("/v1/crawl", {"url": web.url("longlisted"), "limit": 5_000}))["id"]
    until(lambda: server.get(f"/v1/crawl/{long}").json()["total"] > 1_000)
    server.ask("DELETE", f"/v1/crawl/{long}", headers=server.authority)
    assert "lines" in {each["part"] for each in _all_items(server, long)}
    drawn = server.post("/v1/map", {"url": web.url("longlisted"), "sitemap": "only"}).json()
    assert (len(drawn["links"]), drawn["complete"]) == (5_000, True)


def _until_some_are_read(server: Emissary, crawl: str) -> None:
    until(lambda: server.get(f"/v1/crawl/{crawl}").json()["counts"]["completed"] > 100 or None)


def _all_items(server: Emissary, crawl: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = ""
    while after is not None:
        page = server.get(f"/v1/crawl/{crawl}/items?limit=1000&after={after}").json()
        found += page["data"]
        after = page["next"]
    return found
