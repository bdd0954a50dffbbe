"""Plans over HTTP: what reading pages would come to, told without asking for one of them."""

from collections.abc import Callable
from typing import Any

import pytest
from batching import paths_asked
from served import Emissary, asked

from emissary.testing.web import TestWebProcess


def _plan(server: Emissary, **options: Any) -> dict[str, Any]:
    answer = server.post("/v1/plan", options)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


def test_a_plan_asks_for_house_rules_and_for_no_page(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_HOST_GAP="2")
    shop, before = web.url("shop"), (asked(web, web.url("shop")), len(paths_asked(web, web.url("shop"))))
    urls = [
        web.url("shop", path) for path in ("/", "/product/1", "/product/2", "/private/x", "/product/1", "/checkout")
    ]
    plan = _plan(server, urls=[*urls, "nowhere"])
    assert (asked(web, shop), len(paths_asked(web, shop))) == (before[0] + 1, before[1])
    assert (plan["urls"], plan["duplicates"], plan["refusedCount"], plan["credits"]) == (5, 1, 2, 3)
    assert plan["invalid"] == [{"index": 6, "url": "nowhere", "code": "invalid_url"}]
    [host] = plan["hosts"]
    assert (host["urls"], host["refused"], host["robots"], host["gap"], host["seconds"]) == (5, 2, "allowed", 2.0, 4.0)
    assert plan["seconds"] == 4.0
    refused = {each["url"]: (each["code"], each["detail"]) for each in plan["refused"]}
    assert refused.keys() == {web.url("shop", "/private/x"), web.url("shop", "/checkout")}
    assert refused[web.url("shop", "/checkout")][0] == "robots"
    assert "Disallow: /checkout" in refused[web.url("shop", "/checkout")][1]
    _plan(server, urls=urls)
    assert asked(web, shop) == before[0] + 1  # what is known is not asked for again


def test_the_gap_that_a_site_asks_for_is_planned_and_the_slowest_host_decides(
    server: Emissary, web: TestWebProcess
) -> None:
    urls = [web.url("shop", f"/product/{n}") for n in range(20)] + [web.url("news", f"/article/{n}") for n in range(3)]
    plan = _plan(server, urls=urls)
    slow, quick = plan["hosts"]
    assert slow["host"] in web.url("news")
    assert slow["gap"] > 0 == quick["gap"]
    assert plan["seconds"] == slow["seconds"] == pytest.approx(2 * slow["gap"])


def test_a_plan_of_a_crawl_reckons_with_as_many_pages_as_it_may_read(server: Emissary, web: TestWebProcess) -> None:
    plan = _plan(server, url=web.url("news"), limit=50)
    assert (plan["urls"], plan["credits"]) == (50, 50)
    assert plan["seconds"] == pytest.approx(49 * plan["hosts"][0]["gap"])


def test_a_plan_says_which_hosts_are_closed_and_which_do_not_answer(server: Emissary, web: TestWebProcess) -> None:
    names = ("closed", "lentrobots", "slowrobots", "brokenrobots", "norobots")
    plan = _plan(server, urls=[web.url(name, "/a") for name in names], timeoutMs=1_500)
    told = {host["host"]: host["robots"] for host in plan["hosts"]}
    known = {name: told[web.url(name, "").split("//")[1].rstrip("/")] for name in names}
    assert known == {
        "closed": "disallowed",
        "lentrobots": "disallowed",  # whose rules another host keeps
        "slowrobots": "unknown",
        "brokenrobots": "disallowed",
        "norobots": "allowed",
    }
    assert plan["credits"] == 2


@pytest.mark.parametrize(
    ("asked_for", "code"),
    [
        ({}, "invalid_request"),
        ({"urls": []}, "invalid_request"),
        ({"urls": ["https://a.example/"], "url": "https://a.example/"}, "invalid_request"),
        ({"urls": ["nowhere", "mailto:a@b.example"]}, "invalid_url"),
        ({"url": "nowhere"}, "invalid_url"),
        ({"url": "https://a.example/", "robots": False}, "unknown_field"),
    ],
)
def test_a_plan_of_nothing_is_refused(server: Emissary, asked_for: dict[str, Any], code: str) -> None:
    answer = server.post("/v1/plan", asked_for)
    assert (answer.status, answer.json()["code"]) == (400, code)
