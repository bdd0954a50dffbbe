"""An extract function for children that does to its process whatever the page tells it to, and pages that tell it."""

import os
import resource
import socket
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from emissary.model.extraction import Extracted, Wanted
from emissary.model.pages import Format, Page, Reply, RobotsNote, Timings, WebUrl

__all__ = ["TEXT", "page_of", "rough", "said"]

TEXT = Wanted(frozenset({Format.TEXT}))
_MIB = 1024 * 1024
_HOARD: list[bytearray] = []


def page_of(body: bytes | str, content_type: str = "text/html", charset: str = "utf-8", *, secret: str = "") -> Page:
    sent = body.encode(charset) if isinstance(body, str) else body
    return Page(
        url=WebUrl("https://a.example/x", "https", "a.example", 443, "/x"),
        reply=Reply(200, {"set-cookie": secret}, sent, "192.0.2.1", "1.1", Timings(1.0, 2.0), len(sent)),
        robots=RobotsNote(None, None, datetime(2026, 1, 1, tzinfo=UTC)),
        content_type=content_type,
        charset=charset,
    )


def said(text: str) -> Extracted:
    """What `rough` gives for a page that tells it to do nothing but say this."""
    return Extracted("https://a.example/x", text=text)


def rough(page: Page, wanted: Wanted) -> Extracted:
    """Do the page's first word with its second; a page of any other word is read."""
    deed, _, rest = page.body.decode().partition(" ")
    if deed == "look":
        return Extracted(page.url.href, metadata=_look(page))
    if deed == "swell":
        return Extracted(page.url.href, text="x" * (int(rest) * _MIB))
    _DEEDS.get(deed, lambda _: None)(rest)
    return said(rest or deed)


def _hang(_: str) -> NoReturn:
    while True:
        pass


def _eat(_: str) -> NoReturn:
    while True:
        _HOARD.append(bytearray(_MIB))


def _hoard(mib: str) -> None:
    _HOARD.append(bytearray(int(mib) * _MIB))


def _fail(reason: str) -> NoReturn:
    raise ValueError(reason)


def _babble(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
    os.write(1, text.encode())
    os.write(2, text.encode())


_DEEDS: dict[str, Callable[[str], object]] = {
    "hang": _hang,
    "eat": _eat,
    "hoard": _hoard,
    "fail": _fail,
    "babble": _babble,
    "abort": lambda _: os.abort(),
    "exit": lambda code: os._exit(int(code)),
}


def _look(page: Page) -> dict[str, object]:
    """What there is to see from in here."""
    return {
        "headers": page.reply.headers,
        "environment": sorted(os.environ),  # noqa: TID251 - whether there is anything in it is what is asked
        "niceness": os.nice(0),
        "memory": resource.getrlimit(resource.RLIMIT_AS)[0],
        "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
        "file": _error_of(lambda: Path("/etc/hostname").read_text()),
        "socket": _error_of(socket.socket),
    }


def _error_of(deed: Callable[[], object]) -> str:
    try:
        deed()
    except OSError as error:
        return error.strerror
    return "it worked"
