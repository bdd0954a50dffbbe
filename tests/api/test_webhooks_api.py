"""Webhooks over HTTP: receivers are told of what their account wants to hear of, and one sees what became of it."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from batching import begin, ended
from served import LOCAL, Answer, Emissary, until
from standardwebhooks import Webhook
from watching import every_file, opened_by_admin, requests_to

from emissary.testing.web import TestWebProcess

_SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
_NEVER_WAS = "whk_00000000000000000000000000"


@pytest.fixture(scope="module")
def web() -> Iterator[TestWebProcess]:
    """A web of its own, so that nobody else's events are among those that are looked for."""
    with TestWebProcess(hosts=2) as web:
        yield web


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emissary]:
    with Emissary(tmp_path_factory.mktemp("told"), LOCAL) as server:
        yield server


@pytest.fixture
def caller(server: Emissary) -> Emissary:
    """Somebody who has no webhooks yet."""
    _, caller = opened_by_admin(server, name="a caller")
    return caller


def made(answer: Answer) -> dict[str, Any]:
    assert answer.status == 201, answer.body
    found: dict[str, Any] = answer.json()
    return found


def make(caller: Emissary, web: TestWebProcess, path: str = "/hook", **more: Any) -> dict[str, Any]:
    return made(caller.post("/v1/webhooks", {"url": web.url("hooks", path), **more}))


def log_of(caller: Emissary, webhook: str, count: int, state: str = "delivered") -> list[dict[str, Any]]:
    """The log, once so many deliveries are so; the first first."""

    def look() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = caller.get(f"/v1/webhooks/{webhook}/deliveries?state={state}").json()["data"]
        return found[::-1] if len(found) >= count else None

    return until(look)


def test_a_webhook_is_made_with_a_secret_that_is_shown_once(caller: Emissary, web: TestWebProcess) -> None:
    new = make(caller, web, events=["job.failed", "batch.completed"], description="to the office")
    assert new["id"].startswith("whk_")
    assert new["secret"].startswith("whsec_")
    shown = {name: value for name, value in new.items() if name != "secret"}
    assert shown["events"] == ["batch.completed", "job.failed"]
    assert (shown["active"], shown["disabledReason"], shown["description"]) == (True, None, "to the office")
    assert caller.get(f"/v1/webhooks/{new['id']}").json() == shown
    assert caller.get("/v1/webhooks").json() == {"data": [shown], "next": None}


def test_a_secret_is_nowhere_to_be_read_on_disk(caller: Emissary, web: TestWebProcess) -> None:
    new = make(caller, web)
    caller.post(f"/v1/webhooks/{new['id']}/test", {})
    raw = base64.b64decode(new["secret"].removeprefix("whsec_"))
    for content in every_file(caller.folder / "data").values():
        assert raw not in content
        assert new["secret"].encode() not in content


def test_webhooks_are_changed_listed_in_pages_and_removed(caller: Emissary, web: TestWebProcess) -> None:
    first, second = make(caller, web), make(caller, web, events=["job.completed"], active=False)
    page = caller.get("/v1/webhooks?limit=1").json()
    assert [each["id"] for each in page["data"]] == [first["id"]]
    rest = caller.get(f"/v1/webhooks?after={page['next']}").json()
    assert ([each["id"] for each in rest["data"]], rest["next"]) == ([second["id"]], None)
    where = f"/v1/webhooks/{second['id']}"
    changed = caller.patch(where, {"active": True, "events": [], "url": web.url("hooks", "/hook/200")}).json()
    assert (changed["active"], changed["events"], changed["url"]) == (True, [], web.url("hooks", "/hook/200"))
    assert caller.patch(where, {}).json() == changed
    assert caller.delete(where).json() == changed
    assert caller.get(where).status == caller.delete(where).status == 404


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "nowhere"}, "invalid_url"),
        ({"url": "ftp://hooks.example/"}, "invalid_url"),
        ({"url": "https://hooks.example/", "events": ["job.forgotten"]}, "invalid_request"),
        ({"url": "https://hooks.example/", "secret": "whsec_short"}, "invalid_request"),
        ({"url": "https://hooks.example/", "colour": "red"}, "unknown_field"),
        ({}, "invalid_request"),
    ],
)
def test_what_cannot_be_a_webhook_is_refused_with_a_reason(caller: Emissary, body: object, code: str) -> None:
    answer = caller.post("/v1/webhooks", body)
    assert (answer.status, answer.json()["code"]) == (400, code)


def test_a_webhook_is_tested_and_says_what_came_back(caller: Emissary, web: TestWebProcess) -> None:
    good, bad = make(caller, web, active=False), make(caller, web, "/hook/307")
    tested = caller.post(f"/v1/webhooks/{good['id']}/test", {}).json()
    assert (tested["state"], tested["status"]) == ("delivered", 204)
    failed = caller.post(f"/v1/webhooks/{bad['id']}/test", {}).json()
    assert (failed["state"], failed["status"]) == ("dead", 307)
    assert "redirects are not followed" in failed["detail"]
    (line,) = log_of(caller, good["id"], 1)
    assert (line["type"], line["id"], line["attempts"]) == ("webhook.test", tested["delivery"], 1)


