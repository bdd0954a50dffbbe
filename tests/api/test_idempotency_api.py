"""Idempotency-Key over HTTP: what is sent again gets the first answer, and has no second effect."""

import json
import re
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from batching import ended
from served import Answer, Emissary, asked, until
from watching import as_another_account, every_file, opened_by_admin

from emissary.api.app import create_app
from emissary.telemetry.metrics import Metrics
from emissary.testing.web import TestWebProcess

NDJSON = "application/x-ndjson"


def _posts() -> dict[str, dict[str, Any]]:
    """Every POST of the document that asks for a key."""
    bare = SimpleNamespace(version="0", metrics=Metrics(), clock=None)
    paths = create_app(bare).openapi()["paths"]  # type: ignore[arg-type]
    return {path: item["post"] for path, item in paths.items() if "security" in item.get("post", {})}


def _send(
    server: Emissary, path: str, document: object, *, key: str, kind: str = "application/json", **more: str
) -> Answer:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return server.ask("POST", path, body, {**server.authority, "Content-Type": kind, "Idempotency-Key": key, **more})


def _is_replay(answer: Answer) -> bool:
    return answer.headers.get("idempotent-replayed") == "true"


def _code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["code"]


def test_what_is_sent_again_gets_the_first_answer_and_nothing_is_read_twice(
    server: Emissary, web: TestWebProcess
) -> None:
    wish, key = {"url": web.host_url(3, "/small?once")}, str(uuid4())
    first = _send(server, "/v1/scrape", wish, key=key)
    before = asked(web, wish["url"])
    again = _send(server, "/v1/scrape", wish, key=key)
    assert (first.status, _is_replay(first)) == (200, False)
    assert (again.status, again.body, again.kind, _is_replay(again)) == (200, first.body, first.kind, True)
    assert asked(web, wish["url"]) == before
    assert _send(server, "/v1/scrape", wish, key=str(uuid4())).json()["id"] != first.json()["id"]


def test_without_a_key_the_same_is_done_again(server: Emissary, web: TestWebProcess) -> None:
    assert server.submit(web.host_url(3, "/small?twice")) != server.submit(web.host_url(3, "/small?twice"))


@pytest.mark.parametrize("route", sorted(_posts()))
def test_every_post_keeps_to_the_key(server: Emissary, route: str) -> None:
    """Whatever the first answer was: the same body gets it again, and another body is refused."""
    path, key = (
        re.sub(r"\{[^}]+\}", lambda _: f"{'crl' if 'crawl' in route else 'bat'}_{'0' * 26}", route),
        str(uuid4()),
    )
    first = _send(server, path, {}, key=key)
    assert first.status < 500
    again, other = _send(server, path, {}, key=key), _send(server, path, {"other": 1}, key=key)
    assert (again.status, again.body, _is_replay(again)) == (first.status, first.body, True)
    assert _code(other) == (422, "idempotency_key_reused")


@pytest.mark.parametrize("route", sorted(_posts()))
def test_every_post_says_so_in_the_document(route: str) -> None:
    operation = _posts()[route]
    (told,) = (each for each in operation["parameters"] if each["name"] == "Idempotency-Key")
    assert (told["in"], told["required"], told["schema"]["maxLength"]) == ("header", False, 255)
    assert {"409", "422"} <= set(operation["responses"])


def test_all_posts_of_the_api_are_among_these() -> None:
    assert {"/v1/scrape", "/v1/batch", "/v1/keys", "/v1/admin/accounts", "/v1/crawl/{id}/retry"} <= set(_posts())


@pytest.mark.parametrize("key", ["", "x" * 256, "caf\u00e9", "a\tb"])
def test_a_key_that_cannot_be_one_is_refused(server: Emissary, key: str) -> None:
    answer = _send(server, "/v1/scrape", {"url": "http://127.0.0.1/"}, key=key)
    assert _code(answer) == (400, "invalid_idempotency_key")


def test_a_key_of_the_greatest_length_is_taken(server: Emissary) -> None:
    key = f"{uuid4()} ~".ljust(255, "!")
    assert _code(_send(server, "/v1/scrape", {"url": "no"}, key=key)) == (400, "invalid_url")
    assert _is_replay(_send(server, "/v1/scrape", {"url": "no"}, key=key))


def test_while_the_first_is_in_flight_the_second_is_told_to_wait(server: Emissary, web: TestWebProcess) -> None:
    wish, key, got = {"url": web.url("trouble", "/slow?seconds=2")}, str(uuid4()), []
    before = asked(web, wish["url"])
    first = threading.Thread(target=lambda: got.append(_send(server, "/v1/scrape", wish, key=key)))
    first.start()
    until(lambda: asked(web, wish["url"]) > before)
    second = _send(server, "/v1/scrape", wish, key=key)
    assert _code(second) == (409, "idempotency_in_flight")
    assert second.headers["retry-after"] == "1"
    first.join()
    again = _send(server, "/v1/scrape", wish, key=key)
    assert (again.body, _is_replay(again)) == (got[0].body, True)


def test_a_caller_who_went_away_finds_the_answer_when_he_comes_back(server: Emissary, web: TestWebProcess) -> None:
    wish, key = {"url": web.url("trouble", "/slow?seconds=1&gone")}, str(uuid4())
    before = asked(web, wish["url"])
    with closing(server.connect()) as connection:
        headers = {**server.authority, "Content-Type": "application/json", "Idempotency-Key": key}
        connection.request("POST", "/v1/scrape", json.dumps(wish), headers)
        until(lambda: asked(web, wish["url"]) > before)

    def look() -> Answer | None:
        answer = _send(server, "/v1/scrape", wish, key=key)
        return answer if answer.status != 409 else None

    assert _is_replay(until(look))
    assert asked(web, wish["url"]) == before + 1


