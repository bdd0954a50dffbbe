"""What the other format may say and we do not do: refused with a reason, or left undone and named."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from batching import paths_asked
from served import Answer, Emissary, until
from watching import opened_by_admin

from emissary.api.facade.leniency import REFUSED, UNHONOURED
from emissary.testing.web import TestWebProcess


def _failure(answer: Answer, status: int) -> dict[str, Any]:
    """Errors have the other format's shape, and its media type."""
    assert (answer.status, answer.kind) == (status, "application/json"), answer.body
    found: dict[str, Any] = answer.json()
    assert found["success"] is False
    assert found["error"]
    return found


@pytest.mark.parametrize("key", REFUSED)
def test_what_must_not_pass_in_silence_is_refused_before_anything_is_asked_for(
    server: Emissary, web: TestWebProcess, key: str
) -> None:
    url = web.url("closed", f"/open/{key}")
    for path, body in (("scrape", {"url": url}), ("crawl", {"url": url}), ("batch/scrape", {"urls": [url]})):
        told = _failure(server.post(f"/v2/{path}", {**body, key: True}), 400)
        assert told["error"] == f"{key}: {REFUSED[key]}"
    inside = server.post("/v2/crawl", {"url": url, "scrapeOptions": {key: True}})
    assert _failure(inside, 400)["error"].startswith(f"scrapeOptions.{key}: ")
    assert f"/open/{key}" not in paths_asked(web, url)


@pytest.mark.parametrize("key", REFUSED)
def test_a_key_that_asks_for_nothing_is_no_offence(server: Emissary, web: TestWebProcess, key: str) -> None:
    told = server.post("/v2/scrape", {"url": web.host_url(2, "/small"), key: False})
    assert told.status == 200, told.body
    assert "warning" not in told.json()


@pytest.mark.parametrize("key", [*UNHONOURED, "someKeyOfTomorrow"])
def test_what_is_left_undone_is_named(server: Emissary, web: TestWebProcess, key: str) -> None:
    told = server.post("/v2/scrape", {"url": web.host_url(2, "/small"), key: True}).json()
    assert told["success"] is True
    assert key in told["warning"]
    assert told["data"]["warning"] == told["warning"]


@pytest.mark.parametrize(("proxy", "warned"), [("basic", 0), ("auto", 0), ("enhanced", 1), ("stealth", 1)])
def test_no_proxy_hides_us(server: Emissary, web: TestWebProcess, proxy: str, warned: int) -> None:
    told = server.post("/v2/scrape", {"url": web.host_url(2, "/small"), "proxy": proxy}).json()
    assert told.get("warning", "").count("proxy is not honoured") == warned


@pytest.mark.parametrize("name", ["User-Agent", "cookie", "Sec-CH-UA", "X-Forwarded-For", "Signature-Input"])
def test_headers_that_say_who_asks_are_refused(server: Emissary, web: TestWebProcess, name: str) -> None:
    answer = server.post("/v2/scrape", {"url": web.host_url(2, "/small"), "headers": {"Accept": "*/*", name: "x"}})
    assert name.lower() in _failure(answer, 400)["error"]


def test_other_headers_are_not_sent_and_that_is_said(server: Emissary, web: TestWebProcess) -> None:
    asked = {"url": web.host_url(2, "/small"), "headers": {"Accept-Language": "fr"}}
    assert "headers is not honoured" in server.post("/v2/scrape", asked).json()["warning"]


@pytest.mark.parametrize(
    "wanted", ["screenshot", "summary", {"type": "json", "schema": {}}, {"type": "changeTracking"}]
)
def test_a_format_that_there_is_not_is_left_out_or_refused_if_it_is_all(
    server: Emissary, web: TestWebProcess, wanted: Any
) -> None:
    name = wanted if isinstance(wanted, str) else wanted["type"]
    page = {"url": web.host_url(2, "/small")}
    told = server.post("/v2/scrape", {**page, "formats": ["html", wanted]}).json()
    assert name in told["warning"]
    assert set(told["data"]) == {"html", "metadata", "warning"}
    assert _failure(server.post("/v2/scrape", {**page, "formats": [wanted]}), 400)["code"] == "unknown_format"


