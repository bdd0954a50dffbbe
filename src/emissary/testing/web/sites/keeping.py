"""Pages that say what may be kept of them and for whom, and cookies that are set and shown."""

import hashlib
from html import escape
from itertools import count

from emissary.testing.web.answers import Answer, Headers, Request, Whole, html
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.site import Handler, Route

__all__ = ["keeping_routes"]

_WISHES = {
    "header": ("", (("X-Robots-Tag", "noarchive"),)),
    "meta": ('<meta name="robots" content="noarchive, nofollow">', ()),
    "usage": ("", (("Content-Usage", "train-ai=n"), ("TDM-Reservation", "1"))),
    "other": ("", (("X-Robots-Tag", "otherbot: noarchive"),)),
}


def _cached() -> Handler:
    numbers = count(1)

    def answer(request: Request) -> Answer:
        asked = request.query
        tag = f'"{asked["etag"]}"' if "etag" in asked else None
        headers: Headers = (("Cache-Control", request.places["directive"]),)
        headers += (("Vary", asked["vary"]),) if "vary" in asked else ()
        headers += (("ETag", tag),) if tag else ()
        headers += (("Set-Cookie", asked["cookie"]),) if "cookie" in asked else ()
        if tag and request.headers.get("if-none-match") == tag:
            return Whole(304, headers)
        return html(plain_page("Kept or not", f"Told for the time number {next(numbers)}."), headers=headers)

    return answer


def _set_cookie(request: Request) -> Answer:
    headers = tuple(("Set-Cookie", f"{name}={value}; Path=/") for name, value in request.query.items())
    return html(plain_page("A cookie for you", "Keep it until you come again."), headers=headers)


def _greet() -> Handler:
    numbers = count(1)

    def answer(_request: Request) -> Answer:
        # A value that is in no URL and on no page: whoever finds it anywhere has found the cookie itself.
        value = hashlib.sha256(f"visitor {next(numbers)}".encode()).hexdigest()
        return html(
            plain_page("Welcome", "We shall know you again."), headers=(("Set-Cookie", f"visitor={value}; Path=/"),)
        )

    return answer


def _show_cookies(request: Request) -> Answer:
    return html(plain_page("Your cookies", f"<code>{escape(request.headers.get('cookie', 'none'))}</code>"))


def _wishing(request: Request) -> Answer:
    if (how := request.places["how"]) not in _WISHES:
        return html(plain_page("Not found", "There is no such wish."), status=404)
    meta, headers = _WISHES[how]
    page = plain_page("Do not keep this", "Read it, and let it go.")
    return html(page.replace("</head>", f"{meta}</head>"), headers=headers)


def keeping_routes() -> tuple[Route, ...]:
    """What a site may ask of those who would keep something."""
    return (
        Route(
            "/cache/{directive}?vary=&etag=&cookie=",
            "another page each time, with that Cache-Control; 304 if the etag is shown",
            _cached(),
        ),
        Route("/cookies/set?{name}=", "sets the cookies of the query", _set_cookie),
        Route("/cookies/greet", "sets a cookie that is told nowhere else", _greet()),
        Route("/cookies/show", "the cookies that were sent", _show_cookies),
        Route("/wishes/{how}", "noarchive by header or meta, or for other bots; usage preferences", _wishing),
    )
