"""Sitemaps as sitemaps.org has them, and feeds that serve as such. Pure: reads what can be read of a file, and no more.

Entities are refused, so that a small file cannot stand for a large one, nor for a file of ours.
"""

import io
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from xml.parsers import expat

__all__ = ["MAX_SITEMAP_BYTES", "MOST_ENTRIES", "Entry", "Sitemap", "read_sitemap"]

MAX_SITEMAP_BYTES = 50 * 1024 * 1024
MOST_ENTRIES = 50_000
_MOST_ELEMENTS = 2_000_000
_MOST_LINES = 4 * MOST_ENTRIES
_MOST_REPAIRS = 10 * MOST_ENTRIES
_DEEPEST = 64
_MOST_PARTS = 1_000  # gzip members: each costs more than its bytes
_LONGEST = 8_192
_GZIP_MAGIC = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_ROOTS = frozenset({"urlset", "sitemapindex", "rss", "feed", "rdf"})
# What lists a page, and which of its elements are of use; a `link` of a sitemap's page leads to a translation.
_HOLDERS = {
    "url": frozenset({"loc", "lastmod"}),
    "sitemap": frozenset({"loc", "lastmod"}),
    "item": frozenset({"link"}),
    "entry": frozenset({"link", "updated"}),
}
_PLACES = frozenset({"loc", "link"})
# An ampersand that is not written as XML wants it is the commonest fault there is.
_LOOSE_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)")
_W3C_TIME = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?)?)?")


@dataclass(frozen=True, slots=True)
class Entry:
    """A URL as the file spells it, and when it last changed, as far as the file says so in the protocol's form."""

    url: str
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What a file lists: pages, and further sitemaps. Both together are no more than the protocol allows."""

    pages: tuple[Entry, ...] = ()
    sitemaps: tuple[Entry, ...] = ()


def read_sitemap(body: bytes) -> Sitemap | None:
    """What the file lists, packed or not; None if it is no sitemap. Of a broken one, what comes before the break."""
    text = _unpacked(body) if body.startswith(_GZIP_MAGIC) else body[:MAX_SITEMAP_BYTES]
    if text.startswith(_UTF16_BOMS):
        return _Listing().read(text)
    text = text.removeprefix(_UTF8_BOM).lstrip()
    if text.startswith(b"<"):
        return _Listing().read(_LOOSE_AMPERSAND.sub(b"&amp;", text, count=_MOST_REPAIRS))
    return _plain(text)


def _unpacked(body: bytes) -> bytes:
    """At most so much as a sitemap may have, however much more it would become."""
    pieces, left = [], MAX_SITEMAP_BYTES
    for _ in range(_MOST_PARTS):
        unpacking = zlib.decompressobj(wbits=31)
        try:
            piece = unpacking.decompress(body, left)
        except zlib.error:
            break
        pieces.append(piece)
        left -= len(piece)
        body = unpacking.unused_data
        if not body or not left:
            break
    return b"".join(pieces)


def _plain(text: bytes) -> Sitemap | None:
    """A URL on each line; a file with any other text in it is something else."""
    entries: list[Entry] = []
    for line in islice(io.BytesIO(text), _MOST_LINES):
        url = line.strip().decode("utf-8", "replace")
        if not url:
            continue
        if not url.lower().startswith(("http://", "https://")):
            return None
        entries.append(Entry(url))
        if len(entries) == MOST_ENTRIES:
            break
    return Sitemap(tuple(entries)) if entries else None


class _Enough(Exception):
    """No more is read of this file."""


class _Listing:
    """Hears the file element by element, and keeps nothing but entries: no tree is ever built."""

    def __init__(self) -> None:
        self._pages: list[Entry] = []
        self._sitemaps: list[Entry] = []
        self._elements = 0
        self._root_is_known = False
        self._path: list[str] = []
        self._holder = 0  # how deep the entry is in which we are; 0 outside of one
        self._field: str | None = None
        self._heard: list[str] = []
        self._heard_length = 0
        self._in_cdata = False
        self._url = self._time = ""

    def read(self, text: bytes) -> Sitemap | None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._hear
        parser.StartCdataSectionHandler = lambda: self._note_cdata(inside=True)
        parser.EndCdataSectionHandler = lambda: self._note_cdata(inside=False)
        parser.EntityDeclHandler = _refuse_entity
        # What came before a break counts. The last two are for encodings that Python cannot read, or does not know.
        with suppress(_Enough, expat.ExpatError, ValueError, LookupError):
            parser.Parse(text, True)
        return Sitemap(tuple(self._pages), tuple(self._sitemaps)) if self._root_is_known else None

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2].lower()
        self._elements += 1
        if not self._path:
            self._root_is_known = name in _ROOTS
        if not self._root_is_known or self._elements > _MOST_ELEMENTS or len(self._path) >= _DEEPEST:
            raise _Enough
        self._path.append(name)
        if not self._holder and name in _HOLDERS:
            self._holder, self._url, self._time = len(self._path), "", ""
        elif self._holder and len(self._path) == self._holder + 1 and name in _HOLDERS[self._path[-2]]:
            self._field, self._heard, self._heard_length = name, [], 0
            if name == "link" and attributes.get("rel", "alternate") == "alternate":
                self._url = self._url or attributes.get("href", "")  # as Atom has it

    def _end(self, _tag: str) -> None:
        name = self._path.pop()
        depth = len(self._path) + 1
        if self._field is not None and depth == self._holder + 1:
            self._take("".join(self._heard).strip())
        elif self._holder and depth == self._holder:
            self._holder = 0
            self._add(name)

    def _hear(self, text: str) -> None:
        if self._field is not None and self._heard_length <= _LONGEST:
            self._heard.append(text.replace("&amp;", "&") if self._in_cdata else text)
            self._heard_length += len(text)

    def _note_cdata(self, *, inside: bool) -> None:
        self._in_cdata = inside

    def _take(self, said: str) -> None:
        if self._field in _PLACES:
            self._url = self._url or said
        elif _W3C_TIME.fullmatch(said):
            self._time = said
        self._field = None

    def _add(self, holder: str) -> None:
        if not self._url or len(self._url) > _LONGEST:
            return
        entry = Entry(self._url, self._time or None)
        (self._sitemaps if holder == "sitemap" else self._pages).append(entry)
        if len(self._pages) + len(self._sitemaps) >= MOST_ENTRIES:
            raise _Enough


def _refuse_entity(*_declared: object) -> None:
    raise _Enough
