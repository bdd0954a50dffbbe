"""What the web gave back: a page, a refusal or nothing, and what we say of it afterwards."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

import msgspec

from emissary.model.captures import Capture
from emissary.model.ids import DocumentId, ReceiptId

__all__ = [
    "Code",
    "Directives",
    "Document",
    "Elsewhere",
    "Format",
    "Heads",
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
    "Ruled",
    "Structured",
    "Timings",
    "Unchanged",
    "Unreachable",
    "UsagePreferences",
    "WebUrl",
]

_SET_COOKIE = re.compile(rb"^set-cookie:[ \t]*([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_TRANSFER_ENCODING = re.compile(rb"^transfer-encoding:", re.IGNORECASE | re.MULTILINE)

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
    SOFT_404 = "soft_404"
    # the site said no
    ROBOTS = "robots"
    OPTED_OUT = "opted_out"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    LEGAL = "legal"
    CHALLENGE = "challenge"
    WAITING_ROOM = "waiting_room"
    LOGIN_WALL = "login_wall"
    CONSENT_WALL = "consent_wall"
    # nothing usable came
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    SERVER_ERROR = "server_error"
    BAD_RESPONSE = "bad_response"
    PROXY = "proxy"
    # it came, and cannot be used
    TOO_LARGE = "too_large"
    BAD_CONTENT = "bad_content"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    MISSING_FIELD = "missing_field"
    EXTRACTION_FAILED = "extraction_failed"
    # we did not go there
    GUARD = "guard"
    LIMIT = "limit"
    # it went wrong on our side
    INTERNAL = "internal"
    POISON = "poison"


class WebUrl(msgspec.Struct, frozen=True, gc=False):
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


class Timings(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Milliseconds, as the fetching side saw them."""

    first_byte_ms: float
    total_ms: float
    # How the connection came about; nothing, if there was one already.
    dns_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None


class Heads(msgspec.Struct, frozen=True, gc=False):
    """The heads of an exchange as they went over the wire: every line ends in CRLF, none goes on in the next."""

    request: bytes
    response: bytes


class Reply(msgspec.Struct, frozen=True, dict=True):  # one for every page: a dataclass takes ten times as long to make
    """One exchange over HTTP: one request, one answer, no redirect followed."""

    status: int
    headers: dict[str, str]  # names in lower case; repeated fields joined by ", "
    body: bytes
    address: str
    http_version: str
    timings: Timings
    wire_bytes: int
    tls: str | None = None  # the protocol and the cipher
    wire: bytes = b""  # the body before its Content-Encoding was undone; the very `body` where there was none
    egress: str = "direct"
    heads: Heads | None = None

    @cached_property
    def sha256(self) -> str:
        """The digest of the body, which receipt, copy and capture share."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def set_cookies(self) -> tuple[str, ...]:
        """The cookies that the answer sets, one by one: joined, they could not be told apart."""
        if self.heads is None or "set-cookie" not in self.headers:
            return ()
        return tuple(value.decode("latin-1").rstrip(" \t") for value in _SET_COOKIE.findall(self.heads.response))

    @property
    def request_head(self) -> bytes:
        """What was sent, but for a body."""
        return b"" if self.heads is None else self.heads.request

    @property
    def response_head(self) -> bytes:
        """What came before `wire`. As `wire` has no chunks any more, their header is kept under another name."""
        if self.heads is None or "transfer-encoding" not in self.headers:
            return b"" if self.heads is None else self.heads.response
        head = _TRANSFER_ENCODING.sub(b"X-Archive-Orig-Transfer-Encoding:", self.heads.response)
        return b"%bContent-Length: %d\r\n\r\n" % (head[:-2], len(self.wire))


class RobotsNote(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The robots.txt that was in force, and its line that decided; no line means that nothing spoke against it."""

    sha256: str | None
    rule: str | None
    fetched_at: datetime


class Page(msgspec.Struct, frozen=True, gc=False):
    """Content came back and may be used; `code` says whether it is the page or an apology for its absence."""

    url: WebUrl
    reply: Reply
    robots: RobotsNote
    content_type: str
    charset: str
    code: Code = Code.OK
    evidence: tuple[str, ...] = ()
    usage: Mapping[str, bool] = {}  # what robots.txt says about the use of it

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
    evidence: tuple[str, ...] = ()
    rest_until: datetime | None = None  # when the host that we are at wants to be seen again, for whatever page


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Nothing usable came back; `passing` says whether the same request may go better later."""

    url: WebUrl
    code: Code
    detail: str
    passing: bool = True
    http_status: int | None = None
    stale: bool = False  # a connection kept from before broke before anything came: nothing says that it was our fault
    back_at: datetime | None = None  # when there is a way out again, where there was none, and so nobody was asked


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The copy that we have still holds: the site said so."""

    url: WebUrl
    reply: Reply
    robots: RobotsNote
    usage: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ruled:
    """The house rules of the URL's host are known, and nothing else was wanted of it."""

    url: WebUrl
    robots: RobotsNote
    sitemaps: tuple[str, ...] = ()  # as robots.txt spells them


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The page, or the robots.txt that speaks of it, is to be asked for at another host, which has its own lane."""

    url: WebUrl
    hops: tuple[Hop, ...] = ()
    rules: WebUrl | None = None  # the robots.txt, where that comes first
    detours: int = 0  # how often the lane has changed so far for its sake

    @property
    def place(self) -> WebUrl:
        """What is asked for next: in the lane of its host."""
        return self.rules or self.url


class Outcome(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What became of one request, as the caller sees it."""

    kind: OutcomeKind
    code: Code
    http_status: int | None = None
    retry_at: datetime | None = None
    detail: str | None = None
    evidence: list[str] | msgspec.UnsetType = msgspec.UNSET  # not shown where there is none


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


class Directives(msgspec.Struct, frozen=True, rename="camel"):
    """What a page asks of whoever has read it; none of it is about whether it may be read."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


class UsagePreferences(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a site says about the use of its content; only what it has said is there."""

    content_usage: dict[str, bool] = msgspec.field(default_factory=dict)  # as in `train-ai=n`: False
    tdm_reservation: bool | None = None
    tdm_policy: str | None = None


class Receipt(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Who asked, under which rule, what came and when: the account an emissary brings back."""

    id: ReceiptId
    agent: str
    fetched_at: datetime
    lane_wait_ms: int
    redirects: list[Hop]
    key_id: str | None = None
    robots: RobotsNote | None = None
    address: str | None = None
    tls: str | None = None
    timings: Timings | None = None
    etag: str | None = None
    last_modified: str | None = None
    bytes: int = 0
    wire_bytes: int = 0
    sha256: str | None = None
    engine: Literal["http", "cache"] = "http"
    engine_reason: str = "the only engine here"
    egress: str = "direct"
    capture: Capture | None = None
    cache: Literal["miss", "hit", "revalidated"] = "miss"
    directives: Directives | None = None
    usage_preferences: UsagePreferences | None = None
