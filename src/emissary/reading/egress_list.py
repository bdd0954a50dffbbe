"""The operator's list of proxies: what stands in EMISSARY_EGRESS becomes a pool's members, or is named as wrong."""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

import ada_url

from emissary.model.errors import SettingsError
from emissary.ports.web import Proxy

__all__ = ["read_proxies"]

_KEYS = frozenset({"name", "url", "provider", "region", "labels"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SCHEMES: dict[str, tuple[Literal["http", "socks5"], int]] = {"http:": ("http", 80), "socks5:": ("socks5", 1080)}


def read_proxies(entries: Iterable[Mapping[str, object]]) -> tuple[Proxy, ...]:
    """The proxies of the list; raises SettingsError, which never shows a URL: there is a password in it."""
    proxies = tuple(_read(entry, place) for place, entry in enumerate(entries, start=1))
    names = [proxy.name for proxy in proxies]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise _wrong(f"there are two proxies named {twice!r}")
    return proxies


def _read(entry: Mapping[str, object], place: int) -> Proxy:
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        raise _wrong(f"entry {place} has the unknown key {unknown[0]!r}; there are {', '.join(sorted(_KEYS))}")
    name = entry.get("name", f"egress-{place}")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == "direct":
        raise _wrong(f"the name of entry {place} has other characters than letters, digits and . _ -, or is 'direct'")
    labels = entry.get("labels", [])
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise _wrong(f"the labels of {name} are not a list of words")
    scheme, host, port, user, password = _parts(entry.get("url"), name)
    return Proxy(
        name,
        scheme,
        host,
        port,
        user=user,
        password=password,
        provider=str(entry.get("provider", "")),
        region=str(entry.get("region", "")),
        labels=frozenset(labels),
    )


def _parts(text: object, name: str) -> tuple[Literal["http", "socks5"], str, int, str | None, str | None]:
    try:
        url = ada_url.URL(text if isinstance(text, str) else "")
    except ValueError:
        raise _wrong(f"the url of {name} is not one such as http://proxy.example:3128") from None
    if url.protocol not in _SCHEMES or not url.hostname:
        raise _wrong(f"the url of {name} does not begin with http:// or socks5:// and a host")
    if url.pathname not in ("", "/") or url.search or url.hash:
        raise _wrong(f"the url of {name} has something after its port")
    scheme, usual = _SCHEMES[url.protocol]
    user = _decoded(url.username) if url.username or url.password else None
    password = None if user is None else _decoded(url.password)
    return scheme, url.hostname.strip("[]"), int(url.port) if url.port else usual, user, password


def _decoded(text: str) -> str:
    plain = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), text.encode())
    return plain.decode(errors="replace")


def _wrong(what: str) -> SettingsError:
    return SettingsError(f"EMISSARY_EGRESS: {what}")
