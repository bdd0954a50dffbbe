"""The shop: products, lists, sitemaps, and validators that work."""

import gzip
import zlib
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import lru_cache

from emissary.testing.web.answers import Answer, Request, Whole, html, text
from emissary.testing.web.pages import shop
from emissary.testing.web.pages.goods import product
from emissary.testing.web.pages.plain import draw, plain_page
from emissary.testing.web.pages.product import product_page
from emissary.testing.web.site import Route, Site, robots

__all__ = ["shop_site"]

_ROBOTS = """# Come in. The till is not for robots.
User-agent: *
Disallow: /private/
Disallow: /checkout
Allow: /

Sitemap: {origin}/sitemap.xml
"""
_HALF = shop.LISTED // 2


@lru_cache(maxsize=1000)
def _rendered(n: int, origin: str) -> Whole:
    page = product_page(n, origin=origin, at_least=20_000 + draw("size", n, 9_000)).encode()
    headers = (
        ("Content-Type", "text/html; charset=utf-8"),
        ("ETag", f'"p{n}-{zlib.crc32(page):08x}"'),
        ("Last-Modified", format_datetime(product(n).changed_at, usegmt=True)),
        ("Cache-Control", "max-age=60"),
    )
    return Whole(200, headers, page)


def _product(request: Request) -> Answer:
    n = request.places["n"]
    if not n.isdecimal() or not 1 <= int(n) <= 10**9:
        return html(plain_page("Not found", "We do not sell that."), status=404)
    whole = _rendered(int(n), request.origin)
    validators = dict(whole.headers)
    if _unchanged(request.headers, validators["ETag"], product(int(n)).changed_at):
        return Whole(304, whole.headers[1:])
    return whole


def _unchanged(headers: dict[str, str], etag: str, changed_at: datetime) -> bool:
    # RFC 9110, section 13.2.2: a tag outweighs a date.
    if (tags := headers.get("if-none-match")) is not None:
        return tags.strip() == "*" or etag in (tag.strip().removeprefix("W/") for tag in tags.split(","))
    if (since := headers.get("if-modified-since")) is None:
        return False
    try:
        return changed_at <= parsedate_to_datetime(since).replace(tzinfo=UTC)
    except ValueError:
        return False


def _listing(request: Request) -> Answer:
    page = int(request.number("page", 1))
    if not 1 <= page <= shop.PAGES:
        return html(plain_page("Not found", "The list is not that long."), status=404)
    return html(shop.listing_page(request.origin, page))


def _picture(request: Request) -> Answer:
    n, _, view = request.places["name"].partition("-")
    if not (n.isdecimal() and view.isdecimal()):
        return html(plain_page("Not found", "There is no such picture."), status=404)
    return text(shop.picture(int(n), int(view)), kind="image/svg+xml", headers=(("Cache-Control", "max-age=86400"),))


def _sitemap_index(request: Request) -> Answer:
    return text(shop.sitemap_index(request.origin, ("/sitemap-1.xml", "/sitemap-2.xml.gz")), kind="application/xml")


def _sitemap_plain(request: Request) -> Answer:
    return text(shop.sitemap(request.origin, range(1, _HALF + 1)), kind="application/xml")


def _sitemap_gzipped(request: Request) -> Answer:
    packed = gzip.compress(shop.sitemap(request.origin, range(_HALF + 1, shop.LISTED + 1)).encode(), mtime=0)
    return Whole(200, (("Content-Type", "application/gzip"),), packed)


def _said(title: str, words: str) -> Whole:
    return html(plain_page(title, words))


def shop_site() -> Site:
    """Quayside Stores."""
    return Site(
        "shop",
        "a shop with a hundred listed goods",
        (
            robots(_ROBOTS, about="allows all but /private/ and /checkout; names the sitemap"),
            Route("/", "the entrance", lambda request: html(shop.index_page(request.origin))),
            Route("/product/{n}", "a product of 20 to 30 KB, with ETag and Last-Modified (304)", _product),
            Route("/listing?page=", "pages 1 to 5 of twenty products, with rel=next", _listing),
            Route("/sitemap.xml", "an index of the two sitemaps", _sitemap_index),
            Route("/sitemap-1.xml", "products 1 to 50", _sitemap_plain),
            Route("/sitemap-2.xml.gz", "products 51 to 100, gzipped", _sitemap_gzipped),
            Route("/img/{name}.svg", "the pictures", _picture),
            Route("/about/{topic}", "small print", lambda _: _said("About", "A shop that exists only for tests.")),
            Route("/checkout", "closed by robots.txt", lambda _: _said("Till", "A robot should not be here.")),
            Route("/private/{rest*}", "closed by robots.txt", lambda _: _said("Staff", "A robot should not be here.")),
        ),
    )
