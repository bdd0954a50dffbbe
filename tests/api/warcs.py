"""WARC as two readers that are not ours see it."""

import io
import warnings
from dataclasses import dataclass
from itertools import islice
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


def by_warcio(raw: bytes, most: int | None = None) -> list[Record]:
    """The records; raises where a digest is wrong."""
    found = []
    for record in islice(ArchiveIterator(io.BytesIO(raw), check_digests="raise"), most):
        headers = {name.lower(): value for name, value in record.rec_headers.headers}
        status = int(record.http_headers.get_statuscode()) if record.rec_type == "response" else None
        found.append(Record(record.rec_type, headers, status, record.content_stream().read()))
    return found


def by_fastwarc(raw: bytes, most: int | None = None) -> list[Record]:
    """The records."""
    records = fastwarc.ArchiveIterator(io.BytesIO(raw), parse_http=False)
    return [_read_fast(record) for record in islice(records, most)]


def _read_fast(record: Any) -> Record:
    kind = str(record.record_type)
    headers = {str(name).lower(): str(value) for name, value in record.headers.items()}
    if kind != "response":
        return Record(kind, headers, None, record.reader.read())
    record.parse_http(auto_decode="content")
    return Record(kind, headers, record.http_headers.status_code, record.reader.read())


def both(raw: bytes, most: int | None = None) -> list[Record]:
    """The records, so many at most, on which both readers agree."""
    slow, fast = by_warcio(raw, most), by_fastwarc(raw, most)
    assert [(each.kind, each.status) for each in slow] == [(each.kind, each.status) for each in fast]
    responses = [(one, two) for one, two in zip(slow, fast, strict=True) if one.kind == "response"]
    assert all(one.content == two.content for one, two in responses)
    return slow
