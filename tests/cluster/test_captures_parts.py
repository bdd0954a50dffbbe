"""Captures on S3: what a kill, a store that is away and strangers in the folder do to them."""

import asyncio
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from obstore.store import S3Store

# The readers of WARC live beside the tests of the API.
sys.path.append(str(Path(__file__).parents[1] / "api"))

from warcs import both

from emissary.backends.cluster import captures as module
from emissary.backends.cluster.captures import S3Captures
from emissary.backends.cluster.objects import open_objects
from emissary.backends.segments import Scribe
from emissary.model.captures import Capture, Exchange
from emissary.model.errors import StoreUnavailable
from emissary.reading.warc import exchange_records, segment_start
from emissary.testing.servers import ObjectServer

pytestmark = pytest.mark.anyio

_AT = datetime(2030, 1, 1, 12, 30, tzinfo=UTC)
_SCRIBE = Scribe(
    lambda name, at: segment_start("Tests/1", name, at, secrets.token_bytes(16)),
    lambda exchange: exchange_records(exchange, secrets.token_bytes(48)),
)
# Keeps three exchanges and a fourth, of which nobody was told that it is safe, and is killed by its own hand.
_KILLED = """
import asyncio, os, signal, sys
sys.path.insert(0, sys.argv[2])
import test_captures_parts as test

async def main():
    captures = await test.open_captures(sys.argv[1])
    for number in (1, 2, 3):
        print(*test.told(await test.kept(captures, test.exchange(number))), flush=True)
    print(*test.told(await captures.keep(test.exchange(4))), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def exchange(number: int, size: int = 5000, at: datetime = _AT) -> Exchange:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    request = b"GET / HTTP/1.1\r\n\r\n"
    return Exchange(f"http://a.example/{number}", at, "192.0.2.1", request, head, secrets.token_bytes(size), {})


def told(capture: Capture) -> tuple[str, int]:
    return capture.segment, capture.offset


async def kept(captures: S3Captures, exchange: Exchange) -> Capture:
    """Keep it, and come back when it is safe."""
    capture = await captures.keep(exchange)
    await captures.flush()
    return capture


async def open_captures(url: str, scribe: Scribe = _SCRIBE) -> S3Captures:
    return S3Captures(await open_objects(url, patience=2), "wrk_a", scribe)


async def parts_of(url: str) -> list[str]:
    store: S3Store = await open_objects(url)
    return sorted([each["path"] async for page in store.list("captures") for each in page])


@pytest.fixture
def own_server() -> Iterator[ObjectServer]:
    with ObjectServer() as server:
        yield server


async def test_a_writer_that_is_killed_leaves_what_was_safe_and_nothing_half_written(objects_url: str) -> None:
    command = [sys.executable, "-c", _KILLED, objects_url, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: ASYNC221
    assert done.returncode == -signal.SIGKILL, done.stderr
    places = [Capture(name, int(offset)) for name, offset in (line.split() for line in done.stdout.splitlines())]
    assert len(places) == 4
    captures = await open_captures(objects_url)
    for capture in places[:3]:
        assert len(both(await captures.read(capture) or b"")) == 3
    assert await captures.read(places[3]) is None
    segment = await captures.segment(places[0].segment)
    assert segment is not None
    assert [record.kind for record in both(segment)].count("response") == 3


async def test_those_who_wait_share_an_object(objects_url: str) -> None:
    captures = await open_captures(objects_url)
    places = await asyncio.gather(*(kept(captures, exchange(number)) for number in range(200)))
    assert len(await parts_of(objects_url)) <= 5
    for capture in places[::50]:
        assert len(both(await captures.read(capture) or b"")) == 3


async def test_every_place_is_found_in_its_part(objects_url: str) -> None:
    captures = await open_captures(objects_url)
    places: list[tuple[Capture, Exchange]] = []
    for size in (10, 100_000, 0, 300_000, 70_000):
        asked = [exchange(len(places) + number, size) for number in range(3)]
        places += zip([await captures.keep(each) for each in asked], asked, strict=True)
        await captures.flush()
    assert len(await parts_of(objects_url)) == 5
    for capture, asked_for in places:
        records = both(await captures.read(capture) or b"")
        assert [record.kind for record in records] == ["response", "request", "metadata"]
        assert records[0].content == asked_for.response_body
    (segment,) = await captures.segments()
    whole = await captures.segment(segment.name)
    assert whole is not None
    assert len(whole) == segment.bytes
    assert await captures.read(Capture(segment.name, segment.bytes)) is None


async def test_with_nothing_to_write_nothing_is_written(objects_url: str) -> None:
    captures = await open_captures(objects_url)
    await captures.flush()
    await kept(captures, exchange(1))
    await captures.flush()
    assert len(await parts_of(objects_url)) == 1


async def test_what_the_store_did_not_take_is_offered_again(own_server: ObjectServer) -> None:
    captures = await open_captures(own_server.url)
    first = await kept(captures, exchange(1))
    own_server.kill()
    second = await captures.keep(exchange(2))
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="the object store could not be written"):
            await captures.flush()
    third = await captures.keep(exchange(3))
    own_server.start()
    await captures.flush()
    for capture in (first, second, third):
        assert len(both(await captures.read(capture) or b"")) == 3
    whole = await captures.segment(first.segment)
    assert whole is not None
    assert [record.kind for record in both(whole)].count("response") == 3


async def test_only_so_much_is_held_before_the_store_must_take_it(
    own_server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_HELD", 100_000)
    captures = await open_captures(own_server.url)
    places = [await captures.keep(exchange(number, 60_000)) for number in range(3)]
    assert await captures.read(places[1]) is not None, "before anybody asked for it"
    assert await captures.read(places[2]) is None
    await captures.keep(exchange(4, 60_000))
    own_server.kill()
    with pytest.raises(StoreUnavailable, match="the object store could not be written"):
        await captures.keep(exchange(5))
    own_server.start()
    await captures.flush()
    assert await captures.read(places[2]) is not None
    await captures.keep(exchange(6))


async def test_an_exchange_that_cannot_be_written_does_not_harm_its_neighbours(objects_url: str) -> None:
    def records(each: Exchange) -> bytes:
        if each.url.endswith("/2"):
            raise ValueError("odd")
        return _SCRIBE.records(each)

    captures = await open_captures(objects_url, Scribe(_SCRIBE.opening, records))
    first = await kept(captures, exchange(1))
    with pytest.raises(StoreUnavailable, match="odd"):
        await kept(captures, exchange(2))
    third = await kept(captures, exchange(3))
    assert third.segment == first.segment
    assert len(both(await captures.read(third) or b"")) == 3


async def test_whatever_else_lies_in_the_folder_is_left_alone(objects_url: str) -> None:
    captures = await open_captures(objects_url)
    store = await open_objects(objects_url)
    for name in ("captures/export.warc.gz/1", "captures/note.txt"):
        await store.put_async(name, b"mine")
    await kept(captures, exchange(1))
    assert len(await captures.segments()) == 1
    assert await captures.drop(_AT + timedelta(days=30)) == 1
    assert await parts_of(objects_url) == ["captures/export.warc.gz/1", "captures/note.txt"]


async def test_nothing_is_kept_after_the_end(objects_url: str) -> None:
    captures = await open_captures(objects_url)
    await captures.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await captures.keep(exchange(1))
