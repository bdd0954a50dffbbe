"""What the web gave back: a page, a refusal or nothing, and what we say of it afterwards."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import msgspec

from emissary.model.ids import DocumentId, ReceiptId

__all__ = [
    "Code",
    "Document",
    "Elsewhere",
    "Format",
    "Hop",
    "Image",
    "Link",
    "Outcome",
    "OutcomeKind",
    "Page",
    "Receipt",
    "Refusal",
    "Reply",
    "RobotsNote",
    "Structured",
    "Timings",
    "Unreachable",
    "WebUrl",
]

OutcomeKind = Literal["page", "refusal", "unreachable", "invalid"]


class Format(StrEnum):
    """The forms in which a page can be asked for."""

    RAW_HTML = "rawHtml"
    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"
    LINKS = "links"
    IMAGES = "images"
    METADATA = "metadata"
    STRUCTURED = "structured"
    FIELDS = "fields"


class Code(StrEnum):
    """What came back, in one word."""

    OK = "ok"
    NOT_FOUND = "not_found"
    # the site said no
    ROBOTS = "robots"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    LEGAL = "legal"
    # nothing usable came
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    SERVER_ERROR = "server_error"
    BAD_RESPONSE = "bad_response"
    # it came, and cannot be used
    TOO_LARGE = "too_large"
    BAD_CONTENT = "bad_content"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    MISSING_FIELD = "missing_field"
    # we did not go there
    GUARD = "guard"
    # it went wrong on our side
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class WebUrl:
    """An http or https URL as the one parser read it; `href` has no fragment."""

    href: str
    scheme: str
    host: str
    port: int
    path: str  # with the query: what robots.txt speaks of

    @property
    def origin(self) -> str:
        """Scheme and authority: what robots.txt is kept for."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host, and the port unless it is the scheme's own."""
        default = 443 if self.scheme == "https" else 80
        return self.host if self.port == default else f"{self.host}:{self.port}"


class Hop(msgspec.Struct, frozen=True, rename="camel"):
    """One redirect that was followed."""

    url: str
    status: int
    location: str


class Timings(msgspec.Struct, frozen=True, rename="camel"):
    """Milliseconds, as the fetching side saw them."""

    first_byte_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True)
class Reply:
    """One exchange over HTTP: one request, one answer, no redirect followed."""

    status: int
    headers: dict[str, str]  # names in lower case; repeated fields joined by ", "
    body: bytes
    address: str
    http_version: str
    timings: Timings
    wire_bytes: int
    tls: str | None = None


class RobotsNote(msgspec.Struct, frozen=True, rename="camel"):
    """The robots.txt that was in force, and its line that decided; no line means that nothing spoke against it."""

    sha256: str | None
    rule: str | None
    fetched_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """Content came back and may be used."""

    url: WebUrl
    reply: Reply
    robots: RobotsNote
    content_type: str
    charset: str

    @property
    def body(self) -> bytes:
        return self.reply.body


@dataclass(frozen=True, slots=True)
class Refusal:
    """The site said no. This is an answer, with its evidence, and not an accident."""

    url: WebUrl
    code: Code
    detail: str
    http_status: int | None = None
    retry_at: datetime | None = None
    robots: RobotsNote | None = None


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Nothing usable came back; `passing` says whether the same request may go better later."""

    url: WebUrl
    code: Code
    detail: str
    passing: bool = True
    http_status: int | None = None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The site sends us to another host, which has a lane and house rules of its own."""

    url: WebUrl
    hops: tuple[Hop, ...] = ()


class Outcome(msgspec.Struct, frozen=True, rename="camel"):
    """What became of one request, as the caller sees it."""

    kind: OutcomeKind
    code: Code
    http_status: int | None = None
    retry_at: datetime | None = None
    detail: str | None = None


class Link(msgspec.Struct, frozen=True):
    """A link of the page, absolute."""

    url: str
    text: str
    rel: str = ""


class Image(msgspec.Struct, frozen=True):
    """An image of the page, absolute."""

    url: str
    alt: str = ""


class Structured(msgspec.Struct, frozen=True, rename="camel"):
    """What the page says of itself for machines."""

    json_ld: list[Any] = msgspec.field(default_factory=list)
    microdata: list[Any] = msgspec.field(default_factory=list)
    open_graph: dict[str, Any] = msgspec.field(default_factory=dict)


class Document(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A page as data: only the formats that were asked for are there."""

    id: DocumentId
    url: str
    source_url: str
    title: str | None = None
    language: str | None = None
    raw_html: str | None = None
    html: str | None = None
    markdown: str | None = None
    text: str | None = None
    links: list[Link] | None = None
    images: list[Image] | None = None
    metadata: dict[str, Any] | None = None
    structured: Structured | None = None
    fields: dict[str, Any] | None = None
    missing: list[str] | None = None


class Receipt(msgspec.Struct, frozen=True, rename="camel"):
    """Who asked, under which rule, what came and when: the account an emissary brings back."""

    id: ReceiptId
    agent: str
    fetched_at: datetime
    robots: RobotsNote | None
    lane_wait_ms: int
    redirects: list[Hop]
    address: str | None
    tls: str | None
    timings: Timings | None
    etag: str | None
    last_modified: str | None
    bytes: int
    sha256: str | None
    engine: str
    engine_reason: str
    key_id: str | None = None
    egress: str = "direct"
    capture: None = None
    cache: str = "miss"
