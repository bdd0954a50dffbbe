"""Captures as files: what a crash, a full disk and strangers in the folder do to them."""

import asyncio
import resource
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

# The readers of WARC live beside the tests of the API.
sys.path.append(str(Path(__file__).parents[1] / "api"))

from warcs import both

from emissary.backends.embedded.captures import FileCaptures, Scribe
from emissary.model.captures import Capture, Exchange
from emissary.model.errors import StoreUnavailable
from emissary.reading.warc import exchange_records, segment_start

pytestmark = pytest.mark.anyio

_AT = datetime(2030, 1, 1, 12, 30, tzinfo=UTC)
_SCRIBE = Scribe(
    lambda name, at: segment_start("Tests/1", name, at, secrets.token_bytes(16)),
    lambda exchange: exchange_records(exchange, secrets.token_bytes(16)),
)
# Keeps and flushes three exchanges, then is killed by its own hand when half of the fourth has been written.
_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import test_captures_file as test
from emissary.backends.embedded.captures import FileCaptures, Scribe

def records(exchange):
    whole = test._SCRIBE.records(exchange)
    if exchange.url.endswith("/4"):
        folder = Path(sys.argv[1])
        (segment,) = folder.iterdir()
        with segment.open("ab") as file:
            file.write(whole[: len(whole) // 2])
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    return whole

async def main():
    captures = FileCaptures(Path(sys.argv[1]), "wrk_killed", Scribe(test._SCRIBE.opening, records))
    for number in (1, 2, 3, 4):
        capture = await captures.keep(test.exchange(number))
        await captures.flush()
        print(capture.segment, capture.offset, flush=True)

asyncio.run(main())
"""


def exchange(number: int, *, size: int = 5000, at: datetime = _AT) -> Exchange:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    request = b"GET / HTTP/1.1\r\n\r\n"
    return Exchange(f"http://a.example/{number}", at, "192.0.2.1", request, head, secrets.token_bytes(size), {})


@pytest.fixture
async def captures(tmp_path: Path, anyio_backend: str) -> AsyncIterator[FileCaptures]:
    captures = FileCaptures(tmp_path / "captures", "wrk_a", _SCRIBE)
    yield captures
    await captures.close()


@contextmanager
def full_disk(segment: Path) -> Iterator[None]:
    """This process may write no file that becomes longer than the segment is, but for a part of one record."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (segment.stat().st_size + 100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_writer_that_is_killed_leaves_what_it_had_kept_and_its_successor_begins_anew(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    command = [sys.executable, "-c", _KILLED, str(folder), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: ASYNC221
    assert done.returncode == -signal.SIGKILL, done.stderr
    kept = [Capture(name, int(offset)) for name, offset in (line.split() for line in done.stdout.splitlines())]
    assert len(kept) == 3
    captures = FileCaptures(folder, "wrk_killed", _SCRIBE)
    try:
        for capture in kept:
            assert len(both(await captures.read(capture) or b"")) == 3
        segment = await captures.segment(kept[0].segment)
        assert segment is not None
        assert len(segment) < (folder / kept[0].segment).stat().st_size, "the torn record is left out"
        assert [record.kind for record in both(segment)].count("response") == 3
        # The same writer's name, the same hour: it must not write behind a torn record.
        later = await captures.keep(exchange(5))
        await captures.flush()
        assert later.segment != kept[0].segment
        assert len(both(await captures.read(later) or b"")) == 3
    finally:
        await captures.close()


async def test_what_could_not_be_written_is_written_to_its_place_by_a_later_flush(
    captures: FileCaptures, tmp_path: Path
) -> None:
    first = await captures.keep(exchange(1))
    await captures.flush()
    with full_disk(tmp_path / "captures" / first.segment):
        second, third = await captures.keep(exchange(2)), await captures.keep(exchange(3))
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="File too large"):
                await captures.flush()
        assert await captures.read(second) is None
    fourth = await captures.keep(exchange(4))
    await captures.flush()
    segment = await captures.segment(first.segment)
    assert [record.kind for record in both(segment or b"")].count("response") == 4
    for number, capture in enumerate((first, second, third, fourth), start=1):
        assert both(await captures.read(capture) or b"")[0].headers["warc-target-uri"].endswith(f"/{number}")


async def test_a_folder_that_cannot_be_made_is_tried_again_with_the_next_exchange(tmp_path: Path) -> None:
    (tmp_path / "captures").write_text("in the way")
    captures = FileCaptures(tmp_path / "captures", "wrk_a", _SCRIBE)
    try:
        with pytest.raises(StoreUnavailable, match="File exists"):
            await captures.keep(exchange(1))
        (tmp_path / "captures").unlink()
        capture = await captures.keep(exchange(2))
        await captures.flush()
        assert len(both(await captures.read(capture) or b"")) == 3
    finally:
        await captures.close()


async def test_so_much_may_wait_and_no_more(captures: FileCaptures, tmp_path: Path) -> None:
    """Beyond that, whoever keeps something waits for the writer, although nobody has asked for a flush."""
    places = [await captures.keep(exchange(number, size=1_000_000)) for number in range(40)]
    written = (tmp_path / "captures" / places[0].segment).stat().st_size
    assert 16_000_000 < written < 40_000_000
    await captures.flush()
    for number in (0, 17, 39):
        assert both(await captures.read(places[number]) or b"")[0].headers["warc-target-uri"].endswith(f"/{number}")


async def test_memory_does_not_fill_while_the_disk_takes_nothing(captures: FileCaptures, tmp_path: Path) -> None:
    first = await captures.keep(exchange(0))
    await captures.flush()
    places = [first]

    async def keep_on() -> None:
        while len(places) < 40:
            places.append(await captures.keep(exchange(len(places), size=1_000_000)))

    with full_disk(tmp_path / "captures" / first.segment):
        with pytest.raises(StoreUnavailable, match="File too large"):
            await keep_on()
        with pytest.raises(StoreUnavailable, match="File too large"):
            await captures.keep(exchange(0, at=_AT + timedelta(hours=1)))
    assert 10 < len(places) < 20
    with pytest.raises(StoreUnavailable, match="File too large"):
        await captures.keep(exchange(0))  # it is for a flush to find out that the disk is well again
    await captures.flush()
    for number, capture in enumerate(places):
        assert both(await captures.read(capture) or b"")[0].headers["warc-target-uri"].endswith(f"/{number}")
    assert (await captures.keep(exchange(0, at=_AT + timedelta(hours=1)))).segment != first.segment


async def test_what_comes_while_the_next_hour_is_begun_is_not_written_into_that(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def opening(name: str, at: datetime) -> bytes:
        if at > _AT:
            begun.set()
            assert go_on.wait(10)
        return _SCRIBE.opening(name, at)

    captures = FileCaptures(tmp_path / "captures", "wrk_a", Scribe(opening, _SCRIBE.records))
    try:
        asked = [exchange(1), exchange(2, at=_AT + timedelta(hours=1)), exchange(3)]
        first = await captures.keep(asked[0])
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(captures.keep(asked[1]))]
            assert await asyncio.to_thread(begun.wait, 10)
            others.append(group.create_task(captures.keep(asked[2])))
            await captures.segments()  # time enough for the last one to have come as far as it can
            go_on.set()
        await captures.flush()
        for each, capture in zip(asked, [first, *(task.result() for task in others)], strict=True):
            assert both(await captures.read(capture) or b"")[0].headers["warc-target-uri"] == each.url
    finally:
        await captures.close()


async def test_an_exchange_that_cannot_be_written_does_not_harm_its_neighbours(tmp_path: Path) -> None:
    def records(each: Exchange) -> bytes:
        if each.url.endswith("/2"):
            raise ValueError("odd")
        return _SCRIBE.records(each)

    captures = FileCaptures(tmp_path / "captures", "wrk_a", Scribe(_SCRIBE.opening, records))
    try:
        first = await captures.keep(exchange(1))
        with pytest.raises(StoreUnavailable, match="odd"):
            await captures.keep(exchange(2))
        third = await captures.keep(exchange(3))
        await captures.flush()
        assert third.segment == first.segment
        for capture in (first, third):
            assert len(both(await captures.read(capture) or b"")) == 3
    finally:
        await captures.close()


async def test_whatever_else_lies_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    captures = FileCaptures(tmp_path, "wrk_a", _SCRIBE)
    try:
        (tmp_path / "export.warc.gz").write_bytes(b"mine")
        await captures.keep(exchange(1))
        await captures.flush()
        assert len(await captures.segments()) == 1
        assert await captures.drop(_AT + timedelta(days=30)) == 1
        assert (tmp_path / "export.warc.gz").read_bytes() == b"mine"
    finally:
        await captures.close()


async def test_nothing_counts_as_kept_after_the_end(tmp_path: Path) -> None:
    captures = FileCaptures(tmp_path / "captures", "wrk_a", _SCRIBE)
    await captures.keep(exchange(1))
    await captures.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await captures.flush()
    another = FileCaptures(tmp_path / "captures", "wrk_b", _SCRIBE)
    await another.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await another.keep(exchange(1))
