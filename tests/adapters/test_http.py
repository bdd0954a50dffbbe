"""One exchange over real HTTP, against the local web."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb
from emissary.model.pages import Code, Reply, Unreachable
from emissary.ports.web import Ask
from emissary.reading.guard import Guard
from emissary.reading.identity import Identity
from emissary.reading.urls import parse
from emissary.testing.web import TestWeb

pytestmark = pytest.mark.anyio

_IDENTITY = Identity("9.9", "https://bot.example/")
_MIB = 1024 * 1024


@pytest.fixture
async def local() -> AsyncIterator[TestWeb]:
    async with TestWeb.start() as web:
        yield web


@pytest.fixture
async def client() -> AsyncIterator[HttpWeb]:
    async with _client("127.0.0.0/8") as web:
        yield web


def _client(*networks: str) -> HttpWeb:
    return HttpWeb(permits=Guard(networks).permits, present=_IDENTITY.headers(), clock=SystemClock())


def _ask(url: str, *, timeout: float = 5.0, max_bytes: int = 4 * _MIB, truncate: bool = False) -> Ask:
    return Ask(parse(url), timeout, max_bytes, truncate=truncate)


async def _reply(client: HttpWeb, url: str) -> Reply:
    reply = await client.ask(_ask(url))
    assert isinstance(reply, Reply), reply
    return reply


async def _failure(client: HttpWeb, ask: Ask) -> Unreachable:
    found = await client.ask(ask)
    assert isinstance(found, Unreachable), found
    return found


async def test_a_page_comes_with_the_address_that_gave_it(client: HttpWeb, local: TestWeb) -> None:
    reply = await _reply(client, local.url("shop", "/product/1"))
    assert reply.status == 200
    assert reply.address == local.address("shop")
    assert reply.headers["content-type"].startswith("text/html")
    assert b"</html>" in reply.body


async def test_we_say_who_we_are(client: HttpWeb, local: TestWeb) -> None:
    await _reply(client, local.url("trouble", "/headers"))
    (seen,) = local.seen.of("trouble")
    assert seen.headers["user-agent"] == "Emissary/9.9 (+https://bot.example/)"
    assert "cookie" not in seen.headers


async def test_a_redirect_is_shown_and_not_followed(client: HttpWeb, local: TestWeb) -> None:
    reply = await _reply(client, local.url("moved", "/once"))
    assert 300 <= reply.status < 400
    assert reply.headers["location"].endswith("/landed")
    assert local.seen.paths("moved") == ["/once"]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "deflate-raw", "br", "zstd"])
async def test_an_encoded_page_is_decoded(client: HttpWeb, local: TestWeb, encoding: str) -> None:
    reply = await _reply(client, local.url("trouble", f"/encoded/{encoding}"))
    assert b"<html" in reply.body
    assert reply.wire_bytes < len(reply.body)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_a_bomb_is_stopped_on_the_way(client: HttpWeb, local: TestWeb, encoding: str) -> None:
    tracemalloc.start()
    try:
        failure = await _failure(client, _ask(local.url("trouble", f"/bomb/{encoding}?mib=64"), max_bytes=_MIB))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert failure.code is Code.TOO_LARGE
    assert peak < 24 * _MIB


async def test_a_page_without_end_is_cut_off(client: HttpWeb, local: TestWeb) -> None:
    failure = await _failure(client, _ask(local.url("trouble", "/huge?mib=50"), max_bytes=_MIB))
    assert (failure.code, failure.passing) == (Code.TOO_LARGE, False)


async def test_a_file_may_be_read_up_to_a_point_where_that_is_enough(client: HttpWeb, local: TestWeb) -> None:
    reply = await client.ask(_ask(local.url("bigrobots", "/robots.txt"), max_bytes=1000, truncate=True))
    assert isinstance(reply, Reply)
    assert len(reply.body) == 1000


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/hang", Code.TIMEOUT),
        ("/drip?seconds=30", Code.TIMEOUT),
        ("/slow?seconds=30", Code.TIMEOUT),
        ("/cut", Code.CONNECT),
        ("/cut?framing=chunked", Code.CONNECT),
        ("/reset", Code.CONNECT),
    ],
)
async def test_each_way_of_failing_has_its_name(client: HttpWeb, local: TestWeb, path: str, code: Code) -> None:
    failure = await _failure(client, _ask(local.url("trouble", path), timeout=0.3))
    assert failure.code is code


@pytest.mark.parametrize("path", ["/reset", "/cut", "/cut?framing=chunked"])
async def test_a_site_that_breaks_off_is_not_asked_again(client: HttpWeb, local: TestWeb, path: str) -> None:
    await _failure(client, _ask(local.url("trouble", path)))
    assert len(local.seen) == 1


async def test_a_kept_connection_that_the_site_has_closed_is_told_as_stale(client: HttpWeb) -> None:
    """The site answers, keeps the connection, and closes it when the next request is on its way."""
    answered = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        await reader.readuntil(b"\r\n\r\n")
        answered += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        await reader.read(1)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        await _reply(client, url)
        assert (await _failure(client, _ask(url))).stale
        await _reply(client, url)
    assert answered == 2


async def test_a_port_where_nobody_listens_is_told(client: HttpWeb) -> None:
    assert (await _failure(client, _ask("http://127.0.0.1:2/"))).code is Code.CONNECT


@pytest.mark.parametrize("host", ["127.0.0.1", "0x7f.1", "2130706433", "127.1", "localhost", "[::ffff:7f00:1]"])
async def test_the_guard_is_inside_the_dial(local: TestWeb, host: str) -> None:
    async with _client() as careful:
        failure = await _failure(careful, _ask(f"http://{host}:{local.port}/"))
    assert (failure.code, failure.passing) == (Code.GUARD, False)
    assert len(local.seen) == 0


async def test_what_is_behind_the_guard_is_not_told(local: TestWeb) -> None:
    async with _client() as careful:
        failure = await _failure(careful, _ask(f"http://127.0.0.1:{local.port}/"))
    assert "127.0.0.1" not in failure.detail
