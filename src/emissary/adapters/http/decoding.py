"""Content encodings, undone with a bound: a small body that unpacks into a huge one is stopped on the way."""

import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]

from emissary.model import zstd

__all__ = ["ACCEPT_ENCODING", "BadEncoding", "Overflow", "decode"]

ACCEPT_ENCODING = "gzip, deflate, br, zstd"


class BadEncoding(Exception):
    """The body is not what its Content-Encoding says."""


class Overflow(Exception):
    """The body unpacks into more than was allowed; `start` is what had come out by then."""

    def __init__(self, start: bytes) -> None:
        super().__init__("the body unpacks into more than was allowed")
        self.start = start


def decode(body: bytes, encodings: str, limit: int) -> bytes:
    """The body with its Content-Encoding undone, last one first. Raises Overflow beyond the limit."""
    for name in reversed([part.strip().lower() for part in encodings.split(",") if part.strip()]):
        if name == "identity" or not body:
            continue
        undo = _DECODERS.get(name)
        if undo is None:
            raise BadEncoding(f"unknown content encoding {name!r}")
        try:
            body = undo(body, limit)
        except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
            raise BadEncoding(f"the body is not valid {name}: {error}") from error
    return body


def _gzip(body: bytes, limit: int) -> bytes:
    return _zlib(body, limit, zlib.MAX_WBITS | 16)


def _deflate(body: bytes, limit: int) -> bytes:
    """`deflate` means zlib, but some servers send the bare stream."""
    is_zlib = body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return _zlib(body, limit, zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)


def _zlib(body: bytes, limit: int, window: int) -> bytes:
    decoder = zlib.decompressobj(window)
    decoded = decoder.decompress(body, limit + 1)
    if len(decoded) > limit:
        raise Overflow(decoded[:limit])
    if not decoder.eof:
        raise EOFError("it ends too early")
    return decoded


def _brotli(body: bytes, limit: int) -> bytes:
    decoder = brotli.Decompressor()
    pieces, size = [decoder.process(body, output_buffer_limit=limit + 1)], 0
    while True:
        size += len(pieces[-1])
        if size > limit:
            raise Overflow(b"".join(pieces)[:limit])
        if decoder.is_finished():
            return b"".join(pieces)
        if decoder.can_accept_more_data():
            raise EOFError("it ends too early")
        pieces.append(decoder.process(b"", output_buffer_limit=limit + 1 - size))


def _zstd(body: bytes, limit: int) -> bytes:
    pieces, size = [], 0
    while body:
        decoder = zstd.ZstdDecompressor()
        pieces.append(decoder.decompress(body, limit + 1 - size))
        size += len(pieces[-1])
        if size > limit:
            raise Overflow(b"".join(pieces)[:limit])
        if not decoder.eof:
            raise EOFError("it ends too early")
        body = decoder.unused_data
    return b"".join(pieces)


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
