"""Where an answer ends must be beyond doubt: what leaves it in doubt is refused, and no connection outlives a doubt."""

import asyncio
from typing import Any

import pytest
from asking import BOTH_LOOPS, failure_of, reading_client, reply_of, wait_until
from raw_site import RawSite

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import Limits
from emissary.model.pages import Code

pytestmark = pytest.mark.anyio

_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_FINE = _OK + b"Content-Length: 4\r\n\r\nfine"


@pytest.fixture(params=BOTH_LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


_IN_DOUBT = {
    "both length and chunks": _OK + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
    "both chunks and length": _OK + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
    "two lengths that differ": _OK + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nfine!",
    "two lengths in one": _OK + b"Content-Length: 4, 5\r\n\r\nfine!",
    "a negative length": _OK + b"Content-Length: -4\r\n\r\nfine",
    "a length with a sign": _OK + b"Content-Length: +4\r\n\r\nfine",
    "a length in hexadecimal": _OK + b"Content-Length: 0x4\r\n\r\nfine",
    "a length without a number": _OK + b"Content-Length: \r\n\r\nfine",
    "a length beyond all numbers": _OK + b"Content-Length: 99999999999999999999\r\n\r\nfine",
    "chunks within something else": _OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
    "something else than chunks": _OK + b"Transfer-Encoding: gzip\r\n\r\nfine",
    "chunks that are not the last": _OK + b"Transfer-Encoding: chunked, identity\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
    "chunks twice": _OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
    "nearly chunks": _OK + b"Transfer-Encoding: xchunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
    "chunks before there were any": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
    "a field that goes on": _OK + b"X-Long: a\r\n b\r\nContent-Length: 4\r\n\r\nfine",
    "a field before the first": _OK + b" X-Odd: a\r\nContent-Length: 4\r\n\r\nfine",
    "a bare line feed in the head": _OK + b"X-Odd: a\nContent-Length: 4\r\n\r\nfine",
    "bare line feeds all over": b"HTTP/1.1 200 OK\nContent-Length: 4\n\nfine",
    "a bare carriage return": _OK + b"X-Odd: a\rb\r\nContent-Length: 4\r\n\r\nfine",
    "a zero byte": _OK + b"X-Odd: a\0b\r\nContent-Length: 4\r\n\r\nfine",
    "a space before the colon": _OK + b"Content-Length : 4\r\n\r\nfine",
    "a space in a name": _OK + b"X Odd: 1\r\nContent-Length: 4\r\n\r\nfine",
    "a field without a name": _OK + b": 1\r\nContent-Length: 4\r\n\r\nfine",
    "a field without a colon": _OK + b"X-Odd\r\nContent-Length: 4\r\n\r\nfine",
    "a chunk of negative size": _CHUNKED + b"-4\r\nfine\r\n0\r\n\r\n",
    "a chunk with 0x": _CHUNKED + b"0x4\r\nfine\r\n0\r\n\r\n",
    "a chunk without a size": _CHUNKED + b"\r\nfine\r\n0\r\n\r\n",
    "a chunk beyond all numbers": _CHUNKED + b"fffffffffffffffff\r\nfine\r\n0\r\n\r\n",
    "a chunk longer than it says": _CHUNKED + b"3\r\nfine\r\n0\r\n\r\n",
    "chunks with bare line feeds": _CHUNKED + b"4\nfine\n0\n\n",
    "an empty line first": b"\r\n" + _FINE,
    "two empty lines first": b"\r\n\r\n" + _FINE,
    "another protocol": b"SSH-2.0-OpenSSH_9.0\r\n",
    "another version": b"HTTP/2.0 200 OK\r\nContent-Length: 4\r\n\r\nfine",
    "a version of old": b"HTTP/0.9 200 OK\r\nContent-Length: 4\r\n\r\nfine",
    "a sister of HTTP": b"RTSP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine",
    "a status of two digits": b"HTTP/1.1 20 OK\r\nContent-Length: 4\r\n\r\nfine",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\nContent-Length: 4\r\n\r\nfine",
    "a status below all": b"HTTP/1.1 099 OK\r\nContent-Length: 4\r\n\r\nfine",
    "a change of protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    "a change without a name": b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + _FINE,
    "an empty line between two": b"HTTP/1.1 100 Continue\r\n\r\n\r\n" + _FINE,
}


@pytest.mark.parametrize("said", _IN_DOUBT.values(), ids=_IN_DOUBT.keys())
async def test_what_leaves_its_frame_in_doubt_is_refused(said: bytes) -> None:
    async with RawSite.start(said) as site, reading_client() as client:
        for _ in range(2):
            failure = await failure_of(client, site.url())
            assert failure.code is Code.BAD_RESPONSE
            assert not failure.stale
    assert site.connections == 2  # the first was not used again


_BEYOND_DOUBT = {
    "a length": _FINE,
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nfine",
    "spaces around a length": _OK + b"Content-Length: \t 4 \t \r\n\r\nfine",
    "chunks": _CHUNKED + b"1\r\nf\r\n003\r\nine\r\n0\r\n\r\n",
    "chunks in capitals": _OK + b"TRANSFER-ENCODING: Chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
    "a padded chunk, as old servers send it": _CHUNKED + b"4   \r\nfine\r\n0\r\n\r\n",
    "a chunk that says more": _CHUNKED + b'4;name=value;other="quoted"\r\nfine\r\n0\r\n\r\n',
    "trailers": _CHUNKED + b"4\r\nfine\r\n0\r\nX-Trailer: late\r\nSet-Cookie: late=1\r\n\r\n",
    "a word before the answer": b"HTTP/1.1 100 Continue\r\n\r\n" + _FINE,
    "hints before the answer": b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nX-Early: 1\r\n\r\n" * 3 + _FINE,
    "an offer to upgrade": _OK + b"Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 4\r\n\r\nfine",
}


@pytest.mark.parametrize("said", _BEYOND_DOUBT.values(), ids=_BEYOND_DOUBT.keys())
async def test_what_is_beyond_doubt_is_read_and_its_connection_used_again(said: bytes) -> None:
    async with RawSite.start(said) as site, reading_client() as client:
        for _ in range(3):
            reply = await reply_of(client, site.url())
            assert (reply.status, reply.body) == (200, b"fine")
            assert not {"x-trailer", "set-cookie", "x-early", "link"} & set(reply.headers)
            assert reply.response_head.startswith(b"HTTP/1.1 200")
    assert site.connections == 1


@pytest.mark.parametrize("status", [204, 304])
@pytest.mark.parametrize("field", [b"", b"Content-Length: 400\r\n", b"Content-Encoding: gzip\r\n"])
async def test_an_answer_without_a_body_has_none(status: int, field: bytes) -> None:
    async with RawSite.start(b"HTTP/1.1 %d -\r\n%b\r\n" % (status, field)) as site, reading_client() as client:
        for _ in range(2):
            reply = await reply_of(client, site.url(), max_bytes=10)
            assert (reply.status, reply.body, reply.wire_bytes) == (status, b"", 0)
    assert site.connections == 1


# Close: where it ends an answer, and where it cuts one off


def _then_close(said: bytes) -> Any:
    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        writer.close()

    return say


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("body", [b"", b"fine", b"fine" * 100_000], ids=len)
async def test_an_answer_that_tells_no_length_ends_with_its_connection(version: bytes, body: bytes) -> None:
    said = b"HTTP/%b 200 OK\r\nX-Odd: 1\r\n\r\n%b" % (version, body)
    async with RawSite.start(_then_close(said)) as site, reading_client() as client:
        for _ in range(2):
            reply = await reply_of(client, site.url())
            assert (reply.body, reply.http_version) == (body, version.decode())
    assert site.connections == 2


_CUT_OFF = {
    "before the answer": b"",
    "in the status": b"HTTP/1.1 2",
    "in the head": _OK + b"Content-Le",
    "after a word before the answer": b"HTTP/1.1 100 Continue\r\n\r\n",
    "before the body": _OK + b"Content-Length: 4\r\n\r\n",
    "in the body": _OK + b"Content-Length: 4\r\n\r\nfin",
    "before the first chunk": _CHUNKED,
    "in a chunk": _CHUNKED + b"4\r\nfin",
    "between chunks": _CHUNKED + b"4\r\nfine\r\n",
    "before the end of the last chunk": _CHUNKED + b"4\r\nfine\r\n0\r\n",
    "in the trailers": _CHUNKED + b"4\r\nfine\r\n0\r\nX-Trailer: la",
}


@pytest.mark.parametrize("said", _CUT_OFF.values(), ids=_CUT_OFF.keys())
async def test_an_answer_that_is_cut_off_is_none(said: bytes) -> None:
    async with RawSite.start(_then_close(said)) as site, reading_client() as client:
        failure = await failure_of(client, site.url())
    assert (failure.code, failure.passing, failure.stale) == (Code.CONNECT, True, False)
    assert site.connections == 1


@pytest.mark.parametrize("length", [b"", b"Content-Length: 4\r\n"])
async def test_a_packed_answer_that_is_cut_off_is_none(length: bytes) -> None:
    said = _OK + b"Content-Encoding: gzip\r\n%b\r\n\x1f\x8b\x08\x00" % length
    async with RawSite.start(_then_close(said)) as site, reading_client() as client:
        failure = await failure_of(client, site.url())
    assert failure.code is Code.BAD_RESPONSE
    assert "ends too early" in failure.detail


@pytest.mark.parametrize(
    "said",
    [
        _OK + b"Connection: close\r\nContent-Length: 4\r\n\r\nfine",
        _OK + b"Connection: Close, x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine",
    ],
)
async def test_a_site_that_will_close_is_not_asked_over_the_same_connection(said: bytes) -> None:
    async with RawSite.start(said) as site, reading_client() as client:
        for _ in range(2):
            assert (await reply_of(client, site.url())).body == b"fine"
        await wait_until(lambda: site.open == 0)
    assert site.connections == 2


async def test_a_site_of_old_may_want_its_connection_kept() -> None:
    said = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nfine"
    async with RawSite.start(said) as site, reading_client() as client:
        for _ in range(2):
            assert (await reply_of(client, site.url())).body == b"fine"
    assert site.connections == 1


async def test_an_answer_of_which_only_the_start_was_wanted_ends_its_connection() -> None:
    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(_OK + b"Content-Length: 9000\r\n\r\n" + b"x" * 1000)  # the rest is yet to come

    async with RawSite.start(say) as site, reading_client() as client:
        for _ in range(2):
            assert (await reply_of(client, site.url(), max_bytes=10, truncate=True)).body == b"x" * 10
        await wait_until(lambda: site.open == 0)
    assert site.connections == 2


# More than was asked for


@pytest.mark.parametrize("answer", [_FINE, _CHUNKED + b"4\r\nfine\r\n0\r\n\r\n"], ids=["length", "chunks"])
@pytest.mark.parametrize(
    "more", [b"x", b"garbage\r\n\r\n", b"HTTP/1.1 2", _OK + b"Content-Length: 6\r\n\r\nforged", _CHUNKED]
)
async def test_what_follows_an_answer_is_nobodys(answer: bytes, more: bytes) -> None:
    async with RawSite.start(answer + more) as site, reading_client() as client:
        for _ in range(3):
            assert (await reply_of(client, site.url())).body == b"fine"
        await wait_until(lambda: site.open == 0)
    assert site.connections == 3


async def test_a_body_where_there_can_be_none_is_nobodys() -> None:
    async with RawSite.start(b"HTTP/1.1 204 -\r\nContent-Length: 4\r\n\r\nfine") as site, reading_client() as client:
        for _ in range(2):
            assert (await reply_of(client, site.url())).body == b""
    assert site.connections == 2


async def test_what_comes_when_nobody_asks_ends_the_connection() -> None:
    may_go_on = asyncio.Event()

    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(_FINE)
        await may_go_on.wait()
        writer.write(_OK + b"Content-Length: 6\r\n\r\nforged")

    async with RawSite.start(say) as site, reading_client() as client:
        assert (await reply_of(client, site.url())).body == b"fine"
        may_go_on.set()
        await wait_until(lambda: site.open == 0)
        assert (await reply_of(client, site.url())).body == b"fine"


async def _ramble(start: bytes, endless: bytes) -> None:
    """Say so, and that there is an end to listening."""

    async def ramble(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        for _ in range(100_000):
            writer.write(endless)
            await writer.drain()

    async with RawSite.start(ramble) as site, reading_client() as client:
        failure = await failure_of(client, site.url())
    assert (failure.code, failure.passing) == (Code.BAD_RESPONSE, False)


@pytest.mark.parametrize(
    "endless",
    [
        b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
async def test_words_before_the_answer_come_to_an_end(endless: bytes) -> None:
    await _ramble(b"", endless)


@pytest.mark.parametrize(
    ("start", "endless"),
    [
        (_CHUNKED + b"4\r\nfine\r\n0\r\n", b"X-Trailer: " + b"v" * 1000 + b"\r\n"),
        (_CHUNKED + b"4\r\nfine\r\n0\r\nX-Trailer: ", b"v" * 1000),
        (_CHUNKED + b"4;name=", b"v" * 1000),
        (_CHUNKED, b"1;" + b"v" * 1000 + b"\r\nx\r\n"),
        (_CHUNKED, b"0" * 1000),
    ],
    ids=["trailers", "one trailer", "one extension", "extensions", "zeros of a size"],
)
async def test_what_is_said_around_a_body_comes_to_an_end(start: bytes, endless: bytes) -> None:
    await _ramble(start, endless)


async def test_chunks_of_a_single_byte_are_chunks() -> None:
    said = _CHUNKED + b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n"
    async with RawSite.start(said) as site, reading_client(Limits(header_bytes=1000)) as client:
        assert (await reply_of(client, site.url())).body == b"x" * 50_000


async def test_a_drip_of_what_is_no_body_is_a_slow_drip() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(_CHUNKED + b"4\r\nfine\r\n4;")
        for _ in range(200):
            writer.write(b"v")
            await writer.drain()
            await SystemClock().sleep(0.02)

    async with RawSite.start(drip) as site, reading_client(Limits(rate_seconds=0.2)) as client:
        failure = await failure_of(client, site.url(), timeout=30.0)
    assert failure.code is Code.TIMEOUT
    assert "bytes a second" in failure.detail
