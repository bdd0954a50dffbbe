"""HTTP caching by RFC 9111, as far as one reader needs it: what may be kept, for whom, and what to ask with. Pure."""

from datetime import datetime, timedelta
from enum import Enum

from emissary.model.cache import CachedPage
from emissary.model.pages import Reply

__all__ = ["Keeping", "conditions", "is_fresh_enough", "keeping_of", "kept_headers", "may_capture", "refreshed"]

_STORABLE = frozenset({200, 203})
# What our requests always say alike: a page that varies with these does not vary for us.
_ALIKE = frozenset({"accept", "accept-encoding", "accept-language", "user-agent"})
_KEPT_FIELDS = frozenset(
    {"content-type", "content-language", "etag", "last-modified", "cache-control", "vary", "link"}
    | {"x-robots-tag", "content-usage", "tdm-reservation", "tdm-policy"}
)


class Keeping(Enum):
    """For whom a copy may be kept."""

    NOBODY = "nobody"
    OWNER = "owner"
    EVERYONE = "everyone"


def keeping_of(reply: Reply, *, with_session: bool, noarchive: bool) -> Keeping:
    """The site decides: `no-store` and `noarchive` keep nothing; `private`, or a session, keeps it to one account."""
    said = _directives(reply.headers.get("cache-control", ""))
    varies = {name.strip().lower() for name in reply.headers.get("vary", "").split(",") if name.strip()}
    if reply.status not in _STORABLE or noarchive or "no-store" in said or "*" in varies:
        return Keeping.NOBODY
    varies -= _ALIKE
    if varies - {"cookie"}:
        return Keeping.NOBODY
    if with_session or varies or "private" in said or "set-cookie" in reply.headers:
        return Keeping.OWNER
    return Keeping.EVERYONE


def may_capture(reply: Reply) -> bool:
    """Whether the exchange may be archived: not if the site asks for no store, or means it for one reader."""
    return _directives(reply.headers.get("cache-control", "")).isdisjoint({"no-store", "private"})


def is_fresh_enough(cached: CachedPage, max_age: timedelta, now: datetime) -> bool:
    """Whether the caller is content with a copy of this age. What the site asked never to use unasked is asked for."""
    said = _directives(cached.headers.get("cache-control", ""))
    return "no-cache" not in said and now - cached.fetched_at <= max_age and max_age > timedelta()


def conditions(cached: CachedPage) -> dict[str, str]:
    """The fields with which the site can say that nothing has changed."""
    fields = {}
    if etag := cached.headers.get("etag"):
        fields["If-None-Match"] = etag
    if modified := cached.headers.get("last-modified"):
        fields["If-Modified-Since"] = modified
    return fields


def kept_headers(reply: Reply) -> dict[str, str]:
    """The fields of an answer that are worth keeping."""
    return {name: value for name, value in reply.headers.items() if name in _KEPT_FIELDS}


def refreshed(cached: CachedPage, reply: Reply, now: datetime) -> CachedPage:
    """The copy after the site has said that it still holds; a 304 may bring newer fields."""
    return CachedPage(
        url=cached.url,
        fetched_at=now,
        status=cached.status,
        headers={**cached.headers, **kept_headers(reply)},
        body=cached.body,
        sha256=cached.sha256,
        wanted=cached.wanted,
        extracted=cached.extracted,
        usage=cached.usage,
    )


def _directives(value: str) -> set[str]:
    return {part.partition("=")[0].strip().lower() for part in value.split(",")}
