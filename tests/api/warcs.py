"""WARC as two readers that are not ours see it."""

import io
import warnings
from dataclasses import dataclass
from typing import Any

from warcio.archiveiterator import ArchiveIterator

with warnings.catch_warnings():
    # It warns of its own older parts while it is imported.
    warnings.simplefilter("ignore", DeprecationWarning)
    import fastwarc.warc as fastwarc

__all__ = ["Record", "both", "by_fastwarc", "by_warcio"]


@dataclass(frozen=True, slots=True)
class Record:
    """What a reader makes of a record; header names in lower case, the content as it is after its encoding."""

    kind: str
    headers: dict[str, str]
    status: int | None
    content: bytes


def by_warcio(raw: bytes) -> list[Record]:
    """Every record; raises where a digest is wrong."""
    found = []
    for record in ArchiveIterator(io.BytesIO(raw), check_digests="raise"):
        headers = {name.lower(): value for name, value in record.rec_headers.headers}
        status = int(record.http_headers.get_statuscode()) if record.rec_type == "response" else None
        found.append(Record(record.rec_type, headers, status, record.content_stream().read()))
    return found


def by_fastwarc(raw: bytes) -> list[Record]:
    """Every record whose digest is right."""
    records = fastwarc.ArchiveIterator(io.BytesIO(raw), parse_http=False, verify_digests=True)
    return [_read_fast(record) for record in records]


def _read_fast(record: Any) -> Record:
    kind = record.record_type.name
    headers = {str(name).lower(): str(value) for name, value in record.headers.items()}
    if kind != "response":
        return Record(kind, headers, None, record.reader.read())
    record.parse_http(auto_decode="content")
    return Record(kind, headers, record.http_headers.status_code, record.reader.read())


def both(raw: bytes) -> list[Record]:
    """The records, on which both readers agree."""
    slow, fast = by_warcio(raw), by_fastwarc(raw)
    assert [(each.kind, each.status) for each in slow] == [(each.kind, each.status) for each in fast]
    responses = [(one, two) for one, two in zip(slow, fast, strict=True) if one.kind == "response"]
    assert all(one.content == two.content for one, two in responses)
    return slow
