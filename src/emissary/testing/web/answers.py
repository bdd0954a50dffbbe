"""What a site is asked, and the forms an answer can take: proper ones, slow ones and broken ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from math import isfinite
from urllib.parse import parse_qsl, unquote

from emissary.testing.web.log import Exchange

__all__ = [
    "After",
    "Answer",
    "Hang",
    "Headers",
    "Prepared",
    "Request",
    "Reset",
    "Streamed",
    "Whole",
    "html",
    "text",
    "write_head",
]

Headers = tuple[tuple[str, str], ...]

_BODILESS = frozenset({204, 304})
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Request:
    """One exchange as a site reads it. Nothing is parsed before a site asks for it."""

    def __init__(self, exchange: Exchange, origin: str) -> None:
        self.exchange = exchange
        self.origin = origin
        self.target = exchange.path
        self.places: dict[str, str] = {}  # what the route's placeholders stand for

    @cached_property
    def path(self) -> str:
        return unquote(self.target.partition("?")[0])

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.target.partition("?")[2]))

    @cached_property
    def headers(self) -> dict[str, str]:
        return self.exchange.headers

    def number(self, name: str, default: float) -> float:
        """A number from the query; what is not one, or has no end, counts as not given."""
        try:
            given = float(self.query.get(name, default))
        except ValueError:
            return default
        return given if isfinite(given) else default


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer with a length, sent at once."""

    status: int = 200
    headers: Headers = ()
    body: bytes = b""

    def head(self, *, closing: bool) -> bytes:
        length: Headers = () if self.status in _BODILESS else (("Content-Length", str(len(self.body))),)
        return write_head(self.status, self.headers + length, closing=closing)


@dataclass(frozen=True, slots=True)
class Prepared:
    """An answer whose bytes are ready before anyone asks: the benchmark's pages."""

    whole: Whole
    wire: bytes

    @classmethod
    def of(cls, whole: Whole) -> "Prepared":
        return cls(whole, whole.head(closing=False) + whole.body)


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer made while it is sent. One that ends before its `length`, or is `cut`, ends with the connection."""

    pieces: Iterator[bytes]
    headers: Headers = ()
    status: int = 200
    length: int | None = None
    pause: float = 0.0  # seconds between pieces
    cut: bool = False


@dataclass(frozen=True, slots=True)
class After:
    """The same answer, some seconds later."""

    seconds: float
    answer: "Answer"


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer, ever; the connection stays open."""


@dataclass(frozen=True, slots=True)
class Reset:
    """No answer; the connection is reset."""


Answer = Whole | Prepared | Streamed | After | Hang | Reset


def write_head(status: int, headers: Headers, *, closing: bool) -> bytes:
    """The status line and the header fields, as they go over the wire."""
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, 'Unnamed')}", *(f"{name}: {value}" for name, value in headers)]
    if closing:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def html(page: str, *, status: int = 200, headers: Headers = ()) -> Whole:
    """A page in UTF-8."""
    return Whole(status, (("Content-Type", "text/html; charset=utf-8"), *headers), page.encode())


def text(words: str, *, status: int = 200, kind: str = "text/plain", headers: Headers = ()) -> Whole:
    """Any other text in UTF-8."""
    return Whole(status, (("Content-Type", f"{kind}; charset=utf-8"), *headers), words.encode())
