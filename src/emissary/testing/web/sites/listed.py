"""Sites whose pages are found by their sitemaps alone: no page of them leads to another."""

import gzip
from collections.abc import Iterable
from functools import cache

from emissary.testing.web.addresses import Addresses
from emissary.testing.web.answers import Answer, Request, Whole, html, text
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.site import Route, Site, robots

__all__ = ["LONG", "listed_sites"]

LONG = 5_000
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_BOMB = """<?xml version="1.0"?>
<!DOCTYPE urlset [<!ENTITY a "{a}/leaf/666"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<urlset><url><loc>&b;</loc></url></urlset>
"""


def _urls(addresses: Iterable[str]) -> str:
    lines = "\n".join(f"<url><loc>{address}</loc><lastmod>2026-10-01</lastmod></url>" for address in addresses)
    return f"<urlset>\n{lines}\n</urlset>\n"


def _index(request: Request) -> Answer:
    names = ("/sitemap.xml", "/broken.xml", "/list.txt", "/bomb.xml", "/gone.xml", "/shut/map.xml", "/odd.xml")
    lines = "\n".join(f"<sitemap><loc>{request.origin}{name}</loc></sitemap>" for name in names)
    return text(f"{_HEAD}<sitemapindex>\n{lines}\n</sitemapindex>\n", kind="application/xml")


def _broken(request: Request) -> Answer:
    whole = _urls(f"{request.origin}/leaf/{n}?of=5&lost={n}" for n in range(1, 6))
    return text(_HEAD + whole[: whole.rindex("<lastmod>")], kind="application/xml")


def _lines(request: Request, far: str) -> Answer:
    addresses = [f"{request.origin}/leaf/{n}" for n in range(10, 15)]
    return text("\n".join([*addresses, far, addresses[0], f"{request.origin}/shut/leaf"]) + "\n")


@cache
def _long(origin: str) -> bytes:
    return gzip.compress((_HEAD + _urls(f"{origin}/leaf/{n}" for n in range(LONG))).encode(), mtime=0)


def listed_sites(addresses: Addresses) -> tuple[Site, ...]:
    """Leaves, and the lists that name them."""
    leaf = html(plain_page("A leaf", "Nothing leads on from here."))
    far = addresses.url("shop", "/product/1")
    return _listed(leaf, far), _longlisted(leaf)


def _listed(leaf: Whole, far: str) -> Site:
    return Site(
        "listed",
        "pages that only sitemaps name",
        (
            robots("User-agent: *\nDisallow: /shut/\n", about="closes /shut/ and names no sitemap"),
            Route("/", "an entrance that leads nowhere", lambda _: leaf),
            Route("/leaf/{n}", "a page; any number", lambda _: leaf),
            Route("/sitemap.xml", "an index: itself, and one sitemap of each bad kind", _index),
            Route("/broken.xml", "four pages and a half, with loose ampersands", _broken),
            Route(
                "/list.txt", "five pages, one of them twice, one of another site, one closed", lambda r: _lines(r, far)
            ),
            Route("/bomb.xml", "entities in entities", lambda r: text(_BOMB.replace("{a}", r.origin))),
            Route("/odd.xml", "not a sitemap, and says 200", lambda _: leaf),
            Route("/shut/{rest*}", "closed by robots.txt", lambda _: leaf),
        ),
    )


def _longlisted(leaf: Whole) -> Site:
    packed = (("Content-Type", "application/x-gzip"),)
    return Site(
        "longlisted",
        "a long sitemap",
        (
            robots("User-agent: *\nDisallow:\n\nSitemap: /long.xml.gz\n", about="names the sitemap, without its host"),
            Route("/", "an entrance that leads nowhere", lambda _: leaf),
            Route("/leaf/{n}", "a page; any number", lambda _: leaf),
            Route("/long.xml.gz", "five thousand pages, gzipped", lambda r: Whole(200, packed, _long(r.origin))),
        ),
    )
