"""What is too much, too long or too slow is broken off, each with its code."""

import asyncio
import json
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import pytest
from raw_site import RawSite

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Limits
from emissary.adapters.http.intake import Body
from emissary.model.pages import Code, Reply, Unreachable
from emissary.ports.web import Ask
from emissary.reading.guard import Guard
from emissary.reading.urls import parse
from emissary.testing.web import TestWeb, TestWebProcess
from emissary.testing.web.packing import pack

pytestmark = pytest.mark.anyio

_MIB = 1024 * 1024


def _client(limits: Limits = Limits()) -> HttpWeb:  # noqa: B008 - a value
    present = {"User-Agent": "Emissary/0 (+https://bot.example/)"}
    return HttpWeb(permits=Guard(["127.0.0.0/8"]).permits, present=present, clock=SystemClock(), limits=limits)


@pytest.fixture
async def local() -> AsyncIterator[TestWeb]:
    async with TestWeb.start() as web:
        yield web


async def _failure(client: HttpWeb, url: str, *, timeout: float = 5.0, max_bytes: int = 4 * _MIB) -> Unreachable:  # noqa: ASYNC109 - the ask's own
    found = await client.ask(Ask(parse(url), timeout, max_bytes))
    assert isinstance(found, Unreachable), found
    return found


