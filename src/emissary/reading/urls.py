"""The one place where a string becomes a URL, by the WHATWG's rules."""

import ada_url

from emissary.model.errors import BadRequest
from emissary.model.pages import WebUrl

__all__ = ["join", "parse"]

_LONGEST = 8_192
_LONGEST_HOST = 253
_PORTS = {"http": 80, "https": 443}


def parse(text: str) -> WebUrl:
    """The URL as it will be dialled; raises BadRequest with what is wrong about it."""
    if len(text) > _LONGEST:
        raise _bad(text, f"is longer than {_LONGEST} characters")
    try:
        href = ada_url.normalize_url(text)
    except ValueError:
        raise _bad(text, "is not an absolute URL, such as https://example.org/page") from None
    return _read(href, text)


def join(base: WebUrl, reference: str) -> WebUrl:
    """Where a reference on the page leads; raises BadRequest if that is nowhere we go."""
    if len(reference) > _LONGEST:
        raise _bad(reference, f"is longer than {_LONGEST} characters")
    try:
        href = ada_url.join_url(base.href, reference)
    except ValueError:
        raise _bad(reference, "is not a URL") from None
    return _read(href, reference)


def _read(whole: str, text: str) -> WebUrl:
    """Its parts, cut out of the whole: the parser has written it so that they stand in one way only."""
    href = whole.partition("#")[0]
    scheme, _, rest = href.partition(":")
    if scheme not in _PORTS:
        raise _bad(text, f"has the scheme {scheme!r}: only http and https are read")
    authority, _, path = rest[2:].partition("/")
    if "@" in authority:
        raise _bad(text, "carries a user name or password: Emissary signs in nowhere")
    host, port = _host_and_port(authority)
    if not host:
        raise _bad(text, "names no host")
    if len(host) > _LONGEST_HOST:
        raise _bad(text, f"names a host of more than {_LONGEST_HOST} characters")
    if path.find("?") == len(path) - 1:  # a query without anything in it is none
        path = path[:-1]
    return WebUrl(href, scheme, host, port or _PORTS[scheme], f"/{path}")


def _host_and_port(authority: str) -> tuple[str, int | None]:
    if ":" not in authority or authority.endswith("]"):
        return authority, None
    host, _, port = authority.rpartition(":")
    return host, int(port)


def _bad(text: str, what: str) -> BadRequest:
    shown = text if len(text) <= 100 else text[:100] + "…"
    return BadRequest(f"{shown!r} {what}", "invalid_url")
