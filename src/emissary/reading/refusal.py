"""What came back: a page, a refusal or nothing of use. Pure."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from emissary.model.pages import Code, Hop, Page, Refusal, Reply, RobotsNote, Unreachable, WebUrl
from emissary.reading.charset import charset_of
from emissary.reading.walls import Reaction, Wall, recognise

__all__ = ["read", "retry_at"]

_REFUSED = {
    401: Code.UNAUTHORIZED,
    403: Code.FORBIDDEN,
    407: Code.UNAUTHORIZED,
    429: Code.RATE_LIMITED,
    451: Code.LEGAL,
}
_LONGEST_WAIT = timedelta(days=1)
_TEXTUAL = ("text/", "application/xhtml+xml", "application/xml", "application/json", "application/ld+json")


def read(
    url: WebUrl,
    reply: Reply,
    robots: RobotsNote,
    now: datetime,
    *,
    hops: tuple[Hop, ...] = (),
    any_content: bool = False,
) -> Page | Refusal | Unreachable:
    """A refusal is an answer: the site said no, by its status or by what it put in place of the page, and we say so.

    `hops` are the redirects that led here: they tell a sign-in page that was asked for from one that was not.
    With `any_content` what is not text is a page as well.
    """
    later = retry_at(reply.headers.get("retry-after"), now)
    wall = recognise(Reaction(url, reply, hops))
    if wall is not None and wall.code is not Code.SOFT_404:
        come_back = later or (None if wall.wait is None else now + min(timedelta(seconds=wall.wait), _LONGEST_WAIT))
        return Refusal(url, wall.code, wall.detail, reply.status, come_back, robots, wall.evidence)
    return _by_status(url, reply, robots, later) or _page(url, reply, robots, wall, any_content=any_content)


def _by_status(url: WebUrl, reply: Reply, robots: RobotsNote, later: datetime | None) -> Refusal | Unreachable | None:
    status, evidence = reply.status, (f"status {reply.status}",)
    if status in _REFUSED:
        return Refusal(url, _REFUSED[status], f"the site answered {status}", status, later, robots, evidence)
    if status == 503 and later is not None:
        detail = "the site is busy and says when to come back"
        return Refusal(url, Code.UNAVAILABLE, detail, status, later, robots, (*evidence, "Retry-After"))
    if 300 <= status < 400:
        detail = f"the site answered {status} and does not say where to go"
        return Unreachable(url, Code.BAD_RESPONSE, detail, passing=False, http_status=status)
    if status >= 500:
        return Unreachable(url, Code.SERVER_ERROR, f"the site answered {status}", http_status=status)
    return None


def _page(
    url: WebUrl, reply: Reply, robots: RobotsNote, apology: Wall | None, *, any_content: bool
) -> Page | Unreachable:
    declared = reply.headers.get("content-type", "")
    kind = declared.partition(";")[0].strip().lower() or _guess(reply.body)
    if not (any_content or kind.startswith(_TEXTUAL) or kind.endswith(("+xml", "+json"))):
        detail = f"the page is {kind}, which is not text"
        return Unreachable(url, Code.BAD_CONTENT, detail, passing=False, http_status=reply.status)
    charset = charset_of(reply.body, declared)
    if apology is not None:
        return Page(url, reply, robots, kind, charset, apology.code, apology.evidence)
    return Page(url, reply, robots, kind, charset, Code.NOT_FOUND if reply.status >= 400 else Code.OK)


def _guess(body: bytes) -> str:
    """A page without a type: text, unless it has bytes that no text has."""
    return "application/octet-stream" if b"\x00" in body[:1024] else "text/html"


def retry_at(value: str | None, now: datetime) -> datetime | None:
    """When the site wants us back: Retry-After in seconds or as a date; a day at the longest, never the past."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return now + min(timedelta(seconds=int(text[:9])), _LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return min(max(moment, now), now + _LONGEST_WAIT)
