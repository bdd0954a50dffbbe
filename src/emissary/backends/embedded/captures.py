"""Captures as files: what was kept waits in memory until a thread writes all of it with one sync."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

from emissary.backends.embedded.desk import Desk, Task
from emissary.backends.embedded.segment_files import SegmentFiles
from emissary.backends.segments import SEGMENT_SPAN, Scribe, begin_of
from emissary.model.captures import Capture, Exchange, Segment
from emissary.model.errors import StoreUnavailable

__all__ = ["FileCaptures", "Scribe"]

T = TypeVar("T")

_MOST_WAITING = 16 * 1024 * 1024
_BYTES_AT_ONCE = 1024 * 1024  # the system takes several times as long for each byte of a larger piece
_RECORDS_AT_ONCE = 64


@dataclass(slots=True)
class _Open:
    """The segment that is written to. What stands between `synced` and `end` is still in memory."""

    name: str
    begins_at: datetime
    ends_at: datetime
    synced: int
    end: int

    def takes(self, at: datetime) -> bool:
        """Whether an exchange of this time may be added now."""
        return self.begins_at <= at < self.ends_at and self.end - self.synced < _MOST_WAITING


class FileCaptures:
    """Keeps the promise of `ports.captures.Captures`. Each writer has segments of its own, so none is shared.

    A place in a segment is given away before anything is written there, and so is never given up: after a failure the
    same records are written to the same place again. (After a failed sync, the system may have forgotten them.)
    """

    def __init__(self, folder: Path, writer: str, scribe: Scribe) -> None:
        self._files = SegmentFiles(folder)
        self._writer = writer
        self._scribe = scribe
        self._open: _Open | None = None
        self._waiting: list[bytes] = []  # all of them belong into the open segment
        self._trouble: str | None = None
        self._writing = asyncio.Lock()
        self._file: IO[bytes] | None = None  # that of the last segment begun; only the thread touches it
        self._desk: Desk[Callable[[], Any]] = Desk("emissary-captures", _do_each, self._let_go)

    async def keep(self, exchange: Exchange) -> Capture:
        records = await self._scribe.write_down(exchange)
        segment = self._open
        if segment is None or not segment.takes(exchange.at):
            segment = await self._make_room(exchange.at)
        capture = Capture(segment.name, segment.end)
        segment.end += len(records)
        self._waiting.append(records)
        return capture

    async def flush(self) -> None:
        if self._waiting:
            async with self._writing:
                await self._write()

    async def read(self, capture: Capture) -> bytes | None:
        return await _in_thread(lambda: self._files.read(capture))

    async def segments(self, since: datetime | None = None) -> list[Segment]:
        return await _in_thread(lambda: self._files.since(since))

    async def segment(self, name: str) -> bytes | None:
        return await _in_thread(lambda: self._files.whole(name))

    async def drop(self, before: datetime) -> int:
        return await _in_thread(lambda: self._files.drop(before))

    async def close(self) -> None:
        """End the thread. What was never flushed is not written: nothing points to it."""
        await self._desk.close()

    async def _make_room(self, at: datetime) -> _Open:
        """The open segment, as soon as something of that time can be added to it."""
        async with self._writing:
            segment = self._open
            if segment is not None and segment.takes(at):
                return segment  # somebody else has seen to it
            if self._trouble is not None:
                raise StoreUnavailable(self._trouble)  # the next flush tries again; here, every exchange would
            await self._write()
            if segment is not None and segment.takes(at):
                return segment  # there was too much of it, and no longer is
            while self._waiting:
                await self._write()
            self._open = None  # from here on, nothing is added to the segment that has ended
            begun: _Open = await self._desk.do(partial(self._begin, at))
            self._open = begun
            return begun

    async def _write(self) -> None:
        if not self._waiting:
            return
        segment, waiting = self._open, self._waiting[:]
        assert segment is not None, "whatever waits belongs into the open segment"
        try:
            segment.synced += await self._desk.do(partial(self._put, segment.synced, waiting))
        except StoreUnavailable as error:
            self._trouble = error.detail
            raise
        self._trouble = None
        del self._waiting[: len(waiting)]

    def _begin(self, at: datetime) -> _Open:
        self._let_go()
        name, self._file = self._files.begin(self._writer, at)
        end = self._put(0, [self._scribe.opening(name, at)])
        self._files.sync()
        hour = begin_of(name)
        return _Open(name, hour, hour + SEGMENT_SPAN, end, end)

    def _put(self, place: int, records: list[bytes]) -> int:
        """Write and sync; returns how many bytes there were."""
        assert self._file is not None, "a segment is begun before anything is put there"
        handle, end = self._file.fileno(), place
        for first in range(0, len(records), _RECORDS_AT_ONCE):
            left = memoryview(b"".join(records[first : first + _RECORDS_AT_ONCE]))
            while left:
                written = os.pwrite(handle, left[:_BYTES_AT_ONCE], end)
                left, end = left[written:], end + written
        os.fsync(handle)
        return end - place

    def _let_go(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # all that counts has been synced
                self._file.close()
        self._file = None


def _do_each(tasks: list[Task[Callable[[], Any]]]) -> None:
    for task in tasks:
        try:
            task.value = task.work()
        except OSError as error:
            task.error = StoreUnavailable(f"the capture could not be written: {error}")
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked, and is raised there
            task.error = error


async def _in_thread(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise StoreUnavailable(f"the captures cannot be read: {error}") from error
