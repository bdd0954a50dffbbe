"""Pages as lines of a body, some thousand at a time: a million take no more memory than one piece."""

from collections.abc import AsyncGenerator, AsyncIterable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from emissary.client.calling import Pieces
from emissary.model.errors import BadRequest

__all__ = ["Pages", "as_pieces", "can_be_had_again"]

Page = str | bytes | Mapping[str, Any]
Pages = Iterable[Page] | AsyncIterable[Page] | Path
"""URLs, objects with `url` and `metadata`, or whole lines as bytes; or a file with a URL or such an object a line."""

_ENOUGH = 64 * 1024


def can_be_had_again(pages: Pages) -> bool:
    """Whether they are still there once they were sent: a generator's are gone."""
    return isinstance(pages, Path | Collection)


def as_pieces(options: Mapping[str, object], pages: Pages) -> Pieces:
    """The options, and behind them the pages, as pieces of a body."""
    if isinstance(pages, str | bytes):
        raise BadRequest("a batch is a list of URLs: give `[url]`, or a Path for a file of them")

    async def pieces() -> AsyncGenerator[bytes, None]:
        waiting, size = [msgspec.json.encode(options)], 0
        async for page in _each(pages):
            waiting.append(_line(page))
            size += len(waiting[-1])
            if size > _ENOUGH:
                yield b"\n".join([*waiting, b""])
                waiting, size = [], 0
        if waiting:
            yield b"\n".join([*waiting, b""])

    return pieces


async def _each(pages: Pages) -> AsyncGenerator[Page, None]:
    if isinstance(pages, AsyncIterable):
        async for page in pages:
            yield page
    elif isinstance(pages, Path):
        with _opened(pages) as file:
            for line in file:
                yield line.strip()
    else:
        for page in pages:
            yield page


def _opened(file: Path) -> Any:
    try:
        return file.open("rb")
    except OSError as error:
        raise BadRequest(f"{file} cannot be read: {error.strerror}") from error


def _line(page: Page) -> bytes:
    if isinstance(page, bytes):
        return page
    return msgspec.json.encode({"url": page} if isinstance(page, str) else page)
