"""What an account may do and what it used, over HTTP; and what happens when its line is full."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from served import Emissary, until

from emissary.compose import the_clock
from emissary.testing.web import TestWebProcess

_NOTHING = {"jobs": 0, "credits": 0, "cached": 0, "failed": 0, "refused": 0}


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _used(server: Emissary, query: str = "") -> dict[str, Any]:
    answer = server.get(f"/v1/usage{query}")
    assert answer.status == 200, answer.body
    return dict(answer.json())


def test_a_new_account_has_no_limits_and_used_nothing(start: Callable[..., Emissary]) -> None:
    account = start().get("/v1/account").json()
    today = the_clock().now().astimezone(UTC).date()
    days = {"from": today.replace(day=1).isoformat(), "to": today.isoformat()}
    assert account == {
        "id": "acc_local",
        "allowance": {"weight": 1.0, "mostActive": None, "mostQueued": None, "rate": None},
        "queued": 0,
        "active": 0,
        "credits": None,
        "usage": {**days, **_NOTHING},
    }


def test_pages_that_were_read_are_in_the_usage_at_once(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start()
    page, other, forbidden = web.host_url(1, "/small"), web.host_url(2, "/small"), web.url("closed", "/page")
    for url in (page, page, other):
        assert server.scrape(url)["status"] == "completed"
    assert server.scrape(forbidden)["status"] == "refused"
    by_host = {row.pop("key"): row for row in _used(server, "?by=host")["data"]}
    assert by_host[_host(page)] == {**_NOTHING, "jobs": 2, "credits": 2}
    assert by_host[_host(other)] == {**_NOTHING, "jobs": 1, "credits": 1}
    assert by_host[_host(forbidden)] == {**_NOTHING, "jobs": 1, "refused": 1}
    (day,) = _used(server)["data"]
    assert (day["key"], day["jobs"]) == (the_clock().now().astimezone(UTC).date().isoformat(), 4)
    (kind,) = _used(server, "?by=kind")["data"]
    assert (kind["key"], kind["jobs"]) == ("scrape.http", 4)
    assert server.get("/v1/account").json()["usage"]["jobs"] == 4


def test_usage_comes_in_pages_and_for_the_days_that_were_asked_for(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server = start()
    for number in (1, 2, 3):
        server.scrape(web.host_url(number, "/small"))
    first = _used(server, "?by=host&limit=2")
    assert len(first["data"]) == 2
    second = _used(server, f"?by=host&limit=2&after={first['next']}")
    assert (len(second["data"]), second["next"]) == (1, None)
    yesterday = the_clock().now().astimezone(UTC).date() - timedelta(days=1)
    earlier = _used(server, f"?from=2020-01-01&to={yesterday}")
    assert (earlier["from"], earlier["to"], earlier["data"]) == ("2020-01-01", yesterday.isoformat(), [])


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("?from=2030-01-02&to=2030-01-01", "`from` is the first day"),
        ("?from=yesterday", "/query/from"),
        ("?from=0", "2030-01-31"),
        ("?by=week", "/query/by"),
        ("?after=%00", "`next`"),
    ],
)
def test_a_question_that_makes_no_sense_is_told_so(server: Emissary, query: str, told: str) -> None:
    answer = server.get(f"/v1/usage{query}")
    assert answer.status == 400
    assert told in answer.json()["detail"]


def test_nobody_sees_an_account_without_a_key(server: Emissary) -> None:
    for path in ("/v1/account", "/v1/usage"):
        assert server.ask("GET", path).status == 401


def test_a_full_line_is_a_429_that_says_what_to_do(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_ACCOUNT_MOST_QUEUED="3", EMISSARY_HOST_GAP="3600")
    # After the robots.txt, the host is left alone for an hour.
    jobs = [server.submit(web.host_url(1, f"/small?{number}")) for number in range(3)]
    for asynchronous in (True, False):
        answer = server.post("/v1/scrape", {"url": web.host_url(2, "/small"), "async": asynchronous})
        assert (answer.status, answer.json()["code"]) == (429, "queue_full")
        assert "3 may stand in line" in answer.json()["detail"]
        assert int(answer.headers["retry-after"]) > 0
    shown = server.get("/v1/account").json()
    assert (shown["allowance"]["mostQueued"], shown["queued"]) == (3, 3)
    server.ask("DELETE", f"/v1/jobs/{jobs[0]}", headers={"Authorization": f"Bearer {server.key}"})
    assert server.submit(web.host_url(2, "/small")).startswith("job_")


def test_a_batch_that_does_not_fit_is_not_accepted_at_all(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_ACCOUNT_MOST_QUEUED="1500", EMISSARY_HOST_GAP="3600")
    lines = "\n".join(json.dumps({"url": web.host_url(1, f"/small?{number}")}) for number in range(4_000))
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/x-ndjson"}
    answer = server.ask("POST", "/v1/batch", lines.encode(), headers)
    assert (answer.status, answer.json()["code"]) == (429, "queue_full")
    assert server.get("/v1/account").json()["queued"] == 0
    fitting = server.post("/v1/batch", {"urls": [web.host_url(1, f"/small?{number}") for number in range(1_500)]})
    assert (fitting.status, fitting.json()["accepted"]) == (202, 1_500)


def test_a_job_in_line_says_when_it_may_start(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_HOST_GAP="600")
    began = the_clock().now()
    jobs = [server.submit(web.host_url(1, f"/small?{number}")) for number in range(4)]

    def behind() -> dict[str, Any] | None:
        why = server.job(jobs[3])["whyWaiting"]
        return why if why["reason"] == "in_line" else None

    why = until(behind)
    assert why["ahead"] == 3
    assert timedelta(seconds=3 * 600) <= datetime.fromisoformat(why["until"]) - began < timedelta(seconds=3 * 600 + 30)
