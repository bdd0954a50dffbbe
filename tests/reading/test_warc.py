"""WARC records as others read them, whatever a site has sent."""

import gzip
import hashlib
import io
import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

# The readers of WARC live beside the tests of the API.
sys.path.append(str(Path(__file__).parents[1] / "api"))

from warcs import both, fastwarc

from emissary.model.captures import Exchange
from emissary.reading.warc import exchange_records, segment_start

_AT = datetime(2030, 1, 1, 12, 30, 15, 250_000, tzinfo=UTC)
_CHANCE = bytes(range(16))


def exchange(
    *, url: str = "http://a.example/", head: bytes = b"HTTP/1.1 200 OK\r\n\r\n", body: bytes = b"hello", **notes: str
) -> Exchange:
    return Exchange(url, _AT, "192.0.2.1", b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", head, body, notes)


def test_a_segment_opens_with_who_wrote_it() -> None:
    (record,) = both(segment_start("Emissary/9", "x.warc.gz", _AT, _CHANCE))
    assert record.kind == "warcinfo"
    assert record.headers["warc-filename"] == "x.warc.gz"
    assert b"software: Emissary/9\r\n" in record.content
    assert b"robots: obey\r\n" in record.content


def test_an_exchange_is_an_answer_with_its_request_and_what_we_know_of_it() -> None:
    response, request, metadata = both(exchange_records(exchange(robotsRule="Allow: /"), _CHANCE))
    assert (response.kind, request.kind, metadata.kind) == ("response", "request", "metadata")
    assert response.content == b"hello"
    assert response.headers["warc-date"] == "2030-01-01T12:30:15.250000Z"
    assert response.headers["warc-ip-address"] == "192.0.2.1"
    assert {request.headers["warc-concurrent-to"], metadata.headers["warc-concurrent-to"]} == {
        response.headers["warc-record-id"]
    }
    assert metadata.content == b"robotsRule: Allow: /\r\n"


@pytest.mark.parametrize("known", [None, hashlib.sha256(b"hello").hexdigest()])
def test_an_answer_has_the_digest_of_its_body_whoever_reckoned_it(known: str | None) -> None:
    records = exchange_records(msgspec.structs.replace(exchange(body=b"hello"), sha256=known), _CHANCE)
    assert both(records)[0].headers["warc-payload-digest"] == f"sha256:{hashlib.sha256(b'hello').hexdigest()}"
    answers = fastwarc.ArchiveIterator(io.BytesIO(records), record_types=fastwarc.WarcRecordType.response)
    assert [answer.verify_payload_digest() for answer in answers] == [True]


def test_a_body_is_packed_once_by_its_site_or_by_us() -> None:
    body = b"<p>the same over and over</p>" * 1000
    sent = gzip.compress(body)
    packed = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\ncontent-encoding: gzip\r\n\r\n"
    for one in (exchange(body=body), exchange(head=packed, body=sent)):
        records = exchange_records(one, _CHANCE)
        assert len(records) < len(body) / 10
        assert both(records)[0].content == body
    odd = exchange(head=packed, body=bytes(3000))
    assert len(exchange_records(odd, _CHANCE)) > 3000, "what its site has packed is not packed again"


@pytest.mark.parametrize("size", [0, 2_000, 32 * 1024 - 700, 32 * 1024, 70_000])
def test_a_record_that_is_not_packed_is_the_very_member_that_zlib_writes(size: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n"
    records = exchange_records(exchange(head=head, body=bytes(range(250)) * (size // 250)), _CHANCE)
    members = 0
    while records:
        decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
        record = decoder.decompress(records)
        assert records == zlib.compress(record, 0, zlib.MAX_WBITS | 16) + decoder.unused_data
        records, members = decoder.unused_data, members + 1
    assert members == 3


def test_every_record_has_a_name_of_its_own() -> None:
    names = [record.headers["warc-record-id"] for record in both(exchange_records(exchange(), _CHANCE))]
    assert len(set(names)) == 3
    assert {UUID(name.removeprefix("<urn:uuid:").removesuffix(">")).version for name in names} == {4}


def test_nothing_that_a_site_sent_begins_a_line_of_ours() -> None:
    odd = "Allow: /\r\nWARC-Type: revisit\n\nWARC/1.1"
    raw = gzip.decompress(exchange_records(exchange(url="http://a.example/\r\nX: y", rule=odd), _CHANCE))
    assert b"\r\nX: y" not in raw
    assert b"\nWARC-Type: revisit" not in raw
    assert sum(line.startswith(b"WARC/1.1") for line in raw.splitlines()) == 3


def test_an_address_that_is_not_known_is_not_claimed() -> None:
    unknown = Exchange("http://a.example/", _AT, "", b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"", {})
    assert all("warc-ip-address" not in record.headers for record in both(exchange_records(unknown, _CHANCE)))


@pytest.mark.parametrize("body", [b"", b"\r\n\r\n", b"WARC/1.1\r\n", bytes(range(256)) * 1000])
def test_a_body_comes_back_byte_for_byte(body: bytes) -> None:
    assert both(exchange_records(exchange(body=body), _CHANCE))[0].content == body


def test_records_can_be_put_one_after_another() -> None:
    raw = segment_start("E/1", "x.warc.gz", _AT, _CHANCE) + exchange_records(exchange(), _CHANCE) * 3
    assert [record.kind for record in both(raw)].count("response") == 3
