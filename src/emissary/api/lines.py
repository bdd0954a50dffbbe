"""Bodies that are read line by line, so that a million lines take no more memory than some thousand."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from emissary.api.schemas import is_too_deep
from emissary.model.errors import BadRequest
from emissary.products.scrape.batches import Faulty, Line

__all__ = ["AT_ONCE", "NDJSON", "first_and_rest", "lines_of", "options_in"]

NDJSON = "application/x-ndjson"
AT_ONCE = 2_000
_LONGEST = 64 * 1024
_MOST_NAMES = 50
_SHOWN = 200
_LISTS = frozenset({"formats"})
_TEXTS = frozenset({"name", "engine", "session", "dedupe", "priority"})

_decode_line = msgspec.json.Decoder(Line).decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode
_decode = msgspec.json.Decoder().decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def options_in(query: QueryParams) -> dict[str, Any]:
    """The options of a query: words as they are, `formats` repeated or with commas, everything else as JSON."""
    return {name: _option(name, query.getlist(name)) for name in query}


def _option(name: str, given: list[str]) -> object:
    if name in _LISTS:
        return [each for text in given for each in text.split(",")]
    if len(given) > 1:
        raise BadRequest(f"the query has `{name}` more than once")
    if name in _TEXTS:
        return given[0]
    try:
        return _decode(given[0])
    except _UNREADABLE:
        return given[0]  # the shape says what it should have been


async def lines_of(request: Request) -> AsyncIterator[bytes]:
    """The lines of the body as they come; empty ones are left out."""
    rest, before = b"", 0
    try:
        async for piece in request.stream():
            *whole, rest = (rest + piece).split(b"\n")
            _check_lengths((*whole, rest), before)
            before += len(whole)
            for line in whole:
                if stripped := line.strip():
                    yield stripped
    except ClientDisconnect as error:
        raise BadRequest("the connection ended before the body did") from error
    if stripped := rest.strip():
        yield stripped


def _check_lengths(lines: Sequence[bytes], before: int) -> None:
    for number, line in enumerate(lines, start=before + 1):
        if len(line) > _LONGEST:
            raise BadRequest(f"line {number} of the body is too long: send lines of at most {_LONGEST:,} bytes")


async def first_and_rest(
    lines: AsyncIterator[bytes],
) -> tuple[Mapping[str, Any], AsyncIterator[list[Line | Faulty]]]:
    """The options, if the first line has them and no `url`; and the pages, some thousand at a time."""
    first = await anext(lines, None)
    if first is None:
        return {}, _chunks([], lines)
    try:
        found = _decode_object(first)
    except _UNREADABLE:
        return {}, _chunks([first], lines)
    return ({}, _chunks([first], lines)) if "url" in found else (found, _chunks([], lines))


async def _chunks(before: list[bytes], lines: AsyncIterator[bytes]) -> AsyncIterator[list[Line | Faulty]]:
    index, chunk = len(before), [_line(0, line) for line in before]
    async for line in lines:
        chunk.append(_line(index, line))
        index += 1
        if len(chunk) >= AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _line(index: int, text: bytes) -> Line | Faulty:
    """A line may be a JSON object with a `url`, a JSON string, or the bare URL."""
    if text[:1] not in (b"{", b'"'):
        return Line(text.decode(errors="replace"))
    try:
        line = _decode_line(text if text[:1] == b"{" else b'{"url":' + text + b"}")
    except msgspec.ValidationError:
        return _faulty(index, text, "invalid_request")
    except _UNREADABLE:
        return _faulty(index, text, "invalid_json")
    if line.metadata is not None and (len(line.metadata) > _MOST_NAMES or is_too_deep(line.metadata)):
        return _faulty(index, text, "invalid_request")
    return line


def _faulty(index: int, text: bytes, code: str) -> Faulty:
    return Faulty(index, text[:_SHOWN].decode(errors="replace"), code)
