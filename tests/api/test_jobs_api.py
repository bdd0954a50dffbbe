"""Jobs that nobody waits for: accepted at once, seen while they wait, cancelled, and told of when they end."""

import base64
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from anyio import to_thread
from served import Emissary, asked, until
from standardwebhooks import Webhook, WebhookVerificationError

from emissary.compose import the_clock
from emissary.testing.web import Exchange, TestWeb, TestWebProcess

_SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def test_a_job_is_accepted_at_once_and_found_when_it_has_ended(server: Emissary, web: TestWebProcess) -> None:
    answer = server.post("/v1/scrape", {"url": web.host_url(1, "/small"), "async": True, "formats": ["text"]})
    assert answer.status == 202
    accepted = answer.json()
    assert accepted["id"].startswith("job_")
    assert accepted["status"] in {"waiting", "active"}
    job = server.finished(accepted["id"])
    assert (job["id"], job["kind"], job["status"], job["attempts"]) == (accepted["id"], "scrape.http", "completed", 1)
    assert job["document"]["title"] == "A small page"
    assert job["receipt"]["robots"]
    assert job["whyWaiting"] is None
    created, started, finished = (
        datetime.fromisoformat(job[f"{name}At"]) for name in ("created", "started", "finished")
    )
    assert created <= started <= finished <= the_clock().now()


def test_what_a_caller_waited_for_is_found_again_as_a_job(server: Emissary, web: TestWebProcess) -> None:
    answer = server.scrape(web.host_url(1, "/small"))
    job = server.job(answer["id"])
    assert {name: job[name] for name in ("status", "outcome", "document", "receipt")} == {
        name: answer[name] for name in ("status", "outcome", "document", "receipt")
    }


def test_a_caller_who_cannot_wait_gets_the_job_and_finds_it_later(server: Emissary, web: TestWebProcess) -> None:
    job = server.submit(web.url("trouble", "/slow?seconds=1"))
    until(lambda: server.job(job)["status"] == "active")
    answer = server.post("/v1/scrape", {"url": web.url("trouble", "/json"), "timeoutMs": 100})
    assert answer.status == 202
    assert answer.json()["whyWaiting"]["reason"] == "in_line"
    assert server.finished(answer.json()["id"])["status"] == "completed"


def test_a_large_page_is_kept_and_found(server: Emissary, web: TestWebProcess) -> None:
    job = server.finished(server.submit(web.url("trouble", "/huge?mib=3"), formats=["rawHtml"]))
    assert len(job["document"]["rawHtml"]) == 3 * 1024 * 1024


def test_a_job_in_hand_can_be_cancelled_and_stays_so(server: Emissary, web: TestWebProcess) -> None:
    job = server.submit(web.url("trouble", "/slow?seconds=1"))
    until(lambda: server.job(job)["status"] == "active")
    answer = server.ask("DELETE", f"/v1/jobs/{job}", headers=server.authority)
    assert (answer.status, answer.json()["status"]) == (200, "cancelled")
    # The page behind it is read only when the slow one has been let go of.
    assert server.scrape(web.url("trouble", "/json"))["status"] == "completed"
    seen = server.job(job)
    assert (seen["status"], seen["document"], seen["outcome"]) == ("cancelled", None, None)
    again = server.ask("DELETE", f"/v1/jobs/{job}", headers=server.authority)
    assert (again.status, again.json()["code"]) == (409, "job_finished")


def test_a_job_that_has_ended_cannot_be_cancelled(server: Emissary, web: TestWebProcess) -> None:
    job = server.scrape(web.host_url(1, "/small"))["id"]
    answer = server.ask("DELETE", f"/v1/jobs/{job}", headers=server.authority)
    assert (answer.status, answer.json()["code"]) == (409, "job_finished")
    assert "completed" in answer.json()["detail"]
    assert server.job(job)["status"] == "completed"


