"""What a client of the other format may ask for that is not done here: refused, or left undone and said so."""

from collections.abc import Mapping
from typing import Any

from emissary.model.errors import BadRequest

__all__ = ["REFUSED", "UNHONOURED", "left_undone"]

# Asked for and not done, these would act on a site, hide who asks, or break a promise to the caller.
REFUSED: Mapping[str, str] = {
    "ignoreRobotsTxt": "robots.txt is asked before every page, and nothing switches that off",
    "robotsUserAgent": "house rules are read for our own name and no other",
    "mobile": "we do not pass for a telephone",
    "actions": "pages are read and not acted on",
    "profile": "there are no browsers here whose state could be used again",
    "webhook": "events of this format are not sent: ask for the status, or see /v1/webhooks",
    "appendToId": "a batch takes no pages after it has begun: begin another",
    "regexOnFullURL": "patterns are looked for in path and query only",
    "prompt": "there is no language model here: use includePaths and excludePaths",
    "zeroDataRetention": "results are kept, so that you can come back for them",
    "redactPII": "pages are given as they are",
    "lockdown": "a page of which there is no copy would be read",
}

UNHONOURED: Mapping[str, str] = {
    "skipTlsVerification": "certificates are always checked",
    "waitFor": "no browser reads the page",
    "location": "we are where we are",
    "includeTags": "there is no such filter",
    "excludeTags": "there is no such filter",
    "parsers": "documents other than text are not read",
    "delay": "the pace is that of the host",
    "maxConcurrency": "the pace is that of the hosts",
    "allowExternalLinks": "a crawl stays on its site",
    "ignoreQueryParameters": "a crawl tells pages apart by their query",
    "deduplicateSimilarURLs": "only equal URLs are one page",
    "ignoreCache": "a map is never a copy",
    "minAge": "copies are not preferred for being old",
    "threatProtection": "no list of threats is asked",
}

# Sent by the clients on their own, or without a meaning where no browser is: nobody needs to be told.
_IDLE = frozenset({"origin", "integration", "blockAds", "fastMode", "removeBase64Images", "auditMetadata", "useIndex"})

_PLAIN_PROXIES = ("basic", "auto")
# What says who asks, or for whom. Others are only not sent.
_TELLING = frozenset({"user-agent", "cookie", "authorization", "from", "referer", "origin", "forwarded", "via"})
_TELLING_FAMILIES = ("sec-", "x-forwarded-", "signature", "proxy-")
_LONGEST_NAME = 60
_MOST_NAMED = 20


def left_undone(given: Mapping[str, Any], *, inside: str = "") -> list[str]:
    """What of these keys will not be done, each with its reason. Raises BadRequest where that must not pass in silence.

    A key that is false, null or empty asks for nothing.
    """
    said, unknown = [], []
    for name, value in given.items():
        if not value or name in _IDLE or (name == "proxy" and value in _PLAIN_PROXIES):
            continue
        shown = f"{inside}{name}"[:_LONGEST_NAME]
        if name in REFUSED:
            raise BadRequest(f"{shown}: {REFUSED[name]}")
        if name == "headers":
            said.append(_headers_undone(shown, value))
        elif name == "proxy":
            said.append(f"{shown} is not honoured: we go out under our own name")
        elif name in UNHONOURED:
            said.append(f"{shown} is not honoured: {UNHONOURED[name]}")
        else:
            unknown.append(shown)
    if unknown:
        said.append(f"not known here: {', '.join(unknown[:_MOST_NAMED])}")
    return said


def _headers_undone(shown: str, headers: object) -> str:
    names = [str(name).strip().lower() for name in headers] if isinstance(headers, dict) else []
    telling = [name for name in names if name in _TELLING or name.startswith(_TELLING_FAMILIES)]
    if telling:
        named = telling[0][:_LONGEST_NAME]
        raise BadRequest(f"{shown}: {named!r} would say something else about who asks, and is not sent")
    return f"{shown} is not honoured: pages are asked for with our own headers"
