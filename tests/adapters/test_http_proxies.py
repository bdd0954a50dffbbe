"""One exchange through a proxy: the target is checked before anything is sent, and failures are told apart."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
from raw_site import RawSite

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Limits, Outside
from emissary.adapters.http.dial import connect_to
from emissary.model.pages import Code, Reply, Unreachable
from emissary.ports.web import Ask, Proxy
from emissary.reading.guard import Guard
from emissary.reading.urls import parse
from emissary.testing.proxies import TestProxy
from emissary.testing.web import TestWeb

pytestmark = pytest.mark.anyio

_SCHEMES = ["http", "socks5"]


def _client(*networks: str, names: dict[str, list[str]] | None = None, limits: Limits = Limits()) -> HttpWeb:  # noqa: B008 - a value
    async def resolve(name: str) -> list[str]:
        if names is None or name not in names:
            raise socket.gaierror
        return names[name]

    present = {"User-Agent": "Emissary/0 (+https://bot.example/)"}
    outside = Outside(resolve=resolve, connect=connect_to)
    permits = Guard(networks).permits
    return HttpWeb(permits=permits, present=present, clock=SystemClock(), limits=limits, outside=outside)


async def _ask(client: HttpWeb, url: str, via: Proxy, *, timeout: float = 5.0) -> Reply | Unreachable:  # noqa: ASYNC109 - the ask's own
    return await client.ask(Ask(parse(url), timeout, 1_000_000, via=via))


@pytest.fixture
async def local() -> AsyncIterator[TestWeb]:
    async with TestWeb.start() as web:
        yield web


@pytest.mark.parametrize("scheme", _SCHEMES)
@pytest.mark.parametrize("user", [None, "öl:x"])
async def test_a_page_comes_through_a_proxy(local: TestWeb, scheme: str, user: str | None) -> None:
    password = None if user is None else "päss word"
    if scheme == "http" and user:
        user = "oil"  # a colon cannot be in a user name of HTTP
    async with TestProxy.start("one", scheme, user=user, password=password) as proxy, _client("127.0.0.0/8") as client:
        reply = await _ask(client, local.url("shop", "/product/1"), proxy.proxy)
        again = await _ask(client, local.url("shop", "/product/2"), proxy.proxy)
    assert isinstance(reply, Reply)
    assert isinstance(again, Reply)
    assert (reply.status, reply.egress, reply.address) == (200, "one", local.address("shop"))
    assert proxy.asked == [f"{local.address('shop')}:{local.port}"]  # the second used the same tunnel
    assert again.timings.connect_ms is None


@pytest.mark.parametrize("scheme", _SCHEMES)
@pytest.mark.parametrize("address", ["93.184.216.34", "2606:4700:4700::1111"])
async def test_the_proxy_is_given_the_checked_address_and_the_site_its_name(
    local: TestWeb, scheme: str, address: str
) -> None:
    names = {"site.example": [address]}
    async with TestProxy.start("one", scheme) as proxy, _client(names=names) as client:
        proxy.route = (local.address("trouble"), local.port)  # so that nothing leaves this machine
        reply = await _ask(client, "http://site.example/headers", proxy.proxy)
    assert isinstance(reply, Reply)
    assert reply.address == address
    assert proxy.asked == [f"[{address}]:80" if ":" in address else f"{address}:80"]
    (seen,) = local.seen.of("trouble")
    assert seen.headers["host"] == "site.example"
    assert seen.path == "/headers"  # a tunnel: the proxy's way of asking is not the site's business
    assert not {name for name in seen.headers if name.startswith(("proxy", "via", "x-forwarded", "forwarded"))}
    assert not any(b"site.example" in head for head in proxy.heads)


@pytest.mark.parametrize("scheme", _SCHEMES)
async def test_a_proxy_never_learns_of_a_target_that_is_forbidden(local: TestWeb, scheme: str) -> None:
    names = {"inside.example": ["10.0.0.1"], "mixed.example": ["8.8.8.8", "127.0.0.1"]}
    async with TestProxy.start("one", scheme) as proxy, _client(names=names) as client:
        for url in (
            "http://inside.example/",
            "http://mixed.example/",
            f"http://127.0.0.1:{local.port}/",
            "http://[::1]/",
        ):
            found = await _ask(client, url, proxy.proxy)
            assert isinstance(found, Unreachable)
            assert found.code is Code.GUARD
    assert proxy.asked == []


async def test_the_address_of_the_proxy_opens_no_way_to_that_address(local: TestWeb) -> None:
    """The operator's proxy stands on loopback, which does not make loopback readable."""
    async with TestProxy.start("one") as proxy, _client() as client:
        found = await _ask(client, f"http://127.0.0.1:{proxy.proxy.port}/", proxy.proxy)
        direct = await client.ask(Ask(parse(f"http://127.0.0.1:{proxy.proxy.port}/"), 5.0, 1000))
    for each in (found, direct):
        assert isinstance(each, Unreachable)
        assert each.code is Code.GUARD


async def _proxy_failure(client: HttpWeb, url: str, via: Proxy) -> Unreachable:
    found = await _ask(client, url, via)
    assert isinstance(found, Unreachable), found
    assert (found.code, found.passing) == (Code.PROXY, True), found
    assert "127.0" not in found.detail
    return found


