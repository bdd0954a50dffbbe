"""Captures as files: a thread appends to the segment of the hour, and syncs once for all that wait."""

import asyncio
import os
import re
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TypeVar

from emissary.backends.embedded.desk import Desk, Task
from emissary.model.captures import Capture, Exchange, Segment
from emissary.model.errors import StoreUnavailable

__all__ = ["FileCaptures", "Scribe"]

T = TypeVar("T")

_SUFFIX = ".warc.gz"
_HOUR = "%Y%m%dT%H"
_ONE_HOUR = timedelta(hours=1)
_NAME = re.compile(r"\d{8}T\d{2}-[\w.-]+" + re.escape(_SUFFIX))
_RECORDS = 3
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Scribe:
    """How exchanges become records: given from above, since nothing but bytes is known here."""

    opening: Callable[[str, datetime], bytes]
    records: Callable[[Exchange], bytes]


class FileCaptures:
    """Keeps the promise of `ports.captures.Captures`. Each writer has segments of its own, so none is shared."""

    def __init__(self, folder: Path, writer: str, scribe: Scribe) -> None:
        self._folder = folder
        self._writer = writer
        self._scribe = scribe
        self._open: tuple[str, IO[bytes]] | None = None
        self._desk: Desk[Exchange] = Desk("emissary-captures", self._write, self._abandon)

    async def keep(self, exchange: Exchange) -> Capture:
        capture: Capture = await self._desk.do(exchange)
        return capture

    async def read(self, capture: Capture) -> bytes | None:
        return await _in_thread(lambda: self._read(capture))

    async def segments(self, since: datetime | None = None) -> list[Segment]:
        found = await _in_thread(self._list)
        return [each for each in found if since is None or each.begins_at + _ONE_HOUR > since]

    async def segment(self, name: str) -> bytes | None:
        return await _in_thread(lambda: _whole_members(self._path(name)))

    async def drop(self, before: datetime) -> int:
        return await _in_thread(lambda: self._drop(before))

    async def close(self) -> None:
        await self._desk.close()

    def _write(self, tasks: list[Task[Exchange]]) -> None:
        """Everything that waits, and then one sync. Where that fails, none of it counts as kept."""
        try:
            for task in tasks:
                self._append(task)
            if self._open is not None:
                _sync(self._open[1])
        except OSError as error:
            self._abandon()  # a segment that failed is left as it is; the next exchange begins another
            for task in tasks:
                task.error = StoreUnavailable(f"the capture could not be written: {error}")

    def _append(self, task: Task[Exchange]) -> None:
        try:
            records = self._scribe.records(task.work)
        except ValueError as error:
            task.error = StoreUnavailable(f"the exchange cannot be written as records: {error}")
            return
        name, file = self._segment_of(task.work.at)
        task.value = Capture(name, file.tell())
        file.write(records)

    def _segment_of(self, at: datetime) -> tuple[str, IO[bytes]]:
        hour = at.strftime(_HOUR)
        if self._open is not None:
            if self._open[0].startswith(hour):
                return self._open
            _sync(self._open[1])
            self._abandon()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        count = sum(1 for _ in self._folder.glob(f"{hour}-{self._writer}-*{_SUFFIX}"))
        name = f"{hour}-{self._writer}-{count:04d}{_SUFFIX}"
        self._open = name, self._path(name).open("xb")
        self._open[1].write(self._scribe.opening(name, at))
        # A new file is on disk only when the folders around it are.
        _sync_folder(self._folder)
        _sync_folder(self._folder.parent)
        return self._open

    def _abandon(self) -> None:
        if self._open is not None:
            with suppress(OSError):
                self._open[1].close()
        self._open = None

    def _read(self, capture: Capture) -> bytes | None:
        """The gzip members of one exchange, from its offset on."""
        path = self._path(capture.segment)
        with suppress(FileNotFoundError), path.open("rb") as file:
            file.seek(capture.offset)
            start = end = capture.offset
            for _ in range(_RECORDS):
                end = _end_of_member(file, end) or end
            file.seek(start)
            return file.read(end - start)
        return None

    def _list(self) -> list[Segment]:
        found = []
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            if _NAME.fullmatch(path.name):  # whatever else lies here is not ours
                with suppress(FileNotFoundError):
                    found.append(Segment(path.name, _hour_of(path.name), path.stat().st_size))
        return found

    def _drop(self, before: datetime) -> int:
        ended = [each.name for each in self._list() if each.begins_at + _ONE_HOUR <= before]
        for name in ended:
            self._path(name).unlink(missing_ok=True)
        return len(ended)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a name of a segment: {name!r}")
        return self._folder / name


async def _in_thread(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise StoreUnavailable(f"the captures cannot be read: {error}") from error


def _hour_of(name: str) -> datetime:
    return datetime.strptime(name.partition("-")[0], _HOUR).replace(tzinfo=UTC)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _end_of_member(file: IO[bytes], start: int) -> int | None:
    """Where the gzip member that begins there ends; None if there is none, or one that was never finished."""
    file.seek(start)
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
    while not decoder.eof:
        piece = file.read(_PIECE)
        if not piece:
            return None
        try:
            decoder.decompress(piece)
        except zlib.error:
            return None
    return file.tell() - len(decoder.unused_data)


def _whole_members(path: Path) -> bytes | None:
    """The file without a record that a crash, or a writer still at work, has left unfinished at its end."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        end = 0
        while (further := _end_of_member(file, end)) is not None:
            end = further
        file.seek(0)
        return file.read(end)
    return None
