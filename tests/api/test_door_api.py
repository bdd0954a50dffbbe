"""The door of a process: what it has no hands for is turned away at once, and asked to come again."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from select import select
from typing import Any

import pytest
from served import Answer, Emissary, asked, until
from within import ask_within, scope_of

from emissary.api.app import create_app
from emissary.api.door import Door
from emissary.compose import open_app, the_clock
from emissary.engine.admission import Admission
from emissary.settings import load_settings
from emissary.telemetry.metrics import Metrics
from emissary.testing.clock import FakeClock
from emissary.testing.web import TestWebProcess


def _check_overloaded(answer: Answer) -> None:
    assert (answer.status, answer.kind) == (429, "application/problem+json")
    assert answer.json()["code"] == "overloaded"
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["ratelimit"] == '"at-once";r=0;t=1'
    assert 'qu="concurrent-requests"' in answer.headers["ratelimit-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


class _Held:
    """An app that answers one request each time it is let."""

    def __init__(self) -> None:
        self.begun = asyncio.Semaphore(0)
        self.let = asyncio.Semaphore(0)

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        self.begun.release()
        await self.let.acquire()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})


@pytest.mark.anyio
async def test_one_request_too_many_is_turned_away_and_let_in_when_it_comes_again_after_one_has_ended() -> None:
    held, bound, clock = _Held(), 3, FakeClock()
    admission = Admission(clock, most_at_once=bound, most_aside=1)
    door = Door(held, admission, Metrics(), shape=lambda app: app)
    async with asyncio.TaskGroup() as group:
        answers = [group.create_task(ask_within(door, "/v1/scrape", "POST")) for _ in range(bound)]
        for _ in range(bound):
            await held.begun.acquire()
        _check_overloaded(await ask_within(door, "/v1/scrape", "POST", has_body=False))
        held.let.release()
        await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
        clock.advance(1)  # as `Retry-After` said
        answers.append(group.create_task(ask_within(door, "/v1/scrape", "POST")))
        await held.begun.acquire()
        for _ in range(bound):
            held.let.release()
    assert [each.result().status for each in answers] == [200] * (bound + 1)


@pytest.mark.anyio
async def test_a_body_that_does_not_come_takes_nobodys_place() -> None:
    admission = Admission(the_clock(), most_at_once=1, most_aside=1)
    waiting, come = asyncio.Event(), asyncio.Event()

    async def receive() -> dict[str, Any]:
        waiting.set()
        await come.wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def read(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"read"})

    async def send(message: Any) -> None:
        pass

    door = Door(read, admission, Metrics(), shape=lambda app: app)
    async with asyncio.TaskGroup() as group:
        group.create_task(door(scope_of("/v1/scrape", "POST"), receive, send))
        await waiting.wait()
        assert (await ask_within(door, "/v1/scrape", "POST")).status == 200
        come.set()


def test_bodies_that_do_not_come_are_bounded_and_forgotten_with_their_connections(
    start: Callable[..., Emissary],
) -> None:
    server = start(EMISSARY_API_MOST_AT_ONCE="8", EMISSARY_API_MOST_WAITING="4")
    for _ in range(3):
        with ExitStack() as connections:
            _check_overloaded(
                _first_answer([_half_sent(connections.enter_context(closing(server.connect()))) for _ in range(13)])
            )
        until(lambda: server.get("/v1/jobs").status == 200)


def _half_sent(connection: HTTPConnection) -> HTTPConnection:
    """A request without a key, the rest of which does not come."""
    connection.putrequest("POST", "/v1/scrape")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "1000")
    connection.endheaders(b'{"url": ')
    return connection


def _first_answer(connections: Sequence[HTTPConnection]) -> Answer:
    """What is answered first, on whichever of the connections."""
    ready, _, _ = select([each.sock for each in connections], [], [], 20)
    got = next(each for each in connections if each.sock in ready).getresponse()
    return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())


@pytest.mark.anyio
async def test_who_looks_after_the_server_is_always_let_in(tmp_path: Path) -> None:
    async with open_app(load_settings(data_dir=tmp_path)) as app:
        admission = Admission(app.services.clock, most_at_once=1, most_aside=1)
        api = create_app(app.services, admission)
        assert admission.enter() is not None
        for path in ("/healthz", "/readyz", "/metrics"):
            assert (await ask_within(api, path)).status == 200
        _check_overloaded(await ask_within(api, "/v1/scrape", "POST", has_body=False))
        theirs = await ask_within(api, "/v2/scrape", "POST", has_body=False)
        assert (theirs.status, theirs.json()["success"], theirs.json()["code"]) == (429, False, "overloaded")
        assert theirs.headers["retry-after"] == "1"
        figures = (await ask_within(api, "/metrics")).body.decode()
    assert 'emissary_api_requests_total{route="unknown",status="429"} 2.0' in figures


def test_those_who_wait_for_pages_are_bounded_and_keep_nobody_else_out(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server = start(EMISSARY_API_MOST_AT_ONCE="8", EMISSARY_API_MOST_WAITING="10")
    page = web.url("trouble", "/hang")
    before = asked(web, page)

    def waiting() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = server.get("/v1/jobs").json()["data"]
        return [each for each in listed if each["status"] in ("waiting", "active")]

    with ThreadPoolExecutor(11) as callers:
        held = [callers.submit(server.post, "/v1/scrape", {"url": page}) for _ in range(10)]
        jobs = until(lambda: found if len(found := waiting()) == 10 and asked(web, page) > before else None)
        _check_overloaded(server.post("/v1/scrape", {"url": page}))
        assert server.post("/v1/scrape", {"url": page, "async": True}).status == 202
        assert server.delete(f"/v1/jobs/{jobs[0]['id']}").status == 200
        until(lambda: any(each.done() for each in held))
        held.append(callers.submit(server.post, "/v1/scrape", {"url": page}))
        until(lambda: len(waiting()) == 11)
        for each in waiting():
            server.delete(f"/v1/jobs/{each['id']}")
        assert [each.result().status for each in held] == [200] * 11