@pytest.mark.parametrize("scheme", _SCHEMES)
async def test_a_proxy_that_is_not_there_is_told(local: TestWeb, scheme: str) -> None:
    async with _client("127.0.0.0/8") as client:
        gone = Proxy("gone", "http" if scheme == "http" else "socks5", "127.0.0.1", 2)
        await _proxy_failure(client, local.url("shop"), gone)
        nameless = Proxy("nameless", "http", "no-such-proxy.example", 3128)
        await _proxy_failure(client, local.url("shop"), nameless)
    assert len(local.seen) == 0


@pytest.mark.parametrize(
    ("scheme", "answer"), [("http", 407), ("http", 403), ("http", 502), ("http", 503), ("http", 504), ("socks5", 1)]
)
async def test_what_the_proxy_says_is_not_taken_for_the_site(local: TestWeb, scheme: str, answer: int) -> None:
    async with TestProxy.start("one", scheme) as proxy, _client("127.0.0.0/8") as client:
        proxy.answer = answer
        failure = await _proxy_failure(client, local.url("shop"), proxy.proxy)
    assert failure.http_status == (answer if scheme == "http" else None)
    assert len(local.seen) == 0


@pytest.mark.parametrize("answer", [2, 7, 8, 9, 255])
async def test_every_other_error_of_socks_is_the_proxys(local: TestWeb, answer: int) -> None:
    async with TestProxy.start("one", "socks5") as proxy, _client("127.0.0.0/8") as client:
        proxy.answer = answer
        await _proxy_failure(client, local.url("shop"), proxy.proxy)


@pytest.mark.parametrize("answer", [3, 4, 5, 6])
async def test_a_target_that_cannot_be_reached_is_no_fault_of_the_proxy(local: TestWeb, answer: int) -> None:
    async with TestProxy.start("one", "socks5") as proxy, _client("127.0.0.0/8") as client:
        proxy.answer = answer
        found = await _ask(client, local.url("shop"), proxy.proxy)
    assert isinstance(found, Unreachable)
    assert found.code is Code.CONNECT


@pytest.mark.parametrize("scheme", _SCHEMES)
async def test_a_wrong_password_is_told(local: TestWeb, scheme: str) -> None:
    async with TestProxy.start("one", scheme, user="me", password="right") as proxy, _client("127.0.0.0/8") as client:
        for user, password in (("me", "wrong"), (None, None)):
            wrong = Proxy("one", proxy.proxy.scheme, "127.0.0.1", proxy.proxy.port, user=user, password=password)
            failure = await _proxy_failure(client, local.url("shop"), wrong)
            assert "wrong" not in failure.detail
    assert len(local.seen) == 0


@pytest.mark.parametrize("scheme", _SCHEMES)
async def test_a_proxy_that_hangs_leaves_time_for_another(local: TestWeb, scheme: str) -> None:
    async with TestProxy.start("one", scheme) as proxy, _client("127.0.0.0/8") as client:
        proxy.hangs = True
        found = await _ask(client, local.url("shop"), proxy.proxy, timeout=0.4)
    assert isinstance(found, Unreachable)
    assert found.code is Code.PROXY


@pytest.mark.parametrize("scheme", _SCHEMES)
@pytest.mark.parametrize(
    "noise",
    [
        *(b"", b"\x00", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 2", b"HTTP/1.1 abc\r\n\r\n", b"\x04\x00"),
        *(b"\x05\x00\x05\x00\x00\x09" * 9, b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20_000),
        b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nforged",
    ],
)
async def test_a_proxy_that_talks_nonsense_is_told(local: TestWeb, scheme: str, noise: bytes) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(3)
        writer.write(noise)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    async with server, _client("127.0.0.0/8") as client:
        port = server.sockets[0].getsockname()[1]
        via = Proxy("odd", "http" if scheme == "http" else "socks5", "127.0.0.1", port)
        await _proxy_failure(client, local.url("shop"), via)


@pytest.mark.parametrize("scheme", _SCHEMES)
@pytest.mark.parametrize("status", [403, 407, 429, 502, 503])
async def test_what_the_site_says_is_not_taken_for_the_proxy(local: TestWeb, scheme: str, status: int) -> None:
    async with TestProxy.start("one", scheme) as proxy, _client("127.0.0.0/8") as client:
        found = await _ask(client, local.url("trouble", f"/status/{status}"), proxy.proxy)
    assert isinstance(found, Reply)
    assert (found.status, found.egress) == (status, "one")


async def test_a_connection_of_one_egress_is_never_used_by_another(local: TestWeb) -> None:
    async with (
        TestProxy.start("one") as one,
        TestProxy.start("two", "socks5") as two,
        _client("127.0.0.0/8") as client,
    ):
        for _ in range(3):
            for via in (one.proxy, two.proxy, None):
                found = await client.ask(Ask(parse(local.url("shop")), 5.0, 1_000_000, via=via))
                assert isinstance(found, Reply)
                assert found.egress == (via.name if via else "direct")
    assert (len(one.asked), len(two.asked)) == (1, 1)


async def test_a_secret_is_not_shown() -> None:
    proxy = Proxy("one", "http", "proxy.example", 3128, user="me-and-my-account", password="hunter22")
    assert "hunter22" not in repr(proxy)
    assert "me-and-my-account" not in repr(Ask(parse("http://example.org/"), 1.0, 1, via=proxy))


async def test_a_site_that_breaks_off_through_a_proxy_is_the_sites_fault() -> None:
    async def cut(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()
        writer.close()

    async with RawSite.start(cut) as site, TestProxy.start("one") as proxy, _client("127.0.0.0/8") as client:
        found = await _ask(client, site.url(), proxy.proxy)
    assert isinstance(found, Unreachable)
    assert found.code is Code.CONNECT
