"""Cookies by RFC 6265, for sessions that ask for them: kept per site, never across public suffixes. Pure."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from ipaddress import ip_address

import msgspec
from publicsuffixlist import PublicSuffixList

from emissary.model.pages import WebUrl

__all__ = ["Cookie", "Cookies"]

_MOST_PER_DOMAIN = 50
_MOST_IN_ALL = 1_000
_LONGEST = 4_096
_LONGEST_LIFE = timedelta(days=400)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Cookie(msgspec.Struct, frozen=True, omit_defaults=True):
    """One cookie, and where it may be sent."""

    name: str
    value: str
    domain: str
    path: str
    host_only: bool = True
    secure: bool = False
    expires: datetime | None = None

    def goes_to(self, url: WebUrl, now: datetime) -> bool:
        """Whether a request for the URL carries this cookie."""
        return (
            (self.expires is None or self.expires > now)
            and (url.scheme == "https" or not self.secure)
            and (url.host == self.domain if self.host_only else _within(url.host, self.domain))
            and _path_matches(url.path.partition("?")[0], self.path)
        )


class Cookies(msgspec.Struct, frozen=True):
    """The cookies of one session."""

    kept: tuple[Cookie, ...] = ()

    def header_for(self, url: WebUrl, now: datetime) -> str | None:
        """What the request says in its Cookie field; the longest paths first, as servers expect."""
        sent = sorted((cookie for cookie in self.kept if cookie.goes_to(url, now)), key=lambda each: -len(each.path))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in sent) or None

    def after(self, url: WebUrl, lines: Iterable[str], now: datetime) -> "Cookies":
        """The cookies once the answer from the URL has set its own."""
        kept = {(each.domain, each.path, each.name): each for each in self.kept}
        for line in lines:
            cookie = _parse(line, url, now)
            if cookie is not None:
                key = cookie.domain, cookie.path, cookie.name
                kept.pop(key, None)  # one that is set again is the newest
                kept[key] = cookie
        alive = [each for each in kept.values() if each.expires is None or each.expires > now]
        return Cookies(tuple(_bounded(alive)))


def _bounded(cookies: list[Cookie]) -> list[Cookie]:
    """The newest of each domain, and the newest of all: no site can fill the session up."""
    counts: dict[str, int] = {}
    chosen: list[Cookie] = []
    for cookie in reversed(cookies):
        counts[cookie.domain] = counts.get(cookie.domain, 0) + 1
        if counts[cookie.domain] <= _MOST_PER_DOMAIN and len(chosen) < _MOST_IN_ALL:
            chosen.append(cookie)
    return chosen[::-1]


def _parse(line: str, url: WebUrl, now: datetime) -> Cookie | None:
    if len(line) > _LONGEST or _CONTROL.search(line):
        return None
    pair, *rest = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name:
        return None
    said = {key.strip().lower(): text.strip() for key, _, text in (part.partition("=") for part in rest)}
    place = _place(said.get("domain", ""), url)
    secure = "secure" in said
    if place is None or (secure and url.scheme != "https") or _breaks_its_prefix(name, said, url):
        return None
    domain, host_only = place
    path = said.get("path", "")
    return Cookie(
        name=name,
        value=value,
        domain=domain,
        path=path if path.startswith("/") else _default_path(url),
        host_only=host_only,
        secure=secure,
        expires=_expires(said, now),
    )


def _place(named: str, url: WebUrl) -> tuple[str, bool] | None:
    """The domain that the cookie belongs to, and whether to that host alone; None if it may not be set from here."""
    domain = named.lstrip(".").lower()
    if not domain or domain == url.host:
        return url.host, not domain or _is_public(domain)
    if not _within(url.host, domain) or _is_public(domain):
        return None
    return domain, False


def _breaks_its_prefix(name: str, said: dict[str, str], url: WebUrl) -> bool:
    if name.startswith("__Host-"):
        return "secure" not in said or said.get("path") != "/" or "domain" in said or url.scheme != "https"
    return name.startswith("__Secure-") and ("secure" not in said or url.scheme != "https")


def _expires(said: dict[str, str], now: datetime) -> datetime | None:
    age = said.get("max-age", "")
    if re.fullmatch(r"-?\d{1,15}", age):
        return now + min(timedelta(seconds=max(min(int(age), 10**9), 0)), _LONGEST_LIFE)
    if "expires" not in said:
        return None
    try:
        moment = parsedate_to_datetime(said["expires"].replace("-", " "))
    except ValueError:
        return None
    return min(moment.replace(tzinfo=moment.tzinfo or UTC), now + _LONGEST_LIFE)


def _default_path(url: WebUrl) -> str:
    return url.path.partition("?")[0].rpartition("/")[0] or "/"


def _path_matches(path: str, of: str) -> bool:
    return path == of or (path.startswith(of) and (of.endswith("/") or path[len(of) : len(of) + 1] == "/"))


def _within(host: str, domain: str) -> bool:
    return host == domain or (host.endswith(f".{domain}") and not _is_address(host))


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _is_public(domain: str) -> bool:
    """Whether the domain belongs to many: `com`, `co.uk`, `github.io`."""
    return not _is_address(domain) and bool(_suffixes().is_public(domain))


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
