"""The shop's other pages: the entrance, the lists, and the maps for crawlers."""

from collections.abc import Iterable

from emissary.testing.web.pages.frame import shop_frame
from emissary.testing.web.pages.goods import product
from emissary.testing.web.pages.plain import draw
from emissary.testing.web.pages.product import tile

__all__ = ["LISTED", "PAGES", "PER_PAGE", "index_page", "listing_page", "picture", "sitemap", "sitemap_index"]

PER_PAGE = 20
PAGES = 5
LISTED = PER_PAGE * PAGES
_SITEMAPS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def index_page(origin: str) -> str:
    """The entrance."""
    tiles = "\n".join(tile(n, "/product") for n in (3, 14, 27, 38, 41, 56, 72, 90))
    body = f"""<h1>Things that last, from the quay at Saltmere</h1>
<p>Tools, kitchenware and clothes that can be mended. <a href="/listing?page=1">See all {LISTED} articles</a>.</p>
<h2>Chosen this week</h2>
<ul class="tiles">
{tiles}
</ul>"""
    return shop_frame("Things that last", body, head=f'<link rel="canonical" href="{origin}/">')


def listing_page(origin: str, page: int) -> str:
    """Page 1 to 5 of all goods, twenty to a page."""
    first = (page - 1) * PER_PAGE + 1
    tiles = "\n".join(tile(n, "/product") for n in range(first, first + PER_PAGE))
    around = {"prev": page - 1, "next": page + 1}
    turns = {rel: f"/listing?page={number}" for rel, number in around.items() if 1 <= number <= PAGES}
    head = "\n".join(f'<link rel="{rel}" href="{origin}{path}">' for rel, path in turns.items())
    links = " ".join(f'<a rel="{rel}" href="{path}">{rel.capitalize()}</a>' for rel, path in turns.items())
    body = f"""<h1>All goods</h1>
<p class="count">{first} to {first + PER_PAGE - 1} of {LISTED}</p>
<ul class="tiles">
{tiles}
</ul>
<nav class="pages" aria-label="Pages">Page {page} of {PAGES} {links}</nav>"""
    return shop_frame(f"All goods, page {page}", body, head=head)


def sitemap(origin: str, numbers: Iterable[int]) -> str:
    """The addresses of some products, with the day on which each changed."""
    entries = "\n".join(
        f"<url><loc>{origin}/product/{n}</loc><lastmod>{product(n).changed_at:%Y-%m-%d}</lastmod></url>"
        for n in numbers
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {_SITEMAPS}>\n{entries}\n</urlset>\n'


def sitemap_index(origin: str, paths: Iterable[str]) -> str:
    """The addresses of the sitemaps."""
    entries = "\n".join(f"<sitemap><loc>{origin}{path}</loc></sitemap>" for path in paths)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex {_SITEMAPS}>\n{entries}\n</sitemapindex>\n'


def picture(n: int, view: int) -> str:
    """A drawing that stands for a photograph."""
    hue, size = draw("hue", n, 360), 60 + 30 * (view % 4)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 240" width="240" height="240">'
        f'<rect width="240" height="240" fill="hsl({hue} 30% 90%)"/>'
        f'<circle cx="120" cy="120" r="{size // 2}" fill="hsl({hue} 45% 45%)"/></svg>\n'
    )
