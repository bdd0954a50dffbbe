"""The troubled site of the local web fails in each of the promised ways."""

import asyncio
import codecs
import json
import tracemalloc
import zlib
from collections.abc import Callable
from datetime import UTC, datetime

import aiohttp
import brotli  # type: ignore[import-untyped]
import pytest
from web_visits import fetch, visit

from emissary.model import zstd
from emissary.testing.web import TestWeb


@pytest.mark.parametrize("code", [200, 204, 304, 401, 403, 404, 410, 451, 500, 503, 599])
def test_any_status_can_be_asked_for(code: int) -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for _ in range(2):  # the second on the same connection: nothing was left over on it
            status, headers, body = await fetch(client, web.url("trouble", f"/status/{code}"))
            assert status == code
            assert (body == b"") == (code in {204, 304})
            assert ("www-authenticate" in headers) == (code == 401)
        assert web.seen.connections("trouble") == 1

    visit(told)


def test_retry_after_comes_in_seconds_and_as_a_date() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        status, headers, _ = await fetch(client, web.url("trouble", "/429?after=7"))
        assert (status, headers["retry-after"]) == (429, "7")
        status, headers, _ = await fetch(client, web.url("trouble", "/503"))
        assert (status, headers["retry-after"]) == (503, "2")
        status, headers, _ = await fetch(client, web.url("trouble", "/429-date?after=90"))
        assert (status, headers["retry-after"]) == (429, "Tue, 03 Mar 2026 12:01:30 GMT")

    visit(told, now=lambda: datetime(2026, 3, 3, 12, 0, tzinfo=UTC))


def test_flaky_fails_so_often_for_each_key() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for key in ("a", "b"):
            got = [(await fetch(client, web.url("trouble", f"/flaky/{key}/2")))[0] for _ in range(4)]
            assert got == [503, 503, 200, 200]

    visit(told)


def test_slow_and_drip_take_the_time_they_were_asked_to_take() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        loop = asyncio.get_running_loop()
        for path in ("/slow?seconds=0.3", "/drip?seconds=0.3"):
            start = loop.time()
            _, headers, body = await fetch(client, web.url("trouble", path))
            assert 0.25 < loop.time() - start < 3
            assert len(body) == int(headers["content-length"])

    visit(told)


def test_broken_answers_are_broken() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for path in ("/cut", "/cut?framing=chunked"):
            with pytest.raises(aiohttp.ClientPayloadError):
                await fetch(client, web.url("trouble", path))
        with pytest.raises((aiohttp.ClientOSError, ConnectionResetError)):
            await fetch(client, web.url("trouble", "/reset"))
        with pytest.raises(TimeoutError):
            await fetch(client, web.url("trouble", "/hang"), timeout=aiohttp.ClientTimeout(total=0.2))
        with pytest.raises(aiohttp.ClientResponseError):
            await fetch(client, web.url("trouble", "/bigheaders"))
        status, headers, _ = await fetch(client, web.url("trouble", "/bigheaders?kib=2"))
        assert (status, len(headers["x-ballast"])) == (200, 2048)

    visit(told)


def test_huge_streams_without_a_length() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        async with client.get(web.url("trouble", "/huge?mib=20")) as answer:
            assert answer.content_length is None
            assert sum([len(piece) async for piece in answer.content.iter_any()]) == 20 * 1024 * 1024

    visit(told)


# Fresh each time: an unpacker can be used once.
UNPACK: dict[str, Callable[[], Callable[[bytes], bytes]]] = {
    "gzip": lambda: zlib.decompressobj(31).decompress,
    "deflate": lambda: zlib.decompressobj(15).decompress,
    "deflate-raw": lambda: zlib.decompressobj(-15).decompress,
    "br": lambda: brotli.Decompressor().process,
    "zstd": lambda: zstd.ZstdDecompressor().decompress,
}


@pytest.mark.parametrize("coding", list(UNPACK))
def test_a_page_can_be_had_packed(coding: str) -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        _, headers, body = await fetch(client, web.url("trouble", f"/encoded/{coding}"))
        assert headers["content-encoding"] == coding.removesuffix("-raw")
        page = UNPACK[coding]()(body)
        assert page.startswith(b"<!doctype html>")
        assert len(body) < len(page) / 2

    visit(told)


@pytest.mark.parametrize("coding", list(UNPACK))
def test_a_bomb_is_small_on_the_wire_and_in_the_servers_memory_and_large_when_unpacked(coding: str) -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        tracemalloc.start()
        try:
            _, headers, body = await fetch(client, web.url("trouble", f"/bomb/{coding}?mib=64"))
            assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
        finally:
            tracemalloc.stop()
        assert "content-length" not in headers
        assert len(body) < 1024 * 1024
        unpack = UNPACK[coding]()
        assert sum(len(unpack(body[start : start + 64])) for start in range(0, len(body), 64)) == 64 * 1024 * 1024

    visit(told)


@pytest.mark.parametrize(
    ("name", "word"),
    [("windows-1251", "Паром"), ("koi8-r", "Паром"), ("shift_jis", "切符"), ("euc-jp", "切符"), ("iso-8859-1", "Größe"),
     ("windows-1252", "12 €"), ("iso-8859-2", "Žluté"), ("utf-8", "12 €"), ("utf-16", "切符")],
)  # fmt: skip
def test_a_charset_is_declared_as_it_was_asked_for(name: str, word: str) -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        codec = "utf-16-le" if name == "utf-16" else name
        declarations = {
            "header": (f"text/html; charset={name}", False),
            "meta": ("text/html", True),
            "lie": (f"text/html; charset={'iso-8859-1' if name == 'utf-8' else 'utf-8'}", True),
            "none": ("text/html", False),
        }
        for declared, (kind, in_meta) in declarations.items():
            _, headers, body = await fetch(client, web.url("trouble", f"/charset/{name}?declared={declared}"))
            page = body.decode(codec)
            assert word in page
            assert headers["content-type"] == kind
            assert (f'<meta charset="{name}">' in page) == in_meta
        status, _, body = await fetch(client, web.url("trouble", f"/charset/{name}?declared=bom"))
        if name.startswith("utf-"):
            assert body.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE))
            assert word in body.decode("utf-8-sig" if name == "utf-8" else "utf-16")
        else:
            assert status == 404

    visit(told)


def test_content_that_is_not_a_page_says_what_it_is() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        expected = {
            "/badhtml": ("text/html", b"<html>"),
            "/empty": ("text/html", b""),
            "/binary": ("application/octet-stream", b"\x00\x01"),
            "/pdf": ("application/pdf", b"%PDF-1.4"),
            "/json": ("application/json; charset=utf-8", b"{"),
        }
        for path, (kind, start) in expected.items():
            status, headers, body = await fetch(client, web.url("trouble", path))
            assert (status, headers["content-type"], body[: len(start)]) == (200, kind, start)
        echoed = json.loads((await fetch(client, web.url("trouble", "/headers"), headers={"X-A": "b"}))[2])
        assert echoed["headers"]["x-a"] == "b"

    visit(told)