def test_the_guard_stands_before_webhooks_as_before_pages(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Emissary(tmp_path_factory.mktemp("guarded"), {}) as server:
        new = made(server.post("/v1/webhooks", {"url": "http://127.0.0.1:9/hook"}))
        tested = server.post(f"/v1/webhooks/{new['id']}/test", {}).json()
    assert (tested["state"], tested["status"]) == ("dead", None)
    assert "only public addresses" in tested["detail"]


def test_a_webhook_that_names_events_hears_of_all_such_of_its_account_and_of_no_other(
    server: Emissary, caller: Emissary, web: TestWebProcess
) -> None:
    hears = make(caller, web, events=["job.completed"])
    deaf = make(caller, web, events=["job.refused"])
    _, stranger = opened_by_admin(server, name="a stranger")
    stranger.scrape(web.host_url(1, "/small?stranger"))
    page = caller.scrape(web.host_url(1, "/small"), metadata={"order": 7})
    (line,) = log_of(caller, hears["id"], 1)
    assert (line["type"], line["attempts"], line["lastStatus"], line["state"]) == ("job.completed", 1, 204, "delivered")
    told = _told(web, line["event"], hears["secret"])
    assert told["data"]["id"] == page["id"]
    assert told["data"]["metadata"] == {"order": 7}
    assert caller.get(f"/v1/webhooks/{deaf['id']}/deliveries").json()["data"] == []


def test_a_job_refers_to_a_webhook_by_its_id(caller: Emissary, web: TestWebProcess) -> None:
    named, other = make(caller, web, secret=_SECRET), make(caller, web)
    job = caller.submit(web.url("closed", "/"), webhook=named["id"])
    (line,) = log_of(caller, named["id"], 1)
    told = _told(web, line["event"], _SECRET)
    assert (told["type"], told["data"]["id"]) == ("job.refused", job)
    assert caller.get(f"/v1/webhooks/{other['id']}/deliveries").json()["data"] == []


def test_a_batch_tells_of_its_pages_and_then_of_its_end(caller: Emissary, web: TestWebProcess) -> None:
    named = make(caller, web)
    wide = make(caller, web, events=["batch.completed", "job.completed"])
    batch = begin(caller, [web.host_url(1, f"/small?{number}") for number in range(5)], webhook=named["id"])
    ended(caller, batch)
    types = [line["type"] for line in log_of(caller, named["id"], 6)]
    assert types == ["job.completed"] * 5 + ["batch.completed"]
    (line,) = log_of(caller, wide["id"], 1)
    told = _told(web, line["event"], wide["secret"])
    assert (told["type"], told["data"]["id"], told["data"]["total"]) == ("batch.completed", batch, 5)
    assert told["data"]["counts"]["completed"] == 5


def test_a_batch_with_a_receiver_of_its_own_tells_of_what_is_asked_for(caller: Emissary, web: TestWebProcess) -> None:
    hook = {"url": web.url("hooks", "/hook/201"), "secret": _SECRET, "events": ["batch.completed"]}
    batch = begin(caller, [web.host_url(1, "/small?a"), web.host_url(1, "/small?b")], webhook=hook)

    def look() -> list[dict[str, Any]]:
        return [event for event in _all_told(web, "/hook/201") if event["data"]["id"] == batch]

    (told,) = until(look)
    assert (told["type"], told["data"]["status"]) == ("batch.completed", "completed")
    assert len(_all_told(web, "/hook/201")) == 1


def test_cancelled_batches_and_completed_crawls_have_events_of_their_own(caller: Emissary, web: TestWebProcess) -> None:
    new = make(caller, web, events=["batch.cancelled", "crawl.completed", "batch.completed"])
    crawl = caller.post("/v1/crawl", {"url": web.host_url(2, "/small"), "limit": 1, "sitemap": "skip"}).json()["id"]
    log_of(caller, new["id"], 1)
    batch = begin(caller, [web.url("slowrobots", f"/?{number}") for number in range(50)])
    caller.delete(f"/v1/batch/{batch}")
    first, second = log_of(caller, new["id"], 2)
    told = [_told(web, line["event"], new["secret"]) for line in (first, second)]
    assert [(each["type"], each["data"]["id"]) for each in told] == [
        ("crawl.completed", crawl),
        ("batch.cancelled", batch),
    ]
    assert told[1]["data"]["counts"]["cancelled"] + told[1]["data"]["counts"]["completed"] == 50


def test_a_webhook_that_is_not_there_cannot_be_referred_to(
    server: Emissary, caller: Emissary, web: TestWebProcess
) -> None:
    _, stranger = opened_by_admin(server, name="a stranger")
    foreign = make(stranger, web)["id"]
    page = web.host_url(1, "/small")
    for name in (_NEVER_WAS, foreign):
        for path, body in (
            ("/v1/scrape", {"url": page}),
            ("/v1/batch", {"urls": [page]}),
            ("/v1/crawl", {"url": page}),
        ):
            answer = caller.post(path, {**body, "webhook": name})
            assert (answer.status, answer.json()["code"]) == (400, "unknown_webhook")


def test_a_receiver_that_says_410_disables_its_webhook_and_what_died_is_replayed(
    caller: Emissary, web: TestWebProcess
) -> None:
    new = make(caller, web, "/hook/410", events=["job.completed"])
    where = f"/v1/webhooks/{new['id']}"
    caller.scrape(web.host_url(1, "/small"))
    (dead,) = log_of(caller, new["id"], 1, "dead")
    assert dead["lastStatus"] == 410
    shown = caller.get(where).json()
    assert shown["active"] is False
    assert "410" in shown["disabledReason"]
    changed = caller.patch(where, {"active": True, "url": web.url("hooks", "/hook")}).json()
    assert (changed["active"], changed["disabledReason"]) == (True, None)
    assert caller.post(f"{where}/replay", {"since": "2020-01-01T00:00:00Z"}).json() == {"replayed": 1}
    assert caller.post(f"{where}/replay", {"since": "2020-01-01T00:00:00Z"}).json() == {"replayed": 0}
    (again,) = log_of(caller, new["id"], 1)
    assert again["event"] == dead["event"]
    assert again["id"] != dead["id"]
    assert _told(web, again["event"], new["secret"])["type"] == "job.completed"
    assert caller.post(f"{where}/replay", {"delivery": again["id"]}).json() == {"replayed": 1}
    assert {line["event"] for line in log_of(caller, new["id"], 2)} == {dead["event"]}


def test_what_is_still_under_way_or_was_never_told_is_not_replayed(caller: Emissary, web: TestWebProcess) -> None:
    new = make(caller, web, "/hook/503")
    caller.submit(web.host_url(1, "/small"), webhook=new["id"])
    (pending,) = log_of(caller, new["id"], 1, "pending")
    answer = caller.post(f"/v1/webhooks/{new['id']}/replay", {"delivery": pending["id"]})
    assert (answer.status, answer.json()["code"]) == (409, "delivery_pending")
    assert caller.post(f"/v1/webhooks/{new['id']}/replay", {"delivery": "job_1"}).status == 404
    for body in ({}, {"delivery": pending["id"], "since": "2020-01-01T00:00:00Z"}):
        assert caller.post(f"/v1/webhooks/{new['id']}/replay", body).status == 400


def test_nothing_is_replayed_to_a_webhook_that_is_not_active(caller: Emissary, web: TestWebProcess) -> None:
    new = make(caller, web)
    caller.scrape(web.host_url(1, "/small"), webhook=new["id"])
    (told,) = log_of(caller, new["id"], 1)
    caller.patch(f"/v1/webhooks/{new['id']}", {"active": False})
    for body in ({"delivery": told["id"]}, {"since": "2020-01-01T00:00:00Z"}):
        answer = caller.post(f"/v1/webhooks/{new['id']}/replay", body)
        assert (answer.status, answer.json()["code"]) == (409, "webhook_inactive")
        assert "change it to active, then replay" in answer.json()["detail"]
    assert len(log_of(caller, new["id"], 1)) == 1


def test_the_log_is_read_in_pages(caller: Emissary, web: TestWebProcess) -> None:
    new = make(caller, web)
    tested = [caller.post(f"/v1/webhooks/{new['id']}/test", {}).json()["delivery"] for _ in range(3)]
    where = f"/v1/webhooks/{new['id']}/deliveries"
    page = caller.get(f"{where}?limit=2").json()
    rest = caller.get(f"{where}?limit=2&after={page['next']}").json()
    assert [line["id"] for line in page["data"] + rest["data"]] == tested[::-1]
    assert rest["next"] is None
    answer = caller.get(f"{where}?after=somewhere")
    assert (answer.status, answer.json()["code"]) == (400, "invalid_cursor")


def _posts(web: TestWebProcess, path: str | None = None) -> list[dict[str, Any]]:
    return [each for each in requests_to(web, "hooks", path) if each["method"] == "POST"]


def _all_told(web: TestWebProcess, path: str) -> list[dict[str, Any]]:
    return [json.loads(each["body"].encode("latin-1")) for each in _posts(web, path)]


def _told(web: TestWebProcess, event: str, secret: str) -> dict[str, Any]:
    """What the receiver was told under this id, if the signature holds."""
    found = [each for each in _posts(web) if each["headers"].get("webhook-id") == event]
    told: dict[str, Any] = Webhook(secret).verify(found[-1]["body"].encode("latin-1"), found[-1]["headers"])
    return told
