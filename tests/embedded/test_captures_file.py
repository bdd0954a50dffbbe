"""Captures as files: what a crash, a full disk and strangers in the folder do to them."""

import errno
import secrets
import signal
import subprocess
import sys
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
    lambda exchange: exchange_records(exchange, secrets.token_bytes(48)),
)
# Keeps three exchanges, then is killed by its own hand when half of the fourth has been written.
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
        print(capture.segment, capture.offset, flush=True)

asyncio.run(main())
"""


def exchange(number: int) -> Exchange:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    request = b"GET / HTTP/1.1\r\n\r\n"
    return Exchange(f"http://a.example/{number}", _AT, "192.0.2.1", request, head, secrets.token_bytes(5000), {})


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
        assert later.segment != kept[0].segment
        assert len(both(await captures.read(later) or b"")) == 3
    finally:
        await captures.close()


async def test_what_cannot_be_written_is_said_and_the_next_is_kept_elsewhere(tmp_path: Path) -> None:
    def records(each: Exchange) -> bytes:
        if each.url.endswith("/2"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return _SCRIBE.records(each)

    captures = FileCaptures(tmp_path / "captures", "wrk_a", Scribe(_SCRIBE.opening, records))
    try:
        first = await captures.keep(exchange(1))
        with pytest.raises(StoreUnavailable, match="No space left"):
            await captures.keep(exchange(2))
        third = await captures.keep(exchange(3))
        assert third.segment != first.segment
        for capture in (first, third):
            assert len(both(await captures.read(capture) or b"")) == 3
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
        assert (await captures.keep(exchange(3))).segment == first.segment
    finally:
        await captures.close()


async def test_whatever_else_lies_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    captures = FileCaptures(tmp_path, "wrk_a", _SCRIBE)
    try:
        (tmp_path / "export.warc.gz").write_bytes(b"mine")
        await captures.keep(exchange(1))
        assert len(await captures.segments()) == 1
        assert await captures.drop(_AT + timedelta(days=30)) == 1
        assert (tmp_path / "export.warc.gz").read_bytes() == b"mine"
    finally:
        await captures.close()


async def test_nothing_is_kept_after_the_end(tmp_path: Path) -> None:
    captures = FileCaptures(tmp_path / "captures", "wrk_a", _SCRIBE)
    await captures.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await captures.keep(exchange(1))
