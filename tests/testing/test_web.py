"""The local web as a server: its addresses, its connections, its log and its command."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from web_visits import fetch, visit

from emissary.testing.web import TestWeb, TestWebProcess
from emissary.testing.web.sites import NAMES

# The server


def test_every_host_listens_on_loopback_and_nowhere_else() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        assert len(set(web.addresses.every)) == len(NAMES) + 20
        assert all(address.startswith("127.") for address in web.addresses.every)
        listening = addresses_listening_on(web.port)
        assert len(listening) == len(NAMES) + 20
        assert all(address.endswith("7F") for address in listening)

    visit(told, hosts=20)


def addresses_listening_on(port: int) -> list[str]:
    """As the kernel writes them: hexadecimal, the lowest byte first."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    places = [row[1].split(":") for row in rows if row[3] == "0A"]
    return [address for address, each in places if int(each, 16) == port]


def test_an_address_that_was_not_planned_is_refused() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        with pytest.raises(aiohttp.ClientConnectorError):
            await fetch(client, f"http://127.0.3.1:{web.port}/")
        with pytest.raises(IndexError):
            web.host_url(3)

    visit(told, hosts=2)


def test_a_port_that_is_taken_is_an_error_and_leaves_no_socket_behind() -> None:
    with socket.create_server(("127.0.1.2", 0)) as taken, pytest.raises(OSError, match="in use"):
        visit(nothing, hosts=2, port=taken.getsockname()[1])


async def nothing(web: TestWeb, client: aiohttp.ClientSession) -> None:
    """Only start and stop."""


def test_every_route_of_every_site_answers() -> None:
    places = {
        "n": "2",
        "code": "301",
        "key": "k",
        "name": "1-0",
        "coding": "gzip",
        "slug": "x-1",
        "site": "shop",
        "k": "1",
    }
    places |= {"topic": "terms", "rest*": "a/b", "path*": "product/1", "how": "meta", "directive": "no-store"}
    broken = {"/cut?framing=", "/reset", "/hang", "/bigheaders?kib="}

    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for site in [*web.sites.values(), web.numbered]:
            for route in site.routes:
                if route.path in broken or (site.name, route.path) == ("slowrobots", "/robots.txt"):
                    continue
                path = route.path.partition("?")[0]
                for name, value in (places | ({"name": "utf-8"} if "charset" in path else {})).items():
                    path = path.replace("{" + name + "}", value)
                base = web.host_url(1, "") if site is web.numbered else web.url(site.name, "")
                query = "?mib=1&seconds=0"
                async with client.request(route.methods[0], base + path + query, allow_redirects=False) as answer:
                    await answer.read()
                    assert answer.status != 404 or site.name == "norobots", (site.name, path)

    visit(told)


def test_a_thousand_requests_at_fifty_at_a_time_all_succeed_on_kept_connections() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        numbers = iter(range(1000))

        async def worker() -> None:
            for k in numbers:
                status, _, body = await fetch(client, web.host_url(1 + k % 4, f"/page/{k}"))
                assert status == 200
                assert 20_000 <= len(body) < 22_000

        await asyncio.gather(*(worker() for _ in range(50)))
        hosts = web.hosts[:4]
        assert [web.seen.requests(host) for host in hosts] == [250] * 4
        assert sum(web.seen.connections(host) for host in hosts) <= 200

    visit(told)


