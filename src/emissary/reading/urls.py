"""The one place where a string becomes a URL, by the WHATWG's rules."""

import ada_url

from emissary.model.errors import BadRequest
from emissary.model.pages import WebUrl

__all__ = ["join", "parse"]

_LONGEST = 8_192
_LONGEST_HOST = 253
_PORTS = {"http:": 80, "https:": 443}


def parse(text: str) -> WebUrl:
    """The URL as it will be dialled; raises BadRequest with what is wrong about it."""
    if len(text) > _LONGEST:
        raise _bad(text, f"is longer than {_LONGEST} characters")
    try:
        url = ada_url.URL(text)
    except ValueError:
        raise _bad(text, "is not an absolute URL, such as https://example.org/page") from None
    return _read(url, text)


def join(base: WebUrl, reference: str) -> WebUrl:
    """Where a reference on the page leads; raises BadRequest if that is nowhere we go."""
    if len(reference) > _LONGEST:
        raise _bad(reference, f"is longer than {_LONGEST} characters")
    try:
        url = ada_url.URL(reference, base.href)
    except ValueError:
        raise _bad(reference, "is not a URL") from None
    return _read(url, reference)


def _read(url: ada_url.URL, text: str) -> WebUrl:
    scheme, host = url.protocol, url.hostname
    if scheme not in _PORTS:
        raise _bad(text, f"has the scheme {scheme[:-1]!r}: only http and https are read")
    if "@" in text and (url.username or url.password):
        raise _bad(text, "carries a user name or password: Emissary signs in nowhere")
    if not host:
        raise _bad(text, "names no host")
    if len(host) > _LONGEST_HOST:
        raise _bad(text, f"names a host of more than {_LONGEST_HOST} characters")
    port = url.port
    return WebUrl(
        href=url.href.partition("#")[0],
        scheme=scheme[:-1],
        host=host,
        port=int(port) if port else _PORTS[scheme],
        path=url.pathname + url.search,
    )


def _bad(text: str, what: str) -> BadRequest:
    shown = text if len(text) <= 100 else text[:100] + "…"
    return BadRequest(f"{shown!r} {what}", "invalid_url")
