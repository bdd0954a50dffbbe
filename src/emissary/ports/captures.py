"""The captures: exchanges kept as WARC."""

from datetime import datetime
from typing import Protocol

from emissary.model.captures import Capture, Exchange, Segment

__all__ = ["Captures"]


class Captures(Protocol):
    """Keeps exchanges in segments of an hour. One that was flushed survives a loss of power, and is never changed."""

    async def keep(self, exchange: Exchange) -> Capture:
        """Take the exchange in, and say where it will stand: in the segment of its hour, once it has been flushed.

        This returns at once, unless so much waits to be written that the writer has to be waited for.
        """
        ...

    async def flush(self) -> None:
        """Come back when everything that was kept before is on disk.

        If that fails, nothing is lost: it stands where it was said to stand as soon as a later flush returns.
        """
        ...

    async def read(self, capture: Capture) -> bytes | None:
        """The records of the exchange, each a gzip member; None if the segment is gone, or never got so far."""
        ...

    async def segments(self, since: datetime | None = None) -> list[Segment]:
        """The segments, oldest first; those that ended before `since` are left out."""
        ...

    async def segment(self, name: str) -> bytes | None:
        """A whole segment, readable by any WARC reader to its end; None if it is gone."""
        ...

    async def drop(self, before: datetime) -> int:
        """Delete the segments that ended before then; returns how many there were."""
        ...