def test_pipelined_requests_are_answered_in_order() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection(web.address("trouble"), web.port)
        asked = ["/slow?seconds=0.2", *["/json"] * 200, "/status/410"]
        for path in asked:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        writer.write(b"GET /empty HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answers = (await reader.read()).split(b"HTTP/1.1 ")[1:]
        writer.close()
        await writer.wait_closed()
        assert [answer[:3] for answer in answers] == [b"200"] * 201 + [b"410", b"200"]
        assert b"Low tide" in answers[0]
        assert b"Connection: close" in answers[-1]

    visit(told)


def test_a_request_in_small_pieces_is_understood() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection(web.address("trouble"), web.port)
        for byte in b"GET /json?a=b HTTP/1.0\r\nHost: x\r\n\r\n":
            writer.write(bytes([byte]))
            await writer.drain()
        assert b"Saltmere" in await reader.read()
        writer.close()
        await writer.wait_closed()
        assert web.seen.paths("trouble") == ["/json?a=b"]

    visit(told)


def test_an_old_client_gets_a_stream_that_ends_with_the_connection() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection(web.address("trouble"), web.port)
        writer.write(b"GET /huge?mib=2 HTTP/1.0\r\nHost: x\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()
        assert b"chunked" not in head
        assert len(body) == 2 * 1024 * 1024

    visit(told)


def test_nonsense_is_answered_with_400_and_a_closed_connection() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection(web.address("shop"), web.port)
        writer.write(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
        writer.close()
        await writer.wait_closed()

    visit(told)


def test_head_has_the_headers_of_get_and_no_body() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for url in (web.url("shop", "/product/1"), web.host_url(1, "/page/1"), web.url("trouble", "/json")):
            _, headers, body = await fetch(client, url)
            async with client.head(url) as answer:
                assert await answer.read() == b""
                assert int(answer.headers["Content-Length"]) == len(body)
                assert answer.headers["Content-Type"] == headers["content-type"]

    visit(told)


def test_other_methods_are_refused_with_405() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for url in (web.url("shop", "/product/1"), web.host_url(1, "/page/1")):
            async with client.post(url, data=b"x") as answer:
                assert answer.status == 405
                assert answer.headers["Allow"] == "GET, HEAD"

    visit(told)


def test_a_client_that_leaves_makes_no_noise(caplog: pytest.LogCaptureFixture) -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for path in ("/huge?mib=500", "/drip?seconds=20", "/hang", "/slow?seconds=20", "/bomb/gzip?mib=5000"):
            reader, writer = await asyncio.open_connection(web.address("trouble"), web.port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            await writer.drain()
            if path.startswith(("/huge", "/drip", "/bomb")):
                await reader.read(100)
            writer.transport.abort()
        status, _, _ = await fetch(client, web.url("trouble"))
        assert status == 200
        async with asyncio.timeout(5):
            while web.seen.host("trouble").now:
                await fetch(client, web.url("trouble"))

    visit(told)
    assert caplog.records == []


def test_clients_that_are_still_there_do_not_keep_the_server_from_closing() -> None:
    async def run() -> None:
        async with TestWeb.start() as web:
            reader, writer = await asyncio.open_connection(web.address("trouble"), web.port)
            writer.write(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
            async with asyncio.timeout(5):
                while not len(web.seen):
                    await asyncio.wait([asyncio.ensure_future(reader.read(1))], timeout=0.01)
        writer.close()

    asyncio.run(run())


# The log


def test_the_log_keeps_requests_with_their_headers_per_host() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        await fetch(client, web.url("shop", "/product/1?a=b"), headers={"X-Run": "7"})
        await fetch(client, web.url("news"))
        (one,) = web.seen.of("shop")
        assert (one.host, one.method, one.path) == (web.address("shop"), "GET", "/product/1?a=b")
        assert one.headers["x-run"] == "7"
        assert web.seen.paths(web.address("news")) == ["/"]
        assert [exchange.host for exchange in web.seen] == ["127.0.0.1", "127.0.0.2"]
        web.seen.clear()
        assert (len(web.seen), web.seen.requests("shop")) == (0, 0)

    visit(told)


def test_the_log_sees_the_gaps_between_requests() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for _ in range(3):
            await fetch(client, web.host_url(1, "/small"))
            await fetch(client, web.url("trouble", "/slow?seconds=0.15"))
        gaps = web.seen.gaps(web.hosts[0])
        assert len(gaps) == 2
        assert all(0.14 < gap < 1.0 for gap in gaps)
        assert web.seen.host(web.hosts[0]).smallest_gap == min(gaps)

    visit(told)


def test_the_log_is_bounded_and_its_counts_are_not() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for k in range(25):
            await fetch(client, web.host_url(1, f"/page/{k}"))
        assert len(web.seen) == 10
        assert web.seen.paths(web.hosts[0])[-1] == "/page/24"
        assert web.seen.requests(web.hosts[0]) == 25

    visit(told, remember=10)


def test_the_log_knows_how_many_requests_a_host_had_at_once() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        await asyncio.gather(*(fetch(client, web.host_url(1, "/small")) for _ in range(6)))
        await fetch(client, web.host_url(2, "/small"))
        await fetch(client, web.host_url(2, "/small"))
        assert web.seen.max_concurrency(web.hosts[0]) == 6
        assert web.seen.max_concurrency(web.hosts[1]) == 1

    visit(told, latency=timedelta(milliseconds=200))


# Another process


def test_it_runs_in_a_process_of_its_own_and_tells_what_it_saw() -> None:
    async def ask(web: TestWebProcess) -> None:
        async with aiohttp.ClientSession() as client:
            for path in ("/small", "/page/1"):
                assert (await fetch(client, web.host_url(3, path)))[0] == 200
            assert (await fetch(client, web.url("shop")))[0] == 200
            with pytest.raises((aiohttp.ClientOSError, ConnectionResetError)):
                await fetch(client, web.url("trouble", "/reset"))

    with TestWebProcess(hosts=3, latency=timedelta(milliseconds=5)) as web:
        asyncio.run(ask(web))
        told = web.seen()[web.hosts[2]]
        assert (told["requests"], told["maxConcurrency"]) == (2, 1)
        assert told["smallestGap"] >= 0.004
        web.clear()
        assert web.hosts[2] not in web.seen()
        assert web.networks == ("127.0.0.0/8",)
        port = web.port
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_prints_one_line_of_json_and_serves_until_it_is_told_to_stop(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "emissary.testing.web", "--json", "--hosts", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["sites"]["shop"] == f"http://127.0.0.1:{told['port']}"
        assert told["hosts"] == [f"http://127.0.1.{n}:{told['port']}" for n in (1, 2)]
        process.send_signal(number)
        assert process.wait(timeout=10) == 0
        assert process.stdout.read() == ""


def test_a_server_whose_parent_is_gone_stops_by_itself() -> None:
    command = [sys.executable, "-m", "emissary.testing.web", "--json", "--until-stdin-ends"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        process.stdin.close()
        assert process.wait(timeout=10) == 0


def test_the_command_shows_people_what_is_where() -> None:
    command = [sys.executable, "-m", "emissary.testing.web", "--until-stdin-ends"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=True)
    for words in ("shop", "/product/{n}", "norobots", "8 numbered"):
        assert words in done.stdout
