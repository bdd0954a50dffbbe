"""Connections are kept for a while, for one purpose each; none that is in doubt, and never too many."""

import asyncio
from typing import Any

import pytest
from asking import BOTH_LOOPS, failure_of, reading_client, reply_of, wait_until
from raw_site import RawSite

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Limits
from emissary.model.pages import Code

pytestmark = pytest.mark.anyio

_FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"


@pytest.fixture(params=BOTH_LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


class _Slow:
    """Lets requests wait until as many as it was told have come."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._came = 0
        self._all = asyncio.Event()

    async def say(self, writer: asyncio.StreamWriter) -> None:
        self._came += 1
        if self._came >= self._wanted:
            self._all.set()
        await self._all.wait()
        writer.write(_FINE)


def _in_turn(*answers: bytes, pause: float = 0.0) -> Any:
    """The first request gets the first answer, and so on; the last one comes after a pause."""
    left = list(answers)

    async def say(writer: asyncio.StreamWriter) -> None:
        answer = left.pop(0)
        if not left:
            await SystemClock().sleep(pause)
        writer.write(answer)

    return say


async def _ask_at_once(client: HttpWeb, site: RawSite, count: int) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(reply_of(client, site.url()))


async def test_a_connection_is_used_again() -> None:
    async with RawSite.start(_FINE) as site, reading_client() as client:
        for _ in range(5):
            await reply_of(client, site.url())
    assert (site.connections, len(site.heads)) == (1, 5)


async def test_a_connection_that_idles_is_closed() -> None:
    async with RawSite.start(_FINE) as site, reading_client(Limits(kept_seconds=0.1)) as client:
        await reply_of(client, site.url())
        await reply_of(client, site.url())
        assert (site.connections, site.open) == (1, 1)
        await wait_until(lambda: site.open == 0)
        await reply_of(client, site.url())
    assert site.connections == 2


async def test_no_more_are_kept_for_a_purpose_than_are_allowed() -> None:
    async with RawSite.start(_Slow(3).say) as site, reading_client(Limits(kept_per_purpose=1)) as client:
        await _ask_at_once(client, site, 3)
        await wait_until(lambda: site.open == 1)
        await reply_of(client, site.url())
    assert site.connections == 3


async def test_of_all_that_are_kept_the_oldest_goes_first() -> None:
    async with (
        RawSite.start(_FINE) as first,
        RawSite.start(_FINE) as second,
        RawSite.start(_FINE) as third,
        reading_client(Limits(kept=2)) as client,
    ):
        for site in (first, second, third):
            await reply_of(client, site.url())
        await wait_until(lambda: first.open == 0)
        for site in (third, second, first):
            await reply_of(client, site.url())
        assert [site.connections for site in (first, second, third)] == [2, 1, 1]


async def test_one_session_never_uses_the_connection_of_another() -> None:
    async with RawSite.start(_FINE) as site, reading_client() as client:
        for _ in range(2):
            for session in ("one", "two", None):
                await reply_of(client, site.url(), session=session)
    assert site.connections == 3


async def test_an_ask_that_is_given_up_ends_its_connection() -> None:
    async with RawSite.start(_in_turn(b"")) as site, reading_client() as client:
        given_up = asyncio.create_task(reply_of(client, site.url(), timeout=60.0))
        await wait_until(lambda: len(site.heads) == 1)
        given_up.cancel()
        await asyncio.wait([given_up])
        assert given_up.cancelled()
        await wait_until(lambda: site.open == 0)


async def test_a_client_that_is_left_takes_its_connections_with_it() -> None:
    async with RawSite.start(_in_turn(b"")) as site:
        async with reading_client() as client:
            waiting = asyncio.create_task(failure_of(client, site.url()))
            await wait_until(lambda: len(site.heads) == 1)
        assert (await waiting).code is Code.CONNECT
        await wait_until(lambda: site.open == 0)
        assert (await failure_of(client, site.url())).code is Code.CONNECT
    assert site.connections == 1


@pytest.mark.parametrize("said", [b"", b"220 mail.example ESMTP\r\n"])
async def test_a_site_that_does_not_wait_for_the_question_has_no_answer(said: bytes) -> None:
    def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server, reading_client() as client:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        for _ in range(50):
            failure = await failure_of(client, url)
            assert failure.code in (Code.CONNECT, Code.BAD_RESPONSE)
            assert not failure.stale


# Kept connections that break


async def _answer_then(client: HttpWeb, said: bytes, **more: object) -> Any:
    """How the second ask over a kept connection ends where the site says this and closes."""
    answers = iter([_FINE, said])

    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(answer := next(answers))
        await writer.drain()
        if answer is said:
            writer.close()

    async with RawSite.start(say) as site:
        await reply_of(client, site.url())
        failure = await failure_of(client, site.url(), **more)
        assert site.connections == 1
        return failure


async def test_a_kept_connection_that_says_nothing_is_stale() -> None:
    async with reading_client() as client:
        failure = await _answer_then(client, b"")
    assert (failure.code, failure.stale) == (Code.CONNECT, True)


@pytest.mark.parametrize("said", [b"H", b"HTTP/1.1 100 Continue\r\n\r\n", _FINE[:-1]])
async def test_a_kept_connection_that_has_begun_to_answer_is_not_stale(said: bytes) -> None:
    async with reading_client() as client:
        failure = await _answer_then(client, said)
    assert (failure.code, failure.stale) == (Code.CONNECT, False)


async def test_what_was_told_is_not_told_again_by_itself() -> None:
    async with reading_client() as client:
        failure = await _answer_then(client, b"", body=b"")
    assert (failure.code, failure.stale) == (Code.CONNECT, False)


# The one watch over all exchanges of a connection


async def test_a_short_time_after_a_long_one_is_short() -> None:
    async with RawSite.start(_in_turn(_FINE, b"")) as site, reading_client() as client:
        await reply_of(client, site.url(), timeout=30.0)
        began = asyncio.get_running_loop().time()
        assert (await failure_of(client, site.url(), timeout=0.2)).code is Code.TIMEOUT
        assert asyncio.get_running_loop().time() - began < 2
    assert site.connections == 1


async def test_a_long_time_after_a_short_one_is_long() -> None:
    async with RawSite.start(_in_turn(_FINE, _FINE, pause=0.4)) as site, reading_client() as client:
        await reply_of(client, site.url(), timeout=0.2)
        await reply_of(client, site.url(), timeout=10.0)
    assert site.connections == 1


async def test_silence_in_a_body_is_noticed_on_a_kept_connection() -> None:
    answers = _in_turn(_FINE, _FINE[:-1])
    async with RawSite.start(answers) as site, reading_client(Limits(silence_seconds=0.2)) as client:
        await reply_of(client, site.url(), timeout=30.0)
        began = asyncio.get_running_loop().time()
        assert (await failure_of(client, site.url(), timeout=30.0)).code is Code.TIMEOUT
        assert asyncio.get_running_loop().time() - began < 2
    assert site.connections == 1


# Telling: requests that have a body


async def test_an_answer_that_comes_before_the_request_is_out_is_an_answer() -> None:
    """The site has heard enough. The rest of the request must not be taken for the next one."""
    body = b"x" * (32 * 1024 * 1024)
    heard = 0
    refusal = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal heard
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(refusal)
            await may_read.wait()
            while piece := await reader.read(1024 * 1024):
                heard += len(piece)
        except OSError:
            pass
        finally:
            gone.set()
            writer.close()

    may_read, gone = asyncio.Event(), asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server, reading_client() as client:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        reply = await reply_of(client, url, body=body, timeout=30.0)
        assert (reply.status, reply.body) == (413, b"no")
        may_read.set()
        await gone.wait()
    assert heard < len(body)  # the connection was closed, and not kept


async def test_a_request_with_a_body_says_how_long_it_is() -> None:
    async with RawSite.start(_FINE) as site, reading_client() as client:
        await reply_of(client, site.url("/in"), body=b"{}")
        await reply_of(client, site.url("/in"), body=b"", headers={"content-type": "application/json"})
    first, second = site.heads
    assert first.startswith(b"POST /in HTTP/1.1\r\nHost: ")
    assert b"\r\nContent-Length: 2\r\n" in first
    assert b"\r\nContent-Type: application/octet-stream\r\n" in first
    assert b"\r\nContent-Length: 0\r\n" in second
    assert second.lower().count(b"content-type") == 1
