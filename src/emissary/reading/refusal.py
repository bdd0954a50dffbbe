"""What came back: a page, a refusal or nothing of use. Pure."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from emissary.model.pages import Code, Page, Refusal, Reply, RobotsNote, Unreachable, WebUrl
from emissary.reading.charset import charset_of

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


def read(url: WebUrl, reply: Reply, robots: RobotsNote, now: datetime) -> Page | Refusal | Unreachable:
    """A refusal is an answer: the site said no, and we say so."""
    status = reply.status
    later = retry_at(reply.headers.get("retry-after"), now)
    if status in _REFUSED:
        return Refusal(url, _REFUSED[status], f"the site answered {status}", status, later, robots)
    if status == 503 and later is not None:
        return Refusal(url, Code.UNAVAILABLE, "the site is busy and says when to come back", status, later, robots)
    if status >= 500:
        return Unreachable(url, Code.SERVER_ERROR, f"the site answered {status}", http_status=status)
    return _page(url, reply, robots)


def _page(url: WebUrl, reply: Reply, robots: RobotsNote) -> Page | Unreachable:
    declared = reply.headers.get("content-type", "")
    kind = declared.partition(";")[0].strip().lower() or _guess(reply.body)
    if not (kind.startswith(_TEXTUAL) or kind.endswith(("+xml", "+json"))):
        detail = f"the page is {kind}, which is not text"
        return Unreachable(url, Code.BAD_CONTENT, detail, passing=False, http_status=reply.status)
    return Page(url, reply, robots, kind, charset_of(reply.body, declared))


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
