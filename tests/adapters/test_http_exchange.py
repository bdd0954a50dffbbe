"""What a reply tells of its exchange, for the receipt and for captures, and what we say of ourselves in it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from raw_site import RawSite

from authority import Authority
from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Limits, Outside, always
from emissary.adapters.http.dial import connect_to
from emissary.model.pages import Code, Reply, Unreachable, WebUrl
from emissary.ports.web import Ask
from emissary.reading.guard import Guard
from emissary.reading.identity import Identity
from emissary.reading.urls import parse
from emissary.testing.web import TestWeb
from emissary.testing.web.packing import pack

pytestmark = pytest.mark.anyio

_IDENTITY = Identity("9.9", "https://bot.example/")
_PERMITS = Guard(["127.0.0.0/8"]).permits


def _client(trust: ssl.SSLContext | None = None, limits: Limits = Limits()) -> HttpWeb:  # noqa: B008 - a value
    async def resolve(_name: str) -> list[str]:
        return ["127.0.0.1"]

    return HttpWeb(
        permits=_PERMITS,
        present=always(_IDENTITY.headers()),
        clock=SystemClock(),
        limits=limits,
        outside=Outside(resolve=resolve, connect=connect_to),
        trust=trust,
    )


@pytest.fixture
async def local() -> AsyncIterator[TestWeb]:
    async with TestWeb.start() as web:
        yield web


async def _reply(client: HttpWeb, url: str, **more: object) -> Reply:
    found = await client.ask(Ask(parse(url), 5.0, 1_000_000, **more))  # type: ignore[arg-type]
    assert isinstance(found, Reply), found
    return found


# Heads and the wire


async def test_the_heads_are_those_that_went_over_the_wire() -> None:
    said = (
        b"HTTP/1.1 203 Quite Fine\r\nContent-Length: 2\r\nX-Odd:  two  \r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nhi"
    )
    async with RawSite.start(said) as site, _client() as client:
        reply = await _reply(client, site.url("/a%20b/;x?q=1&q=%C3%A4"), headers={"X-Extra": "yes"})
        assert reply.request_head == site.heads[0]
    head = reply.response_head
    assert head.startswith(b"HTTP/1.1 203 Quite Fine\r\n")
    assert head.endswith(b"\r\n\r\n")
    for line in (b"Content-Length: 2\r\n", b"set-cookie: a=1\r\n", b"Set-Cookie: b=2\r\n"):
        assert line in head
    assert reply.wire is reply.body


async def test_an_empty_query_is_told_as_it_was_sent() -> None:
    async with RawSite.start(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") as site, _client() as client:
        for path in ("/a?", "/", "", "//x//", "/%7Ea/%zz|^[]'()", "/a?b?c"):
            reply = await _reply(client, site.url(path))
            assert reply.request_head == site.heads[-1]


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
async def test_a_packed_body_is_kept_as_it_came(coding: str) -> None:
    packed = pack(coding, b"<html>hello</html>")
    said = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(packed)}\r\n\r\n".encode() + packed
    async with RawSite.start(said) as site, _client() as client:
        reply = await _reply(client, site.url())
    assert reply.body == b"<html>hello</html>"
    assert reply.wire == packed
    assert reply.response_head + reply.wire == said


async def test_a_head_whose_chunks_are_gone_still_fits_its_body() -> None:
    said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
    async with RawSite.start(said) as site, _client() as client:
        reply = await _reply(client, site.url())
    assert reply.wire == b"hello"
    assert b"\r\nTransfer-Encoding" not in reply.response_head
    assert b"X-Archive-Orig-Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" in reply.response_head


# Times, addresses and TLS


async def test_a_new_connection_tells_what_it_took_and_an_old_one_took_nothing(local: TestWeb) -> None:
    async with _client() as client:
        first = await _reply(client, local.url("shop", "/product/1"))
        second = await _reply(client, local.url("shop", "/product/2"))
    assert first.timings.connect_ms is not None
    assert first.timings.dns_ms is not None
    assert first.timings.tls_ms is None
    assert first.timings.dns_ms + first.timings.connect_ms <= first.timings.first_byte_ms <= first.timings.total_ms
    assert (second.timings.dns_ms, second.timings.connect_ms, second.timings.tls_ms) == (None, None, None)
    assert first.address == second.address == local.address("shop")
    assert (first.egress, first.tls) == ("direct", None)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


_HI = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


async def test_a_secure_exchange_keeps_the_name_for_the_certificate_and_the_host(authority: Authority) -> None:
    names: list[str | None] = []
    secured = authority.server("shop.example", "127.0.0.1")
    secured.sni_callback = lambda _socket, name, _context: names.append(name)  # type: ignore[assignment]
    async with RawSite.start(_HI, secured=secured) as site, _client(authority.trust) as client:
        reply = await _reply(client, f"https://shop.example:{site.port}/")
        again = await _reply(client, f"https://shop.example:{site.port}/")
        dotted = await _reply(client, f"https://shop.example.:{site.port}/")
        by_address = await _reply(client, f"https://127.0.0.1:{site.port}/")
    assert f"Host: shop.example:{site.port}".encode() in site.heads[0]
    assert names == ["shop.example", "shop.example", None]
    assert reply.tls is not None
    assert reply.tls.startswith("TLSv1.3 TLS_")
    assert reply.timings.tls_ms is not None
    assert again.tls == reply.tls
    assert again.timings.tls_ms is None
    assert {reply.address, dotted.address, by_address.address} == {"127.0.0.1"}


async def test_a_certificate_for_another_name_is_not_accepted(authority: Authority) -> None:
    async with (
        RawSite.start(_HI, secured=authority.server("other.example")) as site,
        _client(authority.trust) as client,
    ):
        found = await client.ask(Ask(parse(f"https://shop.example:{site.port}/"), 5.0, 1000))
    assert isinstance(found, Unreachable)
    assert found.code is Code.TLS
    assert site.heads == []


async def test_a_certificate_of_an_unknown_authority_is_not_accepted(authority: Authority) -> None:
    async with RawSite.start(_HI, secured=authority.server("shop.example")) as site, _client() as client:
        found = await client.ask(Ask(parse(f"https://shop.example:{site.port}/"), 5.0, 1000))
    assert isinstance(found, Unreachable)
    assert found.code is Code.TLS


async def test_a_server_that_does_not_speak_tls_is_told(authority: Authority) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n" * 20)
        await reader.read(10_000)
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    async with server, _client(authority.trust) as client:
        port = server.sockets[0].getsockname()[1]
        found = await client.ask(Ask(parse(f"https://shop.example:{port}/"), 5.0, 1000))
    assert isinstance(found, Unreachable)
    assert found.code is Code.TLS


async def test_a_handshake_that_hangs_is_broken_off(authority: Authority) -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(-1)
        finally:
            writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    async with server, _client(authority.trust, Limits(tls_seconds=0.1)) as client:
        port = server.sockets[0].getsockname()[1]
        found = await client.ask(Ask(parse(f"https://shop.example:{port}/"), 5.0, 1000))
    assert isinstance(found, Unreachable)
    assert found.code is Code.TIMEOUT


@pytest.mark.parametrize("anyio_backend", [("asyncio", {"use_uvloop": True})], ids=["uvloop"])
async def test_a_secure_answer_without_a_length_ends_with_a_goodbye(authority: Authority) -> None:
    """Anybody on the way can close a connection; only the site can say that this was all. (asyncio does not tell.)"""
    says_goodbye = True

    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        await writer.drain()
        if says_goodbye:
            writer.close()
        else:
            writer.transport.abort()

    secured = authority.server("shop.example")
    async with RawSite.start(say, secured=secured) as site, _client(authority.trust) as client:
        reply = await _reply(client, f"https://shop.example:{site.port}/")
        says_goodbye = False
        found = await client.ask(Ask(parse(f"https://shop.example:{site.port}/"), 5.0, 1000))
    assert reply.body == b"half"
    assert isinstance(found, Unreachable)
    assert found.code is Code.CONNECT


# Who we are


async def test_who_we_are_is_said_anew_for_every_request(local: TestWeb) -> None:
    said: list[tuple[str, str]] = []

    def present(method: str, url: WebUrl) -> Mapping[str, str]:
        said.append((method, url.href))
        return {**_IDENTITY.headers(), "Signature": f"sig1=:{len(said)}:"}

    async with HttpWeb(permits=_PERMITS, present=present, clock=SystemClock()) as client:
        await _reply(client, local.url("trouble", "/headers"))
        await _reply(client, local.url("hooks", "/in"), body=b"{}")
    seen = [*local.seen.of("trouble"), *local.seen.of("hooks")]
    assert said == [("GET", local.url("trouble", "/headers")), ("POST", local.url("hooks", "/in"))]
    assert [each.headers["signature"] for each in seen] == ["sig1=:1:", "sig1=:2:"]
    assert all(each.headers["user-agent"] == _IDENTITY.agent for each in seen)


@pytest.mark.parametrize(
    "name",
    [
        *("User-Agent", "user-agent", "USER-AGENT", "From", "Host", "host", "Signature", "signature-input"),
        *("Signature-Agent", "Signature-Anything", "Accept-Encoding", "Connection", "Content-Length"),
        *(
            "Transfer-Encoding",
            "Proxy-Authorization",
            "User-Agent ",
            " Host",
            "Host:",
            "Us\u0435r-Agent",
            "",
            "A\r\nHost",
        ),
    ],
)
def test_no_caller_can_speak_for_us(name: str) -> None:
    with pytest.raises(ValueError, match="not for callers"):
        Ask(parse("http://example.org/"), 1.0, 1, {name: "Mozilla/5.0"})


async def test_a_caller_may_ask_for_another_language(local: TestWeb) -> None:
    async with _client() as client:
        await _reply(client, local.url("trouble", "/headers"), headers={"accept-language": "de", "Cookie": "a=1"})
    (seen,) = local.seen.of("trouble")
    assert seen.headers["accept-language"] == "de"
    assert seen.headers["cookie"] == "a=1"
    assert seen.headers["user-agent"] == _IDENTITY.agent


async def test_a_line_break_in_a_value_sends_nothing(local: TestWeb) -> None:
    async with _client() as client:
        ask = Ask(parse(local.url("trouble", "/headers")), 5.0, 1000, {"X-Note": "a\r\nUser-Agent: other"})
        assert isinstance(await client.ask(ask), Unreachable)
    assert len(local.seen) == 0
