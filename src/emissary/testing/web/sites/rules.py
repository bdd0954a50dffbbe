"""Sites that differ in their robots.txt: closed, missing, broken, busy, slow, moved, kept elsewhere, too large."""

from emissary.testing.web.addresses import Addresses
from emissary.testing.web.answers import Answer, Hang, Request, Whole, html, text
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.site import Route, Site, robots

__all__ = ["rules_sites"]

_CLOSED = "User-agent: *\nDisallow: /\nAllow: /open/\n"
_USAGE = "User-agent: *\nContent-Usage: train-ai=n, search=y\nContent-Usage: /free/ train-ai=y\n"
_SIZE = 600 * 1024


def _page(request: Request) -> Answer:
    path = request.places.get("rest", "")
    return html(plain_page(f"House rules: /{path[:40].replace('<', '')}", "What matters here is robots.txt."))


def _big_robots() -> Whole:
    # A reader must take 500 KiB (RFC 9309, section 2.5) and may stop there: /late/ is closed only for the thorough.
    filler = "".join(f"Disallow: /shelf/{n:06d}/\n" for n in range(_SIZE // 25))
    rules = f"User-agent: *\nDisallow: /early/\n{filler}"
    padding = "# padding\n" * ((_SIZE - len(rules)) // 10)
    return text(f"{rules}{padding}Disallow: /late/\n")


def _site(name: str, about: str, *rules: Route) -> Site:
    anything = Route("/{rest*}", "any path is a page", _page)
    return Site(name, about, (*rules, anything))


def _sent_on(name: str, about: str, location: str) -> Site:
    return _site(name, about, Route("/robots.txt", f"301: {about}", lambda _: Whole(301, (("Location", location),))))


def rules_sites(addresses: Addresses) -> tuple[Site, ...]:
    """One site for each thing that a robots.txt can be."""
    missing = html(plain_page("Not found", "No rules were left here."), status=404)
    broken = html(plain_page("Unavailable", "The rules are being rewritten."), status=503)
    busy = html(plain_page("Later", "The rules are being read."), status=503, headers=(("Retry-After", "3600"),))
    moved = Whole(301, (("Location", "/rules/robots.txt"),))
    by_two = addresses.url("moved", "/to/lentrobots/robots.txt")
    big = _big_robots()
    return (
        _site("closed", "closed to robots, but for /open/", robots(_CLOSED, about="disallows all but /open/")),
        _site("norobots", "no robots.txt", Route("/robots.txt", "404", lambda _: missing)),
        _site("brokenrobots", "robots.txt out of order", Route("/robots.txt", "503", lambda _: broken)),
        _site("slowrobots", "robots.txt never comes", Route("/robots.txt", "never an answer", lambda _: Hang())),
        _site(
            "movedrobots",
            "robots.txt is elsewhere",
            Route("/robots.txt", "301 to /rules/robots.txt", lambda _: moved),
            Route("/rules/robots.txt", "disallows /private/", lambda _: text("User-agent: *\nDisallow: /private/\n")),
        ),
        _site(
            "bigrobots",
            "robots.txt of 600 KiB",
            Route("/robots.txt", "disallows /early/ at its start and /late/ after 600 KiB", lambda _: big),
        ),
        _sent_on("lentrobots", "robots.txt is kept by `closed`", addresses.url("closed", "/robots.txt")),
        _sent_on("farrobots", "robots.txt is three hosts away", by_two),
        _sent_on("ringrobots", "robots.txt goes round", addresses.url("moved", "/to/ringrobots/robots.txt")),
        _site("busyrobots", "robots.txt wants patience", Route("/robots.txt", "503 for an hour", lambda _: busy)),
        _site("usagerobots", "wishes about use", robots(_USAGE, about="no training but under /free/; search")),
    )
