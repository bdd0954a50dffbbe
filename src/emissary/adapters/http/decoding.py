"""Content encodings, undone piece by piece with a bound: a small body that becomes a huge one is stopped on the way.

Each piece may unpack into so much, reckoned from what has come over the wire by then, and no decoder is ever asked for
more than that and one byte: what a bomb would have become never exists.
"""

from collections.abc import Callable
from typing import Protocol, cast

import brotli  # type: ignore[import-untyped]
from isal import isal_zlib as zlib  # unpacks a large page in well under half the time

from emissary.adapters.http.errors import BadEncoding
from emissary.adapters.http.limits import Limits
from emissary.model import zstd

__all__ = ["ACCEPT_ENCODING", "Decoding", "Overflow"]

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
_ZlibError = cast("type[Exception]", zlib.error)  # which its types take for an exception itself
_MOST_LAYERS = 3
_MOST_PARTS = 1000  # gzip members or zstd frames: each costs more than its bytes
_BROTLI_STEP = 1024 * 1024
_ZSTD_WINDOW_LOG_MAX = 100  # the number of this parameter in zstd itself
_ZSTD_WINDOW_LOG = 23  # RFC 9659: over HTTP, a window has at most 8 MiB


class Overflow(Exception):
    """The body unpacks into more than was allowed; `start` is what the last piece gave until then."""

    def __init__(self, start: bytes, *, by_ratio: bool) -> None:
        super().__init__("the body unpacks into more than was allowed")
        self.start = start
        self.by_ratio = by_ratio


class _Layer(Protocol):
    """One encoding. `unpack` gives at most so many bytes, and less only when all it was given is used up."""

    def unpack(self, piece: bytes, most: int) -> bytes: ...

    @property
    def ended(self) -> bool: ...


class Decoding:
    """Undoes what a Content-Encoding names, last one first."""

    def __init__(self, encodings: str, limit: int, limits: Limits) -> None:
        names = [encodings] if encodings in _LAYERS else _names(encodings)
        self._layers = [_LAYERS[name]() for name in reversed(names)]
        self._sizes = [0] * len(names)
        self._name = names[0] if names else ""
        self._wire = 0
        self._limit = limit
        self._limits = limits

    def feed(self, piece: bytes) -> bytes:
        """What the next piece unpacks into; raises Overflow or BadEncoding."""
        self._wire += len(piece)
        by_ratio = max(self._limits.ratio_from, self._limits.ratio * self._wire)
        most = min(self._limit, by_ratio)
        for place, layer in enumerate(self._layers):
            left = most - self._sizes[place]
            try:
                piece = layer.unpack(piece, left + 1)
            except (_ZlibError, brotli.error, zstd.ZstdError) as error:
                raise BadEncoding(f"the body is not valid {self._name}") from error
            self._sizes[place] += len(piece)
            if len(piece) > left:
                is_last = place == len(self._layers) - 1
                raise Overflow(piece[:left] if is_last else b"", by_ratio=by_ratio < self._limit)
        return piece

    def finish(self) -> None:
        """The wire has ended: so must the body. No body at all is none that ends too early."""
        if self._wire and not all(layer.ended for layer in self._layers):
            raise BadEncoding(f"the body is not valid {self._name}: it ends too early")


def _names(encodings: str) -> list[str]:
    names = [name for part in encodings.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if len(names) > _MOST_LAYERS:
        raise BadEncoding(f"the body is encoded {len(names)} times over")
    unknown = [name for name in names if name not in _LAYERS]
    if unknown:
        raise BadEncoding(f"unknown content encoding {unknown[0][:40]!r}")
    return names


class _Zlib:
    def __init__(self) -> None:
        self._decoder: zlib.Decompress | None = None
        self._start = b""

    def unpack(self, piece: bytes, most: int) -> bytes:
        if self._decoder is None:
            self._start += piece
            if len(self._start) < 2:
                return b""
            piece, window = self._start, zlib.MAX_WBITS
            # `deflate` means zlib, but some servers send the bare stream.
            is_zlib = piece[0] & 0x0F == 8 and int.from_bytes(piece[:2], "big") % 31 == 0
            self._decoder = zlib.decompressobj(window if is_zlib else -window)
        return self._decoder.decompress(piece, most)

    @property
    def ended(self) -> bool:
        return self._decoder is not None and self._decoder.eof


class _Gzip:
    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._parts = 1

    def unpack(self, piece: bytes, most: int) -> bytes:
        if not self._decoder.eof:
            unpacked = self._decoder.decompress(piece, most)
            if not self._decoder.unused_data:
                return unpacked
            piece = self._decoder.unused_data
        else:
            unpacked = b""
        return unpacked + self._next_members(piece, most - len(unpacked))

    def _next_members(self, piece: bytes, most: int) -> bytes:
        """One member may follow another; whatever else follows is not ours, and browsers leave it, too."""
        unpacked: list[bytes] = []
        while most > 0 and piece[:1] == b"\x1f":
            self._parts += 1
            if self._parts > _MOST_PARTS:
                raise _ZlibError("too many members")
            self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
            unpacked.append(self._decoder.decompress(piece, most))
            most -= len(unpacked[-1])
            piece = self._decoder.unused_data
        return b"".join(unpacked)

    @property
    def ended(self) -> bool:
        return self._decoder.eof


class _Brotli:
    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()

    def unpack(self, piece: bytes, most: int) -> bytes:
        if self._decoder.is_finished():
            if piece:  # within one piece, the decoder says the same
                raise brotli.error("more follows its end")
            return b""
        # In steps: for one large output brotli takes several times its size.
        unpacked: list[bytes] = [self._decoder.process(piece, output_buffer_limit=min(most, _BROTLI_STEP))]
        most -= len(unpacked[0])
        while most > 0 and not self._decoder.can_accept_more_data() and not self._decoder.is_finished():
            unpacked.append(self._decoder.process(b"", output_buffer_limit=min(most, _BROTLI_STEP)))
            most -= len(unpacked[-1])
        return unpacked[0] if len(unpacked) == 1 else b"".join(unpacked)

    @property
    def ended(self) -> bool:
        return bool(self._decoder.is_finished())


class _Zstd:
    def __init__(self) -> None:
        self._decoder = _zstd_decoder()
        self._parts = 1

    def unpack(self, piece: bytes, most: int) -> bytes:
        unpacked: list[bytes] = []
        while piece and most > 0:
            if self._decoder.eof:
                self._parts += 1
                if self._parts > _MOST_PARTS:
                    raise zstd.ZstdError("too many frames")
                self._decoder = _zstd_decoder()
            unpacked.append(self._decoder.decompress(piece, most))
            most -= len(unpacked[-1])
            piece = self._decoder.unused_data if self._decoder.eof else b""
        return unpacked[0] if len(unpacked) == 1 else b"".join(unpacked)

    @property
    def ended(self) -> bool:
        return self._decoder.eof


def _zstd_decoder() -> zstd.ZstdDecompressor:
    return zstd.ZstdDecompressor(options={_ZSTD_WINDOW_LOG_MAX: _ZSTD_WINDOW_LOG})


_LAYERS: dict[str, Callable[[], _Layer]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Zlib,
    "br": _Brotli,
    "zstd": _Zstd,
}
