"""Credits over HTTP: reserved when work is accepted, used when it ends, and a 402 that says what is missing."""

import json
from collections.abc import Callable
from typing import Any

from served import Emissary
from watching import opened_by_admin

from emissary.testing.web import TestWebProcess


def credits_of(server: Emissary) -> tuple[int, int]:
    found = server.get("/v1/account").json()["credits"]
    return found["left"], found["reserved"]


def test_a_page_costs_a_credit_and_a_refusal_none(server: Emissary, web: TestWebProcess) -> None:
    _, customer = opened_by_admin(server, credits=2)
    assert customer.scrape(web.url("closed", "/page"))["status"] == "refused"
    assert credits_of(customer) == (2, 0)
    for left in (1, 0):
        assert customer.scrape(web.host_url(1, "/small"))["status"] == "completed"
        assert credits_of(customer) == (left, 0)
    answer = customer.post("/v1/scrape", {"url": web.host_url(1, "/small")})
    assert answer.status == 402
    problem: dict[str, Any] = answer.json()
    assert (problem["code"], problem["needed"], problem["available"], problem["missing"]) == (
        "insufficient_credits",
        1,
        0,
        1,
    )
    assert "1 are missing" in problem["detail"]


def test_what_waits_is_reserved_and_given_back_when_it_is_cancelled(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server = start(EMISSARY_HOST_GAP="3600")
    _, customer = opened_by_admin(server, credits=2)
    jobs = [customer.submit(web.host_url(1, f"/small?{number}")) for number in range(2)]
    assert credits_of(customer) == (2, 2)
    assert customer.post("/v1/scrape", {"url": web.host_url(2, "/small"), "async": True}).status == 402
    assert customer.delete(f"/v1/jobs/{jobs[0]}").status == 200
    assert credits_of(customer) == (2, 1)
    customer.submit(web.host_url(1, "/small?x"))


def test_a_batch_that_cannot_be_paid_is_not_accepted_at_all(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server = start(EMISSARY_HOST_GAP="3600")
    _, customer = opened_by_admin(server, credits=1_500)
    lines = "\n".join(json.dumps({"url": web.host_url(1, f"/small?{number}")}) for number in range(4_000))
    headers = {**customer.authority, "Content-Type": "application/x-ndjson"}
    answer = customer.ask("POST", "/v1/batch", lines.encode(), headers)
    assert (answer.status, answer.json()["code"]) == (402, "insufficient_credits")
    assert credits_of(customer) == (1_500, 0)
    fitting = customer.post("/v1/batch", {"urls": [web.host_url(1, f"/small?{number}") for number in range(1_500)]})
    assert (fitting.status, fitting.json()["accepted"]) == (202, 1_500)


def test_a_crawl_is_begun_only_if_all_it_may_find_could_be_paid(server: Emissary, web: TestWebProcess) -> None:
    _, customer = opened_by_admin(server, credits=50)
    answer = customer.post("/v1/crawl", {"url": web.host_url(3, "/small"), "limit": 51})
    assert (answer.status, answer.json()["missing"]) == (402, 1)
    assert customer.post("/v1/crawl", {"url": web.host_url(3, "/small"), "limit": 50}).status == 202
