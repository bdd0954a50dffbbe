"""Compressed bodies: made whole for pages, and piece by piece for bombs, which never exist unpacked on our side."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import brotli  # type: ignore[import-untyped]

from emissary.model import zstd

__all__ = ["CODINGS", "coding_name", "pack", "pack_zeros"]

_MIB = 1024 * 1024


class _Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class _Brotli:
    """Brotli's compressor under the names that the others use."""

    def __init__(self) -> None:
        self._compressor = brotli.Compressor(quality=4)

    def compress(self, data: bytes, /) -> bytes:
        packed: bytes = self._compressor.process(data)
        return packed

    def flush(self) -> bytes:
        packed: bytes = self._compressor.finish()
        return packed


# "deflate" is the zlib format; "deflate-raw" is the mistake that servers make under the same name.
CODINGS: dict[str, Callable[[], _Packer]] = {
    "gzip": lambda: zlib.compressobj(wbits=31),
    "deflate": lambda: zlib.compressobj(wbits=15),
    "deflate-raw": lambda: zlib.compressobj(wbits=-15),
    "br": _Brotli,
    "zstd": zstd.ZstdCompressor,
}


def coding_name(coding: str) -> str:
    """What Content-Encoding calls it."""
    return "deflate" if coding == "deflate-raw" else coding


def pack(coding: str, body: bytes) -> bytes:
    """A whole body, packed."""
    return b"".join(_packed(CODINGS[coding](), [body]))


def pack_zeros(coding: str, mib: int) -> Iterator[bytes]:
    """So many MiB of zeros, packed while they are sent."""
    zeros = bytes(_MIB)
    return _packed(CODINGS[coding](), (zeros for _ in range(mib)))


def _packed(packer: _Packer, parts: Iterable[bytes]) -> Iterator[bytes]:
    # A piece may be empty: the packer keeps some back, and the sender gives others a turn in between.
    for part in parts:
        yield packer.compress(part)
    yield packer.flush()
