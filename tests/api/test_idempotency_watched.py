"""What is watched of a request under its key: failures, unread bodies, long work. The routes here are made for that."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message

from emissary.adapters.vault import FileVault
from emissary.api.idempotency import AnsweredBefore, Idempotency, answered_before, claim_key
from emissary.api.problems import problem
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.idempotency import SqliteFirstAnswers
from emissary.engine.answer_book import AnswerBook
from emissary.model.errors import EmissaryError
from emissary.model.ids import AccountId
from emissary.testing.clock import FakeClock, SeededChance

pytestmark = pytest.mark.anyio

Doing = Callable[[Request], Awaitable[Response]]
_WHOLE: Message = {"type": "http.request", "body": b"{}", "more_body": False}
_GONE: Message = {"type": "http.disconnect"}


class Site:
    """An app with one route, which claims its key and then does what the test says."""

    def __init__(self, book: AnswerBook) -> None:
        self.doing: Doing = _answer
        self.calls = 0
        handlers = {AnsweredBefore: answered_before, EmissaryError: _told}
        routes = [Route("/", self._handle, methods=["POST"])]
        self._app = Starlette(routes=routes, middleware=[Middleware(Idempotency)], exception_handlers=handlers)
        self._app.state.services = SimpleNamespace(answer_book=book)

    async def _handle(self, request: Request) -> Response:
        await claim_key(request, AccountId("acc_one"))
        self.calls += 1
        return await self.doing(request)

    async def post(self, *messages: Message) -> tuple[int, bytes]:
        """One request under one key; the status and the body that came."""
        coming, sent = iter(messages or (_WHOLE,)), []

        async def receive() -> Message:
            return next(coming, _GONE)

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": [], "state": {}}
        scope["headers"] = [(b"idempotency-key", b"one")]
        await self._app({**scope, "root_path": "", "http_version": "1.1"}, receive, send)
        return sent[0]["status"], b"".join(message["body"] for message in sent[1:])


async def _told(_: Request, error: Exception) -> Response:
    assert isinstance(error, EmissaryError)
    return problem(error.code, error.detail)


async def _answer(_: Request) -> Response:
    return Response(b"done", 201)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def site(tmp_path: Path, clock: FakeClock, anyio_backend: str) -> AsyncIterator[Site]:
    database = await Database.open(tmp_path / "emissary.db")
    vault = FileVault.at(tmp_path / "master.key")
    yield Site(AnswerBook(SqliteFirstAnswers(database), vault, clock=clock, chance=SeededChance()))
    await database.close()


async def test_an_answer_is_given_again_and_nothing_is_done(site: Site) -> None:
    assert [await site.post() for _ in range(3)] == [(201, b"done")] * 3
    assert site.calls == 1


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_answer_that_says_later_is_not_remembered(site: Site, status: int) -> None:
    async def fail(_: Request) -> Response:
        return Response(b"later", status)

    site.doing = fail
    assert await site.post() == (status, b"later")
    site.doing = _answer
    assert await site.post() == (201, b"done")


async def test_a_crash_leaves_the_key_free(site: Site) -> None:
    async def crash(_: Request) -> Response:
        raise ZeroDivisionError

    site.doing = crash
    with pytest.raises(ZeroDivisionError):
        await site.post()
    site.doing = _answer
    assert await site.post() == (201, b"done")


async def test_work_that_takes_long_keeps_its_key_and_gives_it_up_with_its_answer(site: Site, clock: FakeClock) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def take_long(_: Request) -> Response:
        begun.set()
        await go_on.wait()
        return Response(b"at last")

    site.doing = take_long
    async with asyncio.TaskGroup() as group:
        first = group.create_task(site.post())
        await begun.wait()
        for _ in range(10):  # two and a half minutes, where an unrenewed claim holds for one
            await clock.until_asleep(15)
            clock.advance(15)
        await clock.until_asleep(15)
        assert (await site.post())[0] == 409
        go_on.set()
    assert first.result() == (200, b"at last")
    assert await site.post() == (200, b"at last")
    assert (site.calls, clock.waits) == (1, [])


async def test_a_body_that_nobody_read_counts_as_well(site: Site) -> None:
    assert await site.post() == (201, b"done")
    other: Message = {"type": "http.request", "body": b"{ }", "more_body": False}
    assert (await site.post(other))[0] == 422


async def test_a_body_in_pieces_is_the_same_body(site: Site) -> None:
    async def echo(request: Request) -> Response:
        return Response(await request.body())

    site.doing = echo
    assert await site.post() == (200, b"{}")
    pieces: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in (b"{", b"}")]
    assert await site.post(*pieces, {"type": "http.request"}) == (200, b"{}")
    assert site.calls == 1


async def test_a_request_that_broke_off_claims_nothing(site: Site) -> None:
    assert (await site.post({"type": "http.request", "body": b"{", "more_body": True}, _GONE))[0] == 400
    assert await site.post() == (201, b"done")