def test_a_job_that_is_cancelled_in_line_is_never_read(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server, url = start(EMISSARY_HOST_GAP="30"), web.host_url(7, "/small")
    first = server.submit(url)
    until(lambda: server.job(first)["status"] == "active")
    second = server.submit(url)
    answer = server.ask("DELETE", f"/v1/jobs/{second}", headers=server.authority)
    assert (answer.json()["status"], answer.json()["attempts"]) == ("cancelled", 0)


def test_a_job_says_that_it_waits_in_line_and_how_many_are_before_it(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server, url = start(EMISSARY_HOST_GAP="30"), web.host_url(7, "/small")
    first = server.submit(url)
    until(lambda: server.job(first)["status"] == "active")
    for ahead in (1, 2):
        why = server.job(server.submit(url))["whyWaiting"]
        expected = datetime.fromisoformat(why.pop("until")) - the_clock().now()
        assert timedelta(seconds=30 * ahead - 10) < expected <= timedelta(seconds=30 * ahead)
        assert why == {"lane": f"host:{web.hosts[6]}:{web.port}", "reason": "in_line", "ahead": ahead}


def test_a_job_says_that_its_host_rests_and_until_when(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server, url = start(EMISSARY_HOST_GAP="30"), web.url("closed", "/open/x")
    # A refusal takes one request, for the rules; the host has a rest of 30 s from then on.
    assert server.scrape(web.url("closed", "/prices"))["status"] == "refused"
    before = asked(web, url)
    answer = server.post("/v1/scrape", {"url": url, "timeoutMs": 500})
    assert answer.status == 202
    why = answer.json()["whyWaiting"]
    assert why["reason"] == "gap"
    left = datetime.fromisoformat(why["until"]) - the_clock().now()
    assert timedelta(seconds=20) < left <= timedelta(seconds=30)
    assert asked(web, url) == before


def test_what_is_urgent_comes_first(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start()
    url = web.url("trouble", "/slow?seconds=0.5")
    first = server.submit(url)
    until(lambda: server.job(first)["status"] == "active")
    low, high = server.submit(url, priority="low"), server.submit(url, priority="high")
    ends = {job: server.finished(job)["finishedAt"] for job in (low, high)}
    assert ends[high] < ends[low]


@pytest.mark.anyio
async def test_whoever_wanted_to_be_told_is_told_with_a_signature_that_holds(server: Emissary) -> None:
    async with TestWeb.start() as web:
        hook = {"url": web.url("hooks", "/hook"), "secret": _SECRET}
        asked_for = {"url": web.url("shop", "/product/1"), "webhook": hook, "metadata": {"order": 7, "of": ["a", None]}}
        answer = (await to_thread.run_sync(server.post, "/v1/scrape", asked_for)).json()
        (told,) = await _told(web, "/hook", 1)
    event = _verified(told)
    assert event["type"] == "job.completed"
    assert abs(datetime.fromisoformat(event["timestamp"]) - the_clock().now()) < timedelta(minutes=1)
    assert event["data"]["id"] == answer["id"]
    assert event["data"]["status"] == "completed"
    assert event["data"]["url"] == asked_for["url"]
    assert event["data"]["outcome"] == answer["outcome"]
    assert event["data"]["metadata"] == {"order": 7, "of": ["a", None]}
    assert told.headers["user-agent"].startswith("Emissary/")
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + base64.b64encode(bytes(32)).decode()).verify(told.body, told.headers)


@pytest.mark.anyio
@pytest.mark.parametrize(("site", "path", "event"), [("closed", "/", "job.refused"), ("trouble", "/pdf", "job.failed")])
async def test_every_end_of_a_job_has_its_own_event(server: Emissary, site: str, path: str, event: str) -> None:
    async with TestWeb.start() as web:
        hook = {"url": web.url("hooks", "/hook"), "secret": _SECRET}
        submit = partial(server.submit, web.url(site, path), webhook=hook)
        job = await to_thread.run_sync(submit)
        (told,) = await _told(web, "/hook", 1)
    assert (_verified(told)["type"], _verified(told)["data"]["id"]) == (event, job)


@pytest.mark.anyio
async def test_an_event_that_was_not_taken_is_told_again_under_the_same_id(server: Emissary) -> None:
    async with TestWeb.start() as web:
        hook = {"url": web.url("hooks", "/hook/500"), "secret": _SECRET}
        await to_thread.run_sync(partial(server.submit, web.host_url(1, "/small"), webhook=hook))
        first, second = await _told(web, "/hook/500", 2)
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert _verified(first) == _verified(second)
    assert second.at - first.at >= 1.9


async def _told(web: TestWeb, path: str, count: int) -> list[Exchange]:
    def look() -> list[Exchange] | None:
        found = [exchange for exchange in list(web.seen) if exchange.method == "POST" and exchange.path == path]
        return found if len(found) >= count else None

    return await to_thread.run_sync(until, look)


def _verified(told: Exchange) -> dict[str, Any]:
    Webhook(_SECRET).verify(told.body, told.headers)
    event: dict[str, Any] = json.loads(told.body)
    return event
