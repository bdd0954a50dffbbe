"""WARC 1.1: an exchange as request, response and metadata records, each a gzip member of its own. Pure."""

import hashlib
from base64 import b32encode
from datetime import datetime

from isal import isal_zlib

from emissary.model.captures import Exchange

__all__ = ["exchange_records", "segment_start"]

_LEVEL = 1  # the records are many and read seldom


def segment_start(software: str, name: str, at: datetime, chance: bytes) -> bytes:
    """The record that opens a segment: who wrote it, and by which rules."""
    fields = {"software": software, "format": "WARC File Format 1.1", "robots": "obey"}
    head = {"WARC-Type": "warcinfo", "WARC-Filename": name, "Content-Type": "application/warc-fields"}
    return _record(head, _fields(fields), at, _identity(chance))


def exchange_records(exchange: Exchange, chance: bytes) -> bytes:
    """The three records of an exchange; takes 48 bytes of chance for their names."""
    request, response, metadata = (_identity(chance[start : start + 16]) for start in (0, 16, 32))
    about = {"WARC-Target-URI": exchange.url}
    if exchange.address:  # a proxy may not tell
        about["WARC-IP-Address"] = exchange.address
    linked = {**about, "WARC-Concurrent-To": response}
    body = exchange.response_body
    return b"".join(
        (
            _record(
                {
                    **about,
                    "WARC-Type": "response",
                    "WARC-Payload-Digest": _digest(body),
                    "Content-Type": "application/http; msgtype=response",
                },
                exchange.response_head + body,
                exchange.at,
                response,
            ),
            _record(
                {**linked, "WARC-Type": "request", "Content-Type": "application/http; msgtype=request"},
                exchange.request_head,
                exchange.at,
                request,
            ),
            _record(
                {**linked, "WARC-Type": "metadata", "Content-Type": "application/warc-fields"},
                _fields(exchange.notes),
                exchange.at,
                metadata,
            ),
        )
    )


def _record(head: dict[str, str], block: bytes, at: datetime, identity: str) -> bytes:
    date = at.isoformat(timespec="microseconds").removesuffix("+00:00")
    text = (
        f"WARC/1.1\r\nWARC-Record-ID: {identity}\r\nWARC-Date: {date}Z\r\n{_lines(head)}"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    packed: bytes = isal_zlib.compress(text.encode() + block + b"\r\n\r\n", _LEVEL, isal_zlib.MAX_WBITS | 16)
    return packed


def _digest(block: bytes) -> str:
    return f"sha1:{b32encode(hashlib.sha1(block).digest()).decode()}"  # noqa: S324 - what readers of WARC expect


def _fields(fields: dict[str, str]) -> bytes:
    return _lines(fields).encode()


def _lines(fields: dict[str, str]) -> str:
    return "".join([f"{name}: {_clean(value)}\r\n" for name, value in fields.items()])


def _clean(value: str) -> str:
    """A line is a line: nothing that a site sent may begin another."""
    return " ".join(value.splitlines()) if "\n" in value or "\r" in value else value


def _identity(chance: bytes) -> str:
    """A version 4 UUID of these bytes."""
    text = chance.hex()
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:32]}>"
