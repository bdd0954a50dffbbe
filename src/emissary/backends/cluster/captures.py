"""Captures on S3: a segment is a row of parts, since nothing can be appended to an object.

A part is called after the place in the segment where it ends. So the part that holds a place is the first one after it,
and a name says all there is to know.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import datetime

from obstore.store import S3Store

from emissary.backends.cluster.objects import named_refusals
from emissary.backends.segments import SEGMENT_SPAN, ExchangeTaker, Scribe, begin_of, is_segment, segment_name
from emissary.model.captures import Capture, Exchange, Segment
from emissary.model.errors import StoreUnavailable

__all__ = ["S3Captures"]

_FOLDER = "captures"
_NAMES_AT_ONCE = 1000
_PARTS_AT_ONCE = 8
_MOST_HELD = 64 * 1024 * 1024
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Part:
    segment: str
    end: int
    body: bytes

    @property
    def path(self) -> str:
        return _place(self.segment, self.end)


class _OpenSegment:
    """The segment that is written to: how far it goes, and what of it has not become a part yet."""

    def __init__(self, name: str, opening: bytes) -> None:
        self.name = name
        self.begins_at = begin_of(name)
        self.end = len(opening)
        self.sealed = 0
        self._unsealed = [opening]

    def takes(self, at: datetime) -> bool:
        return self.begins_at <= at < self.begins_at + SEGMENT_SPAN

    def append(self, records: bytes) -> Capture:
        capture = Capture(self.name, self.end)
        self._unsealed.append(records)
        self.end += len(records)
        return capture

    def seal(self) -> list[_Part]:
        body, self._unsealed = b"".join(self._unsealed), []
        self.sealed = self.end
        return [_Part(self.name, self.end, body)] if body else []


class S3Captures:
    """Keeps the promise of `ports.captures.Captures`. Each writer has segments of its own, so none is shared."""

    def __init__(self, store: S3Store, writer: str, scribe: Scribe) -> None:
        self._store = store
        self._writer = writer
        self._scribe = scribe
        self._open: _OpenSegment | None = None
        self._count = 0
        self._unsent: deque[_Part] = deque()
        self._sending = asyncio.Lock()
        self._trouble: str | None = None
        self._closed = False

    async def keep(self, exchange: Exchange) -> Capture:
        if self._closed:
            raise StoreUnavailable("the captures are closed")
        if self._held > _MOST_HELD:
            await self._make_room()
        records = await self._scribe.write_down(exchange)
        return self._segment_of(exchange.at).append(records)  # in one step: a segment may end while records are made

    async def flush(self) -> None:
        async with self._sending:
            if self._open is not None:
                self._unsent += self._open.seal()
            try:
                while self._unsent:
                    await self._send(self._unsent[0])
                    self._unsent.popleft()
            except StoreUnavailable as error:
                self._trouble = error.detail
                raise
            self._trouble = None

    async def read(self, capture: Capture) -> bytes | None:
        begin_of(capture.segment)
        taker = ExchangeTaker()
        try:
            with named_refusals("read"):
                part = await self._part_at(capture)
                if part is None:
                    return None
                path, start = part
                found = await self._store.get_async(path, options={"range": {"offset": start}})
                async for piece in found.stream(min_chunk_size=_PIECE):
                    if taker.take(bytes(piece)):
                        break
        except FileNotFoundError:
            return None
        return bytes(taker.taken)

    async def segments(self, since: datetime | None = None) -> list[Segment]:
        wanted = [name for name in await self._names() if since is None or begin_of(name) + SEGMENT_SPAN > since]
        sizes = [sum(size for _, size in await self._parts(name)) for name in wanted]
        return [Segment(name, begin_of(name), size) for name, size in zip(wanted, sizes, strict=True) if size]

    async def segment(self, name: str) -> bytes | None:
        begin_of(name)
        parts = await self._parts(name)
        gate = asyncio.Semaphore(_PARTS_AT_ONCE)

        async def get(path: str) -> bytes:
            async with gate:
                return bytes(await (await self._store.get_async(path)).bytes_async())

        try:
            with named_refusals("read"):
                bodies = await asyncio.gather(*(get(path) for path, _ in parts))
        except FileNotFoundError:
            return None  # its day was over in this moment
        return b"".join(bodies) if bodies else None

    async def drop(self, before: datetime) -> int:
        ended = [name for name in await self._names() if begin_of(name) + SEGMENT_SPAN <= before]
        for name in ended:
            paths = [path for path, _ in await self._parts(name)]
            with named_refusals("written"):
                await self._store.delete_async(paths)
        return len(ended)

    async def close(self) -> None:
        """Keep nothing more. What was never flushed is not sent: nothing points to it."""
        self._closed = True

    @property
    def _held(self) -> int:
        """How many bytes are in memory and nowhere else."""
        unsealed = 0 if self._open is None else self._open.end - self._open.sealed
        return unsealed + sum(len(part.body) for part in self._unsent)

    async def _make_room(self) -> None:
        """Whoever keeps more than the store takes has to wait for it."""
        if self._trouble is not None:
            raise StoreUnavailable(self._trouble)  # the next flush tries again; here, every exchange would
        await self.flush()

    async def _send(self, part: _Part) -> None:
        with named_refusals("written"):
            await self._store.put_async(part.path, part.body)

    def _segment_of(self, at: datetime) -> _OpenSegment:
        if self._open is not None:
            if self._open.takes(at):
                return self._open
            self._unsent += self._open.seal()
        name = segment_name(at, self._writer, self._count)
        self._count += 1
        self._open = _OpenSegment(name, self._scribe.opening(name, at))
        return self._open

    async def _names(self) -> list[str]:
        with named_refusals("read"):
            found = await self._store.list_with_delimiter_async(_FOLDER)
        names = (path.rpartition("/")[2] for path in found["common_prefixes"])
        return sorted(name for name in names if is_segment(name))

    async def _parts(self, name: str) -> list[tuple[str, int]]:
        """The paths and sizes of a segment's parts, in order."""
        found: list[tuple[str, int]] = []
        with named_refusals("read"):
            async for page in self._store.list(f"{_FOLDER}/{name}", chunk_size=_NAMES_AT_ONCE):
                found += [(each["path"], each["size"]) for each in page]
        return sorted(found)

    async def _part_at(self, capture: Capture) -> tuple[str, int] | None:
        """The part that holds the place, and where in it that is."""
        place = _place(capture.segment, capture.offset)
        async for (part,) in self._store.list(f"{_FOLDER}/{capture.segment}", offset=place, chunk_size=1):
            end = int(part["path"].rpartition("/")[2])
            return part["path"], part["size"] - (end - capture.offset)
        return None


def _place(segment: str, end: int) -> str:
    return f"{_FOLDER}/{segment}/{end:015d}"
