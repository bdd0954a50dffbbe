"""Captures as files: a thread appends to the segment of the hour, and syncs once for all that wait."""

import asyncio
import os
import threading
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from emissary.model.captures import Capture, Exchange
from emissary.model.errors import StoreUnavailable

__all__ = ["FileCaptures", "Scribe"]

_SUFFIX = ".warc.gz"
_HOUR = "%Y%m%dT%H"


@dataclass(frozen=True, slots=True)
class Scribe:
    """How exchanges become records: given from above, since nothing but bytes is known here."""

    opening: Callable[[str, datetime], bytes]
    records: Callable[[Exchange], bytes]


@dataclass(slots=True, eq=False)
class _Kept:
    exchange: Exchange
    future: asyncio.Future[Capture]
    capture: Capture | None = None
    error: StoreUnavailable | None = None


class FileCaptures:
    """Keeps the promise of `ports.captures.Captures`. Each writer has segments of its own, so none is shared."""

    def __init__(self, folder: Path, writer: str, scribe: Scribe) -> None:
        self._folder = folder
        self._writer = writer
        self._scribe = scribe
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Kept] = deque()
        self._bell = threading.Semaphore(0)
        self._closed = False
        self._open: tuple[str, IO[bytes]] | None = None
        self._thread = threading.Thread(target=self._serve, name="emissary-captures", daemon=True)
        self._thread.start()

    async def keep(self, exchange: Exchange) -> Capture:
        kept = _Kept(exchange, self._loop.create_future())
        self._waiting.append(kept)
        self._bell.release()
        return await kept.future

    async def read(self, capture: Capture) -> bytes | None:
        return await asyncio.to_thread(self._read, capture)

    async def segments(self) -> list[str]:
        return await asyncio.to_thread(lambda: sorted(path.name for path in self._folder.glob(f"*{_SUFFIX}")))

    async def segment(self, name: str) -> bytes | None:
        path = self._path(name)
        return await asyncio.to_thread(path.read_bytes) if path.exists() else None

    async def drop(self, before: datetime) -> int:
        return await asyncio.to_thread(self._drop, before)

    async def close(self) -> None:
        self._closed = True
        self._bell.release()
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        while True:
            self._bell.acquire()
            if not self._waiting:
                if self._closed:
                    break
                continue  # what this ring was for has been written with an earlier one
            batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
            self._write(batch)
            try:
                self._loop.call_soon_threadsafe(_tell, batch)
            except RuntimeError:
                break  # the loop is gone, and with it everyone who waited
        if self._open is not None:
            self._open[1].close()

    def _write(self, batch: list[_Kept]) -> None:
        try:
            touched = set()
            for kept in batch:
                name, file = self._segment_of(kept.exchange.at)
                kept.capture = Capture(name, file.tell())
                file.write(self._scribe.records(kept.exchange))
                touched.add(file)
            for file in touched:
                file.flush()
                os.fsync(file.fileno())
        except (OSError, ValueError) as error:
            self._open = None  # a segment that failed is left as it is; the next exchange begins another
            for kept in batch:
                kept.error = StoreUnavailable(f"the capture could not be written: {error}")

    def _segment_of(self, at: datetime) -> tuple[str, IO[bytes]]:
        hour = at.strftime(_HOUR)
        if self._open is not None and self._open[0].startswith(hour):
            return self._open
        if self._open is not None:
            self._sync_and_close(self._open[1])
        self._folder.mkdir(parents=True, exist_ok=True)
        count = sum(1 for _ in self._folder.glob(f"{hour}-{self._writer}-*{_SUFFIX}"))
        name = f"{hour}-{self._writer}-{count:04d}{_SUFFIX}"
        file = self._path(name).open("xb")
        file.write(self._scribe.opening(name, at))
        self._open = name, file
        return self._open

    @staticmethod
    def _sync_and_close(file: IO[bytes]) -> None:
        file.flush()
        os.fsync(file.fileno())
        file.close()

    def _read(self, capture: Capture) -> bytes | None:
        """The three gzip members from the offset on."""
        path = self._path(capture.segment)
        if not path.exists():
            return None
        with path.open("rb") as file:
            file.seek(capture.offset)
            return b"".join(_member(file) for _ in range(3))

    def _drop(self, before: datetime) -> int:
        ended = [
            path for path in self._folder.glob(f"*{_SUFFIX}") if _hour_of(path.name) + timedelta(hours=1) <= before
        ]
        for path in ended:
            path.unlink(missing_ok=True)
        return len(ended)

    def _path(self, name: str) -> Path:
        if "/" in name or name.startswith(".") or not name.endswith(_SUFFIX):
            raise ValueError(f"not a name of a segment: {name!r}")
        return self._folder / name


def _hour_of(name: str) -> datetime:
    return datetime.strptime(name.partition("-")[0], _HOUR).replace(tzinfo=UTC)


def _member(file: IO[bytes]) -> bytes:
    """The bytes of one gzip member; the file stands behind it afterwards."""
    start, decoder = file.tell(), zlib.decompressobj(zlib.MAX_WBITS | 16)
    while not decoder.eof:
        piece = file.read(64 * 1024)
        if not piece:
            break
        decoder.decompress(piece)
    end = file.tell() - len(decoder.unused_data)
    file.seek(start)
    return file.read(end - start)


def _tell(batch: list[_Kept]) -> None:
    for kept in batch:
        if kept.future.done():
            continue  # whoever asked has stopped waiting
        if kept.error is not None:
            kept.future.set_exception(kept.error)
        elif kept.capture is not None:
            kept.future.set_result(kept.capture)
