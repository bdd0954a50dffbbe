"""Content encodings, undone piece by piece."""

import tracemalloc
import zlib

import pytest

from emissary.adapters.http.decoding import Decoding, Overflow
from emissary.adapters.http.errors import BadEncoding
from emissary.adapters.http.limits import Limits
from emissary.model import zstd
from emissary.testing.web.packing import CODINGS, coding_name, pack

_PAGE = b"<html>" + bytes(range(256)) * 20 + b"</html>"
_LIMITS = Limits()


def _unpack(encodings: str, *pieces: bytes, limit: int = 1_000_000, limits: Limits = _LIMITS) -> bytes:
    decoding = Decoding(encodings, limit, limits)
    unpacked = b"".join(decoding.feed(piece) for piece in pieces)
    decoding.finish()
    return unpacked


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("size", [1, 2, 3, 1000, 1_000_000])
def test_it_does_not_matter_where_the_pieces_end(coding: str, size: int) -> None:
    packed = pack(coding, _PAGE)
    pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
    assert _unpack(coding_name(coding), *pieces) == _PAGE


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_that_ends_too_early_is_not_passed_off_as_whole(coding: str) -> None:
    packed = pack(coding, _PAGE)
    for end in (1, len(packed) // 2, len(packed) - 1):
        with pytest.raises(BadEncoding):
            _unpack(coding_name(coding), packed[:end])


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_noise_is_not_an_encoding(coding: str) -> None:
    with pytest.raises(BadEncoding):
        _unpack(coding, b"\xff<html>this is not packed at all</html>" * 5)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("size", [1, 100, 1_000_000])
def test_never_more_than_the_limit_comes_out(coding: str, size: int) -> None:
    packed = pack(coding, bytes(5_000_000))
    decoding = Decoding(coding_name(coding), 70_000, _LIMITS)
    got: list[bytes] = []

    def feed() -> None:
        got.extend(decoding.feed(packed[start : start + size]) for start in range(0, len(packed), size))

    with pytest.raises(Overflow) as overflow:
        feed()
    assert len(overflow.value.start) + sum(map(len, got)) == 70_000
    assert not overflow.value.by_ratio


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_never_more_than_the_ratio_comes_out(coding: str) -> None:
    decoding = Decoding(coding, 64 * 1024 * 1024, Limits(ratio_from=10_000))
    packed = pack(coding, bytes(50_000_000))[:100]
    with pytest.raises(Overflow) as overflow:
        decoding.feed(packed)
    assert overflow.value.by_ratio
    assert len(overflow.value.start) <= 200 * 100


@pytest.mark.parametrize("coding", CODINGS)
def test_what_a_bomb_would_become_never_exists(coding: str) -> None:
    """All of it in one piece: the decoder itself has to stop."""
    packed = pack(coding, bytes(100_000_000))
    decoding = Decoding(coding_name(coding), 1_000_000, _LIMITS)
    tracemalloc.start()
    try:
        with pytest.raises(Overflow):
            decoding.feed(packed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000


def test_two_encodings_are_undone_last_one_first() -> None:
    assert _unpack("gzip, br", pack("br", pack("gzip", _PAGE))) == _PAGE
    assert _unpack(" identity , GZIP ", pack("gzip", _PAGE)) == _PAGE


def test_nothing_is_a_body_too() -> None:
    assert _unpack("gzip") == b""


def test_members_and_frames_follow_one_another() -> None:
    assert _unpack("gzip", pack("gzip", b"one ") + pack("gzip", b"two")) == b"one two"
    assert _unpack("gzip", pack("gzip", b"one "), pack("gzip", b"two")) == b"one two"
    assert _unpack("zstd", pack("zstd", b"one ") + pack("zstd", b"two")) == b"one two"


def test_what_follows_the_last_member_is_left() -> None:
    assert _unpack("gzip", pack("gzip", b"page") + b"\0\0\0 padding") == b"page"
    assert _unpack("gzip", pack("gzip", b"page"), b"padding") == b"page"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_thousand_and_more_members_are_a_trick(coding: str) -> None:
    with pytest.raises(BadEncoding):
        _unpack(coding, pack(coding, b"") * 1100)


def test_a_window_larger_than_http_allows_is_refused() -> None:
    """RFC 9659: a window of 128 MiB would be taken from us before anything is unpacked."""
    compressor = zstd.ZstdCompressor(options={101: 27, 100: 19})  # windowLog, compressionLevel
    packed = compressor.compress(_PAGE) + compressor.flush()
    with pytest.raises(BadEncoding):
        _unpack("zstd", packed)


def test_zlib_itself_agrees() -> None:
    assert zlib.decompress(pack("gzip", _PAGE), 31) == _unpack("x-gzip", pack("gzip", _PAGE))