def test_every_key_that_is_not_honoured_is_documented() -> None:
    rows = (Path(__file__).parents[2] / "docs" / "firecrawl.md").read_text().splitlines()
    told = {name for row in rows if row.startswith("| `") for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert {*REFUSED, *UNHONOURED} <= told


def test_errors_have_the_other_shape_wherever_they_come_from(server: Emissary) -> None:
    typed = {**server.authority, "Content-Type": "application/json"}
    assert _failure(server.get("/v2/nowhere"), 404)["code"] == "not_found"
    assert _failure(server.ask("PUT", "/v2/scrape", headers=typed), 405)["code"] == "method_not_allowed"
    assert _failure(server.ask("POST", "/v2/scrape", b"{", typed), 400)["code"] == "invalid_json"
    assert _failure(server.ask("POST", "/v2/scrape", b" " * (10 << 20) + b"{}", typed), 413)["code"] == "body_too_large"
    missing = server.ask("GET", "/v2/team/queue-status")
    assert _failure(missing, 401)["code"] == "missing_key"
    assert missing.headers["www-authenticate"].startswith("Bearer")
    (fault,) = _failure(server.post("/v2/scrape", {"url": "http://a.example/", "timeout": 5}), 400)["details"]
    assert fault["pointer"] == "/timeout"
    # ... and elsewhere they have their own.
    assert server.get("/v1/nowhere").kind == "application/problem+json"


def test_credits_are_those_of_the_account(server: Emissary, web: TestWebProcess) -> None:
    _, poor = opened_by_admin(server, credits=2)
    assert poor.get("/v2/team/credit-usage").json()["data"]["remainingCredits"] == 2
    urls = [web.host_url(3, f"/small?{n}") for n in range(3)]
    told = _failure(poor.post("/v2/batch/scrape", {"urls": urls}), 402)
    assert (told["needed"], told["available"], told["missing"]) == (3, 2, 1)
    assert poor.post("/v2/scrape", {"url": urls[0]}).json()["data"]["metadata"]["creditsUsed"] == 1
    assert poor.get("/v2/team/credit-usage").json()["data"]["remainingCredits"] == 1


def test_a_batch_sent_again_under_its_key_is_the_same_batch(server: Emissary, web: TestWebProcess) -> None:
    body = json.dumps({"urls": [web.host_url(3, "/small")]}).encode()
    headers = {**server.authority, "Content-Type": "application/json", "x-idempotency-key": "of-the-client"}
    first, again = (server.ask("POST", "/v2/batch/scrape", body, headers) for _ in range(2))
    assert (first.status, first.body) == (200, again.body)
    assert again.headers["idempotent-replayed"] == "true"


def test_one_url_that_cannot_be_read_ends_a_batch_only_if_that_is_wanted(server: Emissary, web: TestWebProcess) -> None:
    urls = [web.host_url(3, "/small"), "not a url"]
    assert server.post("/v2/batch/scrape", {"urls": urls}).json()["invalidURLs"] == ["not a url"]
    told = _failure(server.post("/v2/batch/scrape", {"urls": urls, "ignoreInvalidURLs": False}), 400)
    assert told["code"] == "invalid_url"


def test_the_next_page_is_on_the_host_that_was_asked(server: Emissary, web: TestWebProcess) -> None:
    urls = [web.host_url(n, "/small?next") for n in range(1, 4)]
    status = f"/v2/batch/scrape/{server.post('/v2/batch/scrape', {'urls': urls}).json()['id']}"
    until(lambda: server.get(status).json()["status"] == "completed")
    elsewhere, headers = "http://emissary.example:8443", {**server.authority, "Host": "emissary.example:8443"}
    first = server.ask("GET", f"{status}?limit=2", headers=headers).json()
    assert first["next"].startswith(f"{elsewhere}{status}?")
    last = server.ask("GET", first["next"].removeprefix(elsewhere), headers=headers).json()
    assert (len(first["data"]), last["next"]) == (2, None)
    assert sorted(each["metadata"]["url"] for each in first["data"] + last["data"]) == sorted(urls)


def test_rates_are_kept_and_told_and_requests_are_counted_by_their_route(server: Emissary) -> None:
    _, customer = opened_by_admin(server, rate={"perMinute": 1, "burst": 2})
    answers = [customer.get("/v2/team/queue-status") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert _failure(answers[2], 429)["code"] == "rate_limited"
    assert answers[0].headers["ratelimit"].startswith('"default";r=1;')
    assert answers[2].headers["retry-after"].isdigit()
    told = server.get("/metrics").body.decode()
    assert 'emissary_api_requests_total{route="/v2/team/queue-status",status="429"} 1.0' in told
