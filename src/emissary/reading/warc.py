"""WARC 1.1: an exchange as request, response and metadata records, each a gzip member of its own. Pure."""

import hashlib
import zlib
from datetime import datetime
from struct import Struct

from isal import isal_zlib

from emissary.model.captures import Exchange

__all__ = ["exchange_records", "segment_start"]

_FASTEST = 0  # isal's own: a tenth larger than its next level, in two thirds of the time
_AS_IT_IS = 0  # zlib's: gzip around bytes that are not packed
_GZIP = zlib.MAX_WBITS | 16
_MEMBER = zlib.compress(b"", _AS_IT_IS, _GZIP)[:10]  # how each member begins
_ONE_BLOCK = 32 * 1024  # bytes that deflate surely keeps in one block, if it does not pack them
_LITTLE = 2048  # bytes: packing so few takes longer than writing them
_BLOCK, _END = Struct("<BHH"), Struct("<II")  # RFC 1951, 3.2.4, and RFC 1952, 2.3.1
_ANSWER = "response", "application/http; msgtype=response"
_REQUEST = "request", "application/http; msgtype=request"
_NOTES = "metadata", "application/warc-fields"
_OPENING = "warcinfo", "application/warc-fields"


def segment_start(software: str, name: str, at: datetime, chance: bytes) -> bytes:
    """The record that opens a segment: who wrote it, and by which rules."""
    about = f"WARC-Record-ID: {_stem(chance)}0>\r\nWARC-Date: {_date(at)}\r\nWARC-Filename: {name}\r\n"
    fields = {"software": software, "format": "WARC File Format 1.1", "robots": "obey"}
    return _plain(_record(_OPENING, about, _lines(fields)))


def exchange_records(exchange: Exchange, chance: bytes) -> bytes:
    """The three records of an exchange; takes 16 bytes of chance for their names, which differ in the last digit."""
    name, head, body = _stem(chance), exchange.response_head, exchange.response_body
    about = f"WARC-Date: {_date(exchange.at)}\r\nWARC-Target-URI: {_clean(exchange.url)}\r\n"
    if exchange.address:  # a proxy may not tell
        about += f"WARC-IP-Address: {exchange.address}\r\n"
    linked = f"{about}WARC-Concurrent-To: {name}0>\r\nWARC-Record-ID: {name}"
    digest = exchange.sha256 or hashlib.sha256(body).hexdigest()
    about = f"{about}WARC-Payload-Digest: sha256:{digest}\r\nWARC-Record-ID: {name}0>\r\n"
    answer = _record(_ANSWER, about, head, body)
    is_packed = len(body) < _LITTLE or b"\ncontent-encoding:" in head.lower()
    return b"".join(
        (
            _plain(answer) if is_packed else isal_zlib.compress(answer, _FASTEST, _GZIP),
            _plain(_record(_REQUEST, f"{linked}1>\r\n", exchange.request_head)),
            _plain(_record(_NOTES, f"{linked}2>\r\n", _lines(exchange.notes))),
        )
    )


def _record(kind: tuple[str, str], about: str, block: bytes, more: bytes = b"") -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind[0]}\r\nContent-Type: {kind[1]}\r\n{about}"
        f"Content-Length: {len(block) + len(more)}\r\n\r\n"
    )
    return b"".join((head.encode(), block, more, b"\r\n\r\n"))


def _plain(record: bytes) -> bytes:
    """The record in gzip, not packed: what zlib would write, without the quarter of a MiB it makes ready each time."""
    size = len(record)
    if size > _ONE_BLOCK:
        return zlib.compress(record, _AS_IT_IS, _GZIP)
    block, end = _BLOCK.pack(1, size, size ^ 0xFFFF), _END.pack(zlib.crc32(record), size)
    return b"".join((_MEMBER, block, record, end))


def _date(at: datetime) -> str:
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _lines(fields: dict[str, str]) -> bytes:
    return "".join([f"{name}: {_clean(value)}\r\n" for name, value in fields.items()]).encode()


def _clean(value: str) -> str:
    """A line is a line: nothing that a site sent may begin another."""
    return " ".join(value.splitlines()) if "\n" in value or "\r" in value else value


def _stem(chance: bytes) -> str:
    """A version 4 UUID of these bytes, but for its last digit."""
    text = chance.hex()
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:31]}"
