"""Redirects: proper, long, endless, foreign and pointless."""

from urllib.parse import quote

from emissary.testing.web.addresses import Addresses
from emissary.testing.web.answers import Answer, Request, Whole, html
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.site import Handler, Route, Site, robots

__all__ = ["moved_site"]

_KINDS = ("301", "302", "303", "307", "308")


def _to(location: str, status: int = 302) -> Whole:
    return Whole(status, (("Location", location), ("Content-Type", "text/plain")), b"Moved.\n")


def _lost() -> Whole:
    return html(plain_page("Not found", "There is no way to that place."), status=404)


def _chain(request: Request) -> Answer:
    n = request.places["n"]
    if not n.isdecimal():
        return _lost()
    return _to(f"/chain/{int(n) - 1}" if int(n) > 1 else "/landed")


def _kind(request: Request) -> Answer:
    kind = request.places["code"]
    return _to("/landed", int(kind)) if kind in _KINDS else _lost()


def _to_site(addresses: Addresses) -> Handler:
    def answer(request: Request) -> Answer:
        query = request.target.partition("?")[2]
        site, path = request.places["site"], "/" + quote(request.places["path"]) + (f"?{query}" if query else "")
        if site in addresses.sites:
            return _to(addresses.url(site, path))
        if site.isdecimal() and 1 <= int(site) <= len(addresses.hosts):
            return _to(addresses.host_url(int(site), path))
        return _lost()

    return answer


def moved_site(addresses: Addresses) -> Site:
    """A host from which everything has moved."""
    landed = html(plain_page("Landed", "You have arrived where the signs pointed."))
    return Site(
        "moved",
        "redirects of every kind",
        (
            robots(),
            Route("/", "the way to /once", lambda _: html(plain_page("Moved", '<a href="/once">This way</a>'))),
            Route("/landed", "where they lead", lambda _: landed),
            Route("/once", "one hop", lambda request: _to(f"{request.origin}/landed", 301)),
            Route("/relative", "one hop, relative Location", lambda _: _to("landed")),
            Route("/chain/{n}", "n hops", _chain),
            Route("/loop", "to itself, for ever", lambda _: _to("/loop")),
            Route("/code/{code}", "one hop by 301, 302, 303, 307 or 308", _kind),
            Route(
                "/to/{site}/{path*}", "to another site by name, or to a numbered host by number", _to_site(addresses)
            ),
            Route("/scheme", "to an ftp: address", lambda _: _to("ftp://127.0.0.1/landed")),
            Route("/nowhere", "a 302 without a Location", lambda _: Whole(302)),
        ),
    )
