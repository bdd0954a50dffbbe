"""The captures: exchanges kept as WARC."""

from datetime import datetime
from typing import Protocol

from emissary.model.captures import Capture, Exchange, Segment

__all__ = ["Captures"]


class Captures(Protocol):
    """Keeps exchanges in segments of an hour. One that was kept survives a loss of power, and is never changed."""

    async def keep(self, exchange: Exchange) -> Capture:
        """Append the exchange to the segment of its hour; on disk when this returns."""
        ...

    async def read(self, capture: Capture) -> bytes | None:
        """The records of the exchange, each a gzip member; None if the segment is gone."""
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
