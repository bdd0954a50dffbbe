"""Segments of captures, wherever they are kept: their names, and the records in them."""

import asyncio
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from emissary.model.captures import Exchange
from emissary.model.errors import StoreUnavailable

__all__ = ["SEGMENT_SPAN", "ExchangeTaker", "Scribe", "begin_of", "is_segment", "segment_name"]

_SUFFIX = ".warc.gz"
_HOUR = "%Y%m%dT%H"
_NAME = re.compile(r"\d{8}T\d{2}-[\w.-]+" + re.escape(_SUFFIX))
_RECORDS = 3
_LARGE = 256 * 1024  # bytes of a body
SEGMENT_SPAN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Scribe:
    """How exchanges become records: given from above, since nothing but bytes is known here."""

    opening: Callable[[str, datetime], bytes]
    records: Callable[[Exchange], bytes]

    async def write_down(self, exchange: Exchange) -> bytes:
        """The records of the exchange. Those of a large one are made in a thread: they would hold up the loop."""
        try:
            if len(exchange.response_body) > _LARGE:
                return await asyncio.to_thread(self.records, exchange)
            return self.records(exchange)
        except ValueError as error:
            raise StoreUnavailable(f"the exchange cannot be written as records: {error}") from error


def segment_name(at: datetime, writer: str, count: int) -> str:
    """The name of a segment of this hour; a writer counts its own."""
    return f"{at.strftime(_HOUR)}-{writer}-{count:04d}{_SUFFIX}"


def is_segment(name: str) -> bool:
    """Whether a name is one of ours: whatever else lies about is not."""
    return _NAME.fullmatch(name) is not None


def begin_of(name: str) -> datetime:
    """The hour of a segment; raises ValueError if the name is none of a segment."""
    if not is_segment(name):
        raise ValueError(f"not a name of a segment: {name!r}")
    return datetime.strptime(name.partition("-")[0], _HOUR).replace(tzinfo=UTC)


class ExchangeTaker:
    """Takes the records of one exchange from the front of a stream, and leaves what comes behind them."""

    def __init__(self) -> None:
        self.taken = bytearray()
        self._left = _RECORDS
        self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def take(self, piece: bytes) -> bool:
        """Look at the next piece; tells whether that was the last one needed."""
        while piece and self._left:
            self._decoder.decompress(piece)
            rest = self._decoder.unused_data
            self.taken += piece[: len(piece) - len(rest)]
            if self._decoder.eof:
                self._left -= 1
                self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
            piece = rest
        return not self._left
