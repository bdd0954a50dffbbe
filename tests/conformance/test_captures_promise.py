"""The promise of `ports.captures.Captures`: what was flushed is on disk, readable by others, and never changed."""

import asyncio
import sys
from pathlib import Path

import pytest
from making import at
from openers import Backend

# The readers of WARC live beside the tests of the API.
sys.path.append(str(Path(__file__).parents[1] / "api"))

from warcs import both

from emissary.model.captures import Capture, Exchange
from emissary.ports.captures import Captures

pytestmark = pytest.mark.anyio

_HOUR = 3600.0


@pytest.fixture
def captures(backend: Backend) -> Captures:
    return backend.captures


def exchange(number: int = 1, seconds: float = 0, body: bytes | None = None) -> Exchange:
    body = b"<p>%d</p>" % number if body is None else body
    return Exchange(
        f"http://a.example/{number}",
        at(seconds),
        "192.0.2.1",
        b"GET /%d HTTP/1.1\r\nHost: a.example\r\n\r\n" % number,
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body),
        body,
        {"robotsRule": "none"},
    )


async def kept(captures: Captures, *exchanges: Exchange) -> list[Capture]:
    places = [await captures.keep(each) for each in exchanges]
    await captures.flush()
    return places


async def whole(captures: Captures, name: str) -> bytes:
    body = await captures.segment(name)
    assert body is not None
    return body


async def test_what_was_flushed_is_read_from_its_place(captures: Captures, neighbour: Backend) -> None:
    places = await kept(captures, *(exchange(number) for number in (1, 2, 3)))
    for number, capture in enumerate(places, start=1):
        for store in (captures, neighbour.captures):
            records = both(await store.read(capture) or b"")
            assert [record.kind for record in records] == ["response", "request", "metadata"]
            assert records[0].content == b"<p>%d</p>" % number
            assert records[0].headers["warc-target-uri"] == f"http://a.example/{number}"


@pytest.mark.parametrize("body", [b"", bytes(range(256)) * 20_000])
async def test_a_body_is_kept_byte_for_byte(captures: Captures, body: bytes) -> None:
    (capture,) = await kept(captures, exchange(body=body))
    assert both(await captures.read(capture) or b"")[0].content == body


async def test_many_at_a_time_are_all_kept_each_at_its_place(captures: Captures) -> None:
    places = await asyncio.gather(*(captures.keep(exchange(number)) for number in range(300)))
    await captures.flush()
    assert len(set(places)) == 300
    for number in (0, 7, 255, 256, 299):
        assert both(await captures.read(places[number]) or b"")[0].content == b"<p>%d</p>" % number
    (segment,) = await captures.segments()
    assert sum(record.kind == "response" for record in both(await whole(captures, segment.name))) == 300


async def test_a_flush_waits_for_all_that_was_kept_before_it_whoever_else_flushes(
    captures: Captures, neighbour: Backend
) -> None:
    async def keep_and_flush(number: int) -> None:
        (capture,) = await kept(captures, exchange(number, body=b"<p>%d</p>" % number * 1000))
        assert both(await neighbour.captures.read(capture) or b"")[0].content.startswith(b"<p>%d</p>" % number)

    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(keep_and_flush(number))


async def test_exchanges_of_two_hours_that_come_at_a_time_are_each_kept_in_their_own(captures: Captures) -> None:
    """A long page takes its time, and so comes after the hour that it belongs to."""
    long = b"".join(b"<p>%d</p>" % number for number in range(100_000))
    asked = [exchange(number, (number % 2) * _HOUR, long if number % 3 else None) for number in range(12)]
    places = await asyncio.gather(*(captures.keep(each) for each in asked))
    await captures.flush()
    for each, capture in zip(asked, places, strict=True):
        response = both(await captures.read(capture) or b"")[0]
        assert (response.headers["warc-target-uri"], response.content) == (each.url, each.response_body)
        assert capture.segment.startswith(each.at.strftime("%Y%m%dT%H"))


async def test_nothing_waits_for_a_flush_that_has_nothing_to_write(captures: Captures) -> None:
    await captures.flush()
    assert await captures.segments() == []


async def test_every_hour_has_segments_of_its_own_and_the_oldest_come_first(captures: Captures) -> None:
    await kept(captures, *(exchange(hour, hour * _HOUR + 1800) for hour in (2, 0, 1)))
    found = await captures.segments()
    assert [segment.begins_at for segment in found] == [at(0), at(_HOUR), at(2 * _HOUR)]
    for hour, segment in enumerate(found):
        body = await whole(captures, segment.name)
        assert len(body) == segment.bytes
        records = both(body)
        assert [record.kind for record in records] == ["warcinfo", "response", "request", "metadata"]
        assert records[1].content == b"<p>%d</p>" % hour


async def test_segments_can_be_had_from_a_moment_on(captures: Captures) -> None:
    await kept(captures, *(exchange(hour, hour * _HOUR) for hour in range(3)))
    assert len(await captures.segments(at(_HOUR - 1))) == 3
    assert len(await captures.segments(at(_HOUR))) == 2
    assert await captures.segments(at(3 * _HOUR)) == []


async def test_segments_that_ended_before_then_are_dropped(captures: Captures) -> None:
    places = await kept(captures, *(exchange(hour, hour * _HOUR) for hour in range(3)))
    assert await captures.drop(at(_HOUR - 1)) == 0
    assert await captures.drop(at(2 * _HOUR)) == 2
    assert [await captures.read(capture) for capture in places[:2]] == [None, None]
    assert await captures.read(places[2]) is not None
    assert await captures.segment(places[0].segment) is None


async def test_what_was_kept_is_never_changed(captures: Captures, neighbour: Backend) -> None:
    (first,) = await kept(captures, exchange(1))
    before = await captures.read(first)
    for number in range(2, 20):
        await kept(captures, exchange(number))
        await kept(neighbour.captures, exchange(number))
    assert await captures.read(first) == before


async def test_two_writers_do_not_meet(captures: Captures, neighbour: Backend) -> None:
    (ours,), (theirs,) = await kept(captures, exchange(1)), await kept(neighbour.captures, exchange(2))
    assert ours.segment != theirs.segment
    assert len(await captures.segments()) == 2


async def test_a_name_that_is_no_segment_leads_nowhere(captures: Captures) -> None:
    for name in ("../emissary.db", "/etc/passwd", "x.warc.gz", ""):
        with pytest.raises(ValueError, match="not a name"):
            await captures.segment(name)
        with pytest.raises(ValueError, match="not a name"):
            await captures.read(Capture(name, 0))