def _answer(body: bytes, *fields: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


# Heads


async def test_a_head_within_the_bounds_is_read() -> None:
    fields = [f"X-Field-{n}: {'v' * 600}" for n in range(98)]
    async with RawSite.start(_answer(b"fine", *fields)) as site, _client() as client:
        found = await client.ask(Ask(parse(site.url()), 5.0, _MIB))
    assert isinstance(found, Reply)
    assert len(found.headers) == 99


@pytest.mark.parametrize(
    "fields",
    [
        [f"X-Field-{n}: v" for n in range(150)],
        ["X-Large: " + "v" * 70_000],
        [f"X-Field-{n}: {'v' * 2000}" for n in range(60)],
    ],
    ids=["too many fields", "one field too large", "too large in all"],
)
async def test_a_head_beyond_the_bounds_is_refused(fields: list[str]) -> None:
    async with RawSite.start(_answer(b"fine", *fields)) as site, _client() as client:
        assert (await _failure(client, site.url())).code is Code.BAD_RESPONSE


async def test_a_head_without_end_is_broken_off() -> None:
    async def ramble(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for n in range(100_000):
            writer.write(b"X-%d: %b\r\n" % (n, b"v" * 1000))
            await writer.drain()

    async with RawSite.start(ramble) as site, _client() as client:
        assert (await _failure(client, site.url())).code is Code.BAD_RESPONSE


# Sizes


async def test_more_than_is_taken_from_the_wire_is_refused(local: TestWeb) -> None:
    async with _client(Limits(wire_bytes=_MIB)) as client:
        failure = await _failure(client, local.url("trouble", "/huge?mib=8"), max_bytes=64 * _MIB)
    assert (failure.code, failure.passing) == (Code.TOO_LARGE, False)


async def test_a_length_that_is_too_large_is_believed() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    async with RawSite.start(head) as site, _client() as client:
        assert (await _failure(client, site.url())).code is Code.TOO_LARGE


async def test_a_page_of_exactly_the_limit_is_taken() -> None:
    for packing in ("", "gzip", "br", "zstd", "deflate"):
        plain = bytes(range(256)) * 40
        body = pack(packing, plain) if packing else plain
        fields = [f"Content-Encoding: {packing}"] if packing else []
        async with RawSite.start(_answer(body, *fields)) as site, _client() as client:
            found = await client.ask(Ask(parse(site.url()), 5.0, len(plain)))
            assert isinstance(found, Reply), packing
            assert found.body == plain
            assert (await _failure(client, site.url(), max_bytes=len(plain) - 1)).code is Code.TOO_LARGE


def test_a_page_in_crumbs_takes_no_more_memory_than_in_one_piece() -> None:
    tracemalloc.start()
    try:
        body = Body(_MIB, Limits(), 0.0)
        for n in range(65_536):
            body.add(n.to_bytes(2, "big"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(body.whole()[1]) == 2 * 65_536
    assert peak < _MIB / 2


async def test_a_small_page_may_be_nothing_but_spaces() -> None:
    body = pack("gzip", b" " * 900_000)
    assert len(body) * 200 < 900_000
    async with RawSite.start(_answer(body, "Content-Encoding: gzip")) as site, _client() as client:
        found = await client.ask(Ask(parse(site.url()), 5.0, _MIB))
    assert isinstance(found, Reply)
    assert len(found.body) == 900_000


async def test_a_page_that_unpacks_into_hundreds_of_times_its_size_is_refused() -> None:
    body = pack("gzip", b" " * 3 * _MIB)
    async with RawSite.start(_answer(body, "Content-Encoding: gzip")) as site, _client() as client:
        failure = await _failure(client, site.url(), max_bytes=64 * _MIB)
    assert failure.code is Code.TOO_LARGE
    assert "200 times" in failure.detail


async def test_a_bomb_within_a_bomb_is_refused() -> None:
    body = zlib.compress(zlib.compress(bytes(64 * _MIB), 9), 9)
    async with RawSite.start(_answer(body, "Content-Encoding: deflate, deflate")) as site, _client() as client:
        assert (await _failure(client, site.url(), max_bytes=64 * _MIB)).code is Code.TOO_LARGE


@pytest.mark.parametrize("encodings", ["gzip, gzip, gzip, gzip", "compress", "gzip, evil"])
async def test_an_encoding_that_we_did_not_ask_for_is_a_bad_answer(encodings: str) -> None:
    async with RawSite.start(_answer(b"abc", f"Content-Encoding: {encodings}")) as site, _client() as client:
        assert (await _failure(client, site.url())).code is Code.BAD_RESPONSE


_BOMB = """
import asyncio, json, re, sys
from pathlib import Path
from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Limits
from emissary.ports.web import Ask
from emissary.reading.guard import Guard
from emissary.reading.urls import parse

def memory(name):
    return int(re.search(name + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024

async def main(plain, bomb, ratio):
    limits = Limits(ratio=int(ratio))
    permits = Guard(["127.0.0.0/8"]).permits
    async with HttpWeb(permits=permits, present={}, clock=SystemClock(), limits=limits) as web:
        await web.ask(Ask(parse(plain), 10.0, 64 << 20))
        before = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        found = await web.ask(Ask(parse(bomb), 60.0, 24 << 20))
        print(json.dumps({"code": str(found.code), "more": memory("VmHWM") - before}))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("ratio", [200, 1_000_000], ids=["stopped by its ratio", "stopped by its size"])
def test_a_bomb_of_a_gibibyte_takes_no_memory(ratio: int) -> None:
    with TestWebProcess() as web:
        for coding in ("gzip", "deflate", "br", "zstd"):
            urls = [web.url("trouble", f"/encoded/{coding}"), web.url("trouble", f"/bomb/{coding}?mib=1024")]
            command = [sys.executable, "-c", _BOMB, *urls, str(ratio)]
            told = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
            assert told["code"] == "too_large", coding
            assert told["more"] <= 64, (coding, told)


# Times


async def _drip(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(200):
        writer.write(b"x")
        await writer.drain()
        await SystemClock().sleep(0.02)


async def test_a_slow_drip_is_cut_off_long_before_the_time_is_up() -> None:
    limits = Limits(rate_seconds=0.3, least_rate=100.0)
    began = asyncio.get_running_loop().time()
    async with RawSite.start(_drip) as site, _client(limits) as client:
        failure = await _failure(client, site.url(), timeout=30.0)
    assert (failure.code, failure.passing) == (Code.TIMEOUT, True)
    assert "bytes a second" in failure.detail
    assert asyncio.get_running_loop().time() - began < 2


async def test_a_page_that_comes_slowly_but_steadily_is_taken() -> None:
    async def steady(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n")
        for _ in range(20):
            writer.write(b"x" * 1000)
            await writer.drain()
            await SystemClock().sleep(0.03)

    async with RawSite.start(steady) as site, _client(Limits(rate_seconds=0.1, silence_seconds=0.5)) as client:
        found = await client.ask(Ask(parse(site.url()), 10.0, _MIB))
    assert isinstance(found, Reply)
    assert len(found.body) == 20_000


async def test_silence_in_the_middle_of_a_page_ends_it() -> None:
    async def stop(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")

    began = asyncio.get_running_loop().time()
    async with RawSite.start(stop) as site, _client(Limits(silence_seconds=0.2)) as client:
        assert (await _failure(client, site.url(), timeout=30.0)).code is Code.TIMEOUT
    assert asyncio.get_running_loop().time() - began < 2


async def test_a_site_may_think_before_it_answers() -> None:
    async def think(writer: asyncio.StreamWriter) -> None:
        await SystemClock().sleep(0.4)
        writer.write(_answer(b"at last"))

    async with RawSite.start(think) as site, _client(Limits(silence_seconds=0.1, rate_seconds=0.1)) as client:
        found = await client.ask(Ask(parse(site.url()), 10.0, _MIB))
    assert isinstance(found, Reply)


async def test_the_time_of_an_exchange_adds_up(local: TestWeb) -> None:
    """Each drop comes in good time; all of them together do not."""
    began = asyncio.get_running_loop().time()
    async with _client() as client:
        failure = await _failure(client, local.url("trouble", "/drip?seconds=10"), timeout=0.5)
    assert failure.code is Code.TIMEOUT
    assert asyncio.get_running_loop().time() - began < 1.5


async def test_what_was_broken_off_is_not_taken_for_the_next_answer(local: TestWeb) -> None:
    async with _client(Limits(wire_bytes=_MIB)) as client:
        for _ in range(3):
            assert (await _failure(client, local.url("trouble", "/huge?mib=8"), max_bytes=64 * _MIB)).code
            found = await client.ask(Ask(parse(local.url("trouble", "/headers")), 5.0, _MIB))
            assert isinstance(found, Reply)
            assert found.body.startswith(b"{")
