"""Captures: the exchanges as they were, so that a result can be traced to the bytes it was made from."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

__all__ = ["Capture", "Exchange", "Segment"]


class Capture(msgspec.Struct, frozen=True):
    """Where an exchange is kept: a WARC segment, and the place in it where its records begin."""

    segment: str
    offset: int


class Exchange(msgspec.Struct, frozen=True, gc=False):  # made for every page: a dataclass takes ten times as long
    """One request and its answer, as they went over the wire."""

    url: str
    at: datetime
    address: str
    request_head: bytes
    response_head: bytes
    response_body: bytes
    notes: dict[str, str]  # what we know beyond the bytes: the robots rule, the time it took
    sha256: str | None = None  # of the body, where somebody has reckoned it already


@dataclass(frozen=True, slots=True)
class Segment:
    """The exchanges of one writer in one hour."""

    name: str
    begins_at: datetime
    bytes: int
