"""What goes wrong on the web: refusals, delays, breaks and floods."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import format_datetime

from emissary.testing.web.answers import After, Answer, Hang, Headers, Request, Reset, Streamed, Whole, html, text
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.site import Handler, Route, Site, robots
from emissary.testing.web.sites.content import content_routes
from emissary.testing.web.sites.keeping import keeping_routes

__all__ = ["trouble_site"]

_MIB = 1024 * 1024
_STORY = html(plain_page("Low tide", *["The boats lie on the mud and wait, and so do we."] * 20))


def _status(request: Request) -> Answer:
    code = request.places["code"]
    if not code.isdecimal() or not 200 <= int(code) <= 599:
        return html(plain_page("Not found", "That is not a status of an answer."), status=404)
    extra: Headers = (("WWW-Authenticate", 'Basic realm="Saltmere"'),) if code == "401" else ()
    return html(plain_page(f"Status {code}", "As you asked."), status=int(code), headers=extra)


def _wait(status: int, retry_after: str) -> Whole:
    return html(plain_page("Later", "Please come back later."), status=status, headers=(("Retry-After", retry_after),))


def _wait_seconds(status: int) -> Handler:
    return lambda request: _wait(status, f"{request.number('after', 2):g}")


def _wait_until(now: Callable[[], datetime]) -> Handler:
    def answer(request: Request) -> Answer:
        until = now() + timedelta(seconds=request.number("after", 2))
        return _wait(429, format_datetime(until, usegmt=True))

    return answer


def _flaky() -> Handler:
    asked: Counter[str] = Counter()

    def answer(request: Request) -> Answer:
        key, n = request.places["key"], request.places["n"]
        asked[key] += 1
        if n.isdecimal() and asked[key] <= int(n):
            return html(plain_page("Unavailable", "Try once more."), status=503)
        return html(plain_page("Here after all", f"It took {asked[key]} attempts."))

    return answer


def _slow(request: Request) -> Answer:
    return After(request.number("seconds", 1), _STORY)


def _drip(request: Request) -> Answer:
    body, drops = _STORY.body, 20
    size = -(-len(body) // drops)
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    return Streamed(pieces, _STORY.headers, length=len(body), pause=request.number("seconds", 2) / drops)


def _cut(request: Request) -> Answer:
    half = iter([_STORY.body[: len(_STORY.body) // 2]])
    if request.query.get("framing") == "chunked":
        return Streamed(half, _STORY.headers, cut=True)
    return Streamed(half, _STORY.headers, length=len(_STORY.body), cut=True)


def _huge(request: Request) -> Answer:
    piece = b"<p>The tide comes in, and the tide goes out. </p>\n".ljust(64, b" ") * 1024
    count = int(request.number("mib", 64)) * _MIB // len(piece)
    return Streamed((piece for _ in range(count)), (("Content-Type", "text/html; charset=utf-8"),))


def _big_headers(request: Request) -> Answer:
    length = int(request.number("kib", 64)) * 1024
    return html(plain_page("Heavy", "Look at the header."), headers=(("X-Ballast", "b" * length),))


def _echo(request: Request) -> Answer:
    seen = {"method": request.exchange.method, "path": request.target, "headers": request.headers}
    return text(json.dumps(seen), kind="application/json")


def trouble_site(now: Callable[[], datetime]) -> Site:
    """A host that is in trouble, each path in its own way."""
    return Site(
        "trouble",
        "everything that goes wrong",
        (
            robots(),
            Route("/", "a page that works", lambda _: _STORY),
            Route("/status/{code}", "that status, 200 to 599", _status),
            Route("/429?after=", "429 with Retry-After in seconds (2)", _wait_seconds(429)),
            Route("/429-date?after=", "429 with Retry-After as a date", _wait_until(now)),
            Route("/503?after=", "503 with Retry-After in seconds (2)", _wait_seconds(503)),
            Route("/flaky/{key}/{n}", "503 for the first n requests with that key, then a page", _flaky()),
            Route("/slow?seconds=", "a page after so many seconds (1)", _slow),
            Route("/drip?seconds=", "a page in twenty drops over so many seconds (2)", _drip),
            Route("/cut?framing=", "closed in mid body, by length or (framing=chunked) by chunk", _cut),
            Route("/reset", "the connection is reset", lambda _: Reset()),
            Route("/hang", "never an answer", lambda _: Hang()),
            Route("/huge?mib=", "so many MiB (64), length unknown", _huge),
            Route("/bigheaders?kib=", "a header field of so many KiB (64)", _big_headers),
            Route("/headers", "the request's headers as JSON", _echo),
            *content_routes(),
            *keeping_routes(),
        ),
    )
