"""Segments of captures as files in a folder. All of it blocks: it is for threads."""

import os
import zlib
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO

from emissary.backends.segments import SEGMENT_SPAN, ExchangeTaker, begin_of, is_segment, segment_name
from emissary.model.captures import Capture, Segment

__all__ = ["SegmentFiles"]

_PIECE = 64 * 1024


class SegmentFiles:
    """One file for each hour and writer; a writer that begins anew within the hour has several."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, writer: str, at: datetime) -> tuple[str, IO[bytes]]:
        """A new segment of this hour, to be written to."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        count = 0
        while self._path(name := segment_name(at, writer, count)).exists():
            count += 1
        return name, self._path(name).open("xb", buffering=0)

    def sync(self) -> None:
        """A new file is on disk only when the folders around it are."""
        for folder in (self._folder, self._folder.parent):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def read(self, capture: Capture) -> bytes | None:
        """The records of one exchange; None if they are not, or not all, there."""
        taker, path = ExchangeTaker(), self._path(capture.segment)
        with suppress(FileNotFoundError), path.open("rb") as file:
            file.seek(capture.offset)
            while piece := file.read(_PIECE):
                if taker.take(piece):
                    return bytes(taker.taken)
        return None

    def whole(self, name: str) -> bytes | None:
        """The file without a record that a crash, or a writer still at work, has left unfinished at its end."""
        path = self._path(name)
        with suppress(FileNotFoundError), path.open("rb") as file:
            end = 0
            while (further := _end_of_member(file, end)) is not None:
                end = further
            file.seek(0)
            return file.read(end)
        return None

    def since(self, moment: datetime | None) -> list[Segment]:
        """The segments, oldest first, but for those that had ended by then."""
        found = []
        for path in sorted(self._folder.glob("*")):
            if is_segment(path.name) and (moment is None or begin_of(path.name) + SEGMENT_SPAN > moment):
                with suppress(FileNotFoundError):
                    found.append(Segment(path.name, begin_of(path.name), path.stat().st_size))
        return found

    def drop(self, before: datetime) -> int:
        """Delete what ended before then; returns how many there were."""
        ended = [each.name for each in self.since(None) if each.begins_at + SEGMENT_SPAN <= before]
        for name in ended:
            self._path(name).unlink(missing_ok=True)
        return len(ended)

    def _path(self, name: str) -> Path:
        if not is_segment(name):
            raise ValueError(f"not a name of a segment: {name!r}")
        return self._folder / name


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