def test_a_server_that_was_killed_in_the_middle_blocks_the_key_for_a_minute_only(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server, key = start(EMISSARY_API_KEY="em_live_of_the_killed"), str(uuid4())
    wish = {"url": web.url("trouble", "/hang"), "timeoutMs": 60000}
    before = asked(web, wish["url"])
    with closing(server.connect()) as connection:
        headers = {**server.authority, "Content-Type": "application/json", "Idempotency-Key": key}
        connection.request("POST", "/v1/scrape", json.dumps(wish), headers)
        until(lambda: asked(web, wish["url"]) > before)
        server.process.kill()
    server.process.wait()
    server = start(EMISSARY_API_KEY="em_live_of_the_killed")
    assert _code(_send(server, "/v1/scrape", wish, key=key)) == (409, "idempotency_in_flight")
    with closing(sqlite3.connect(server.database)) as store, store:  # the minute passes
        assert store.execute("UPDATE first_answers SET until = until - 60000 WHERE sealed IS NULL").rowcount == 1
    freed = _send(server, "/v1/scrape", {**wish, "async": True}, key=key)
    assert (freed.status, _is_replay(freed)) == (202, False)


def test_a_batch_of_lines_is_taken_in_once(server: Emissary, web: TestWebProcess) -> None:
    lines, key = "".join(f"{web.host_url(4, f'/small?{n}')}\n" for n in range(3000)).encode(), str(uuid4())
    first = _send(server, "/v1/batch", lines, key=key, kind=NDJSON)
    again = _send(server, "/v1/batch", lines, key=key, kind=NDJSON)
    assert (first.status, first.json()["accepted"]) == (202, 3000)
    assert (again.status, again.body, _is_replay(again)) == (202, first.body, True)
    shorter = _send(server, "/v1/batch", lines[:-5], key=key, kind=NDJSON)
    assert _code(shorter) == (422, "idempotency_key_reused")
    with_options = _send(server, "/v1/batch?name=other", lines, key=key, kind=NDJSON)
    assert _code(with_options) == (422, "idempotency_key_reused")
    server.delete(f"/v1/batch/{first.json()['id']}")


def test_lines_that_broke_off_leave_the_key_free(server: Emissary, web: TestWebProcess) -> None:
    url, key = web.host_url(4, "/small?broken"), str(uuid4())
    with closing(server.connect()) as connection:
        connection.putrequest("POST", "/v1/batch")
        for name, value in {**server.authority, "Content-Type": NDJSON, "Idempotency-Key": key}.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", "1000")
        connection.endheaders(f"{url}\n".encode())

    def look() -> Answer | None:
        answer = _send(server, "/v1/batch", f"{url}\n".encode(), key=key, kind=NDJSON)
        return answer if answer.status != 409 else None

    taken = until(look)
    assert (taken.status, _is_replay(taken)) == (202, False)
    ended(server, taken.json()["id"])


def test_a_refusal_for_want_of_room_is_not_remembered(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_ACCOUNT_MOST_QUEUED="1")
    waiting = server.submit(web.url("trouble", "/hang"))
    wish, key = {"url": web.host_url(5, "/small"), "async": True}, str(uuid4())
    assert _code(_send(server, "/v1/scrape", wish, key=key)) == (429, "queue_full")
    server.delete(f"/v1/jobs/{waiting}")
    until(lambda: _send(server, "/v1/scrape", wish, key=key).status == 202)
    assert _is_replay(_send(server, "/v1/scrape", wish, key=key))


def test_a_key_is_its_account_s_own_and_that_of_one_path(server: Emissary, web: TestWebProcess) -> None:
    other, key = as_another_account(server, "idempotent"), str(uuid4())
    wish = {"url": web.host_url(5, "/small"), "async": True}
    answers = [_send(side, "/v1/scrape", wish, key=key) for side in (server, other)]
    answers.append(_send(server, "/v1/plan", {"url": wish["url"]}, key=key))
    assert [(each.status, _is_replay(each)) for each in answers] == [(202, False), (202, False), (200, False)]
    assert answers[0].json()["id"] != answers[1].json()["id"]


def test_a_key_without_the_scope_learns_nothing_of_what_was_answered(server: Emissary, web: TestWebProcess) -> None:
    account, writer = opened_by_admin(server, "read", "write", name="Two keys")
    made = server.post(f"/v1/admin/accounts/{account['id']}/keys", {"name": "reader", "scopes": ["read"]}).json()
    wish, key = {"url": web.host_url(5, "/small"), "async": True}, str(uuid4())
    first = _send(writer, "/v1/scrape", wish, key=key)
    assert first.status == 202
    refused = _send(server, "/v1/scrape", wish, key=key, Authorization=f"Bearer {made['key']}")
    assert _code(refused) == (403, "missing_scope")
    assert _send(writer, "/v1/scrape", wish, key=key).body == first.body


def test_a_new_key_is_shown_again_and_lies_nowhere_in_clear(start: Callable[..., Emissary]) -> None:
    server, key = start(), str(uuid4())
    first = _send(server, "/v1/keys", {"name": "sealed"}, key=key)
    again = _send(server, "/v1/keys", {"name": "sealed"}, key=key)
    assert (first.status, again.body, _is_replay(again)) == (201, first.body, True)
    assert len(server.get("/v1/keys").json()["data"]) == 2
    assert server.stop() == 0
    secret = first.json()["key"].encode()
    assert not [name for name, held in every_file(server.folder / "data").items() if secret in held]
