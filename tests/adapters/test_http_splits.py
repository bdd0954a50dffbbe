"""However an answer is cut into pieces on its way, it is the same answer."""

import asyncio
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from asking import BOTH_LOOPS, reading_client, reply_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from raw_site import RawSite

from emissary.adapters.http.answer import Answer
from emissary.adapters.http.errors import BrokenOff
from emissary.adapters.http.limits import Limits
from emissary.ports.web import Ask
from emissary.reading.urls import parse
from emissary.testing.web.packing import pack

_LIMITS = Limits(header_bytes=2000, header_fields=12, wire_bytes=3000, ratio_from=2000)
_ASK = Ask(parse("http://example.org/"), 1.0, 2500)
_CUT = Ask(parse("http://example.org/"), 1.0, 50, truncate=True)


class _Outcome(NamedTuple):
    """An answer, and whether its connection could be used again. Where there is none, there is nothing to compare.

    Then only the reason could differ: what is wrong in two ways is refused for the one that is seen first.
    """

    parts: tuple[object, ...] = ()
    may_keep: bool = False


def _read(ask: Ask, pieces: list[bytes]) -> _Outcome:
    """What the client's own connection does, without one."""
    answer = Answer(ask, _LIMITS)
    try:
        for place, piece in enumerate(pieces):
            if answer.feed(bytearray(piece) + b"from an earlier answer\r\n\r\n", len(piece), 0.0):
                return _Outcome(_parts(answer), answer.may_keep and not any(pieces[place + 1 :]))
        return _Outcome(_parts(answer)) if answer.end() else _Outcome()
    except BrokenOff:
        return _Outcome()
    finally:
        answer.release()


def _parts(answer: Answer) -> tuple[object, ...]:
    assert answer.body is not None
    return answer.status, answer.headers, answer.head, answer.version, *answer.body.whole()


def _pieces(said: bytes, places: list[int]) -> list[bytes]:
    cuts = sorted({0, len(said), *(place % (len(said) + 1) for place in places)})
    return [said[begin:end] for begin, end in pairwise(cuts)]


_MORE = [b"", b"", b"x", b"HTTP/1.1 200 OK\r\n\r\nforged"]


@st.composite
def _answers(draw: st.DrawFn, more: list[bytes] = _MORE) -> bytes:
    """Answers of every kind of frame, some with more behind them."""
    early = draw(st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 -\r\nLink: <a>\r\n\r\n" * 2]))
    line = draw(st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 404", b"HTTP/1.1 204 -"]))
    names = st.sampled_from([b"Date", b"Vary", b"Set-Cookie", b"X-Odd", b"Connection"])
    values = st.sampled_from([b"", b"a", b" \t two words \t", b"caf\xc3\xa9", b"caf\xe9", b"close", b"v" * 200])
    fields = draw(st.lists(st.tuples(names, values), max_size=14))
    coding = draw(st.sampled_from(["", "gzip", "br", "zstd", "deflate"]))
    plain = draw(st.one_of(st.binary(max_size=300), st.integers(0, 4000).map(lambda size: b"tide " * (size // 5))))
    body = pack(coding, plain) if coding else plain
    told, framed = draw(_frames(body))
    head = b"\r\n".join([line, *(b"%b:%b" % field for field in fields), *_encoded(coding), *told, b"", b""])
    return early + head + framed + draw(st.sampled_from(more))


def _encoded(coding: str) -> list[bytes]:
    return [b"Content-Encoding: " + coding.encode()] if coding else []


@st.composite
def _frames(draw: st.DrawFn, body: bytes) -> tuple[list[bytes], bytes]:
    kind = draw(st.sampled_from(["length", "chunks", "close"]))
    if kind == "length":
        return [b"Content-Length: %d" % len(body)], body
    if kind == "close":
        return [], body
    chunks = _pieces(body, draw(st.lists(st.integers(0, 4000), max_size=5)))
    note = draw(st.sampled_from([b"", b"  ", b";a=b", b';a="b"']))
    trailers = draw(st.sampled_from([b"", b"X-Late: 1\r\n"]))
    framed = b"".join(b"%x%b\r\n%b\r\n" % (len(chunk), note, chunk) for chunk in chunks if chunk)
    return [b"Transfer-Encoding: chunked"], framed + b"0\r\n" + trailers + b"\r\n"


_PLACES = st.lists(st.integers(0, 6000), max_size=12)


@settings(max_examples=400, deadline=None)
@given(_answers(), _PLACES)
def test_any_split_gives_the_same_answer(said: bytes, places: list[int]) -> None:
    bytewise = [said[place : place + 1] for place in range(len(said))]
    assert _read(_ASK, _pieces(said, places)) == _read(_ASK, bytewise) == _read(_ASK, [said])


@settings(max_examples=400, deadline=None)
@given(_answers([b""]), _PLACES)
def test_any_split_gives_the_same_start_of_an_answer(said: bytes, places: list[int]) -> None:
    split, whole = (_read(_CUT, pieces).parts for pieces in (_pieces(said, places), [said]))
    # Of a packed one, more or less may have been taken from the wire by the time its start was there.
    assert (split[:4], split[5:]) == (whole[:4], whole[5:])


@settings(max_examples=400, deadline=None)
@given(_answers(), _PLACES, st.lists(st.tuples(st.integers(0, 6000), st.integers(0, 255)), min_size=1, max_size=3))
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine", [1], [(15, 0)])
def test_any_split_gives_the_same_answer_where_bytes_are_wrong(
    said: bytes, places: list[int], wrong: list[tuple[int, int]]
) -> None:
    bent = bytearray(said)
    for place, value in wrong:
        bent[place % len(bent)] = value
    assert _read(_ASK, _pieces(bytes(bent), places)).parts == _read(_ASK, [bytes(bent)]).parts


@pytest.mark.anyio
class TestOverTheWire:
    """The same, over a real connection."""

    @pytest.fixture(params=BOTH_LOOPS, ids=["asyncio", "uvloop"])
    def anyio_backend(self, request: pytest.FixtureRequest) -> Any:
        return request.param

    @pytest.mark.parametrize("size", [1, 2, 7, 64])
    async def test_an_answer_that_comes_in_drops_is_the_same(self, size: int) -> None:
        packed = pack("gzip", b"<p>the tide table</p>" * 50)
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in _pieces(packed, [10, 11, 40]))
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        said = b"HTTP/1.1 103 -\r\nLink: <a>\r\n\r\n" + head + chunks + b"0\r\nX-Late: 1\r\n\r\n"

        async def drop(writer: asyncio.StreamWriter) -> None:
            for place in range(0, len(said), size):
                writer.write(said[place : place + size])
                await writer.drain()

        async with RawSite.start(drop) as site, reading_client() as client:
            for _ in range(2):
                reply = await reply_of(client, site.url())
                assert reply.body == b"<p>the tide table</p>" * 50
                assert reply.wire == packed
                assert reply.headers == {"content-encoding": "gzip", "transfer-encoding": "chunked"}
                assert reply.heads is not None
                assert reply.heads.response == head
        assert site.connections == 1
