"""The product page: 20 to 30 KB, with its data in the text, in microdata, in JSON-LD and in OpenGraph."""

import json
from html import escape

from emissary.testing.web.pages.frame import shop_frame
from emissary.testing.web.pages.goods import Availability, Product, product
from emissary.testing.web.pages.plain import draw, pick
from emissary.testing.web.pages.reviews import Review, review

__all__ = ["product_page", "tile"]

_VIEWS = ("front", "side", "detail", "in use", "with its box")
_CARE = ("Wipe dry after use", "Oil once a year", "Brush, do not wash", "Keep from frost", "No care needed")
_ORIGINS = ("Portugal", "Sweden", "Saltmere, in our own workshop", "Scotland", "Slovenia", "Japan")


def product_page(n: int, *, origin: str = "", folder: str = "/product", at_least: int = 0) -> str:
    """Product n. `folder` is where links to products lead; reviews are added until the page has `at_least` bytes."""
    one = product(n)
    count = 3 + draw("reviews", n, 8)
    while True:
        page = _page(one, [review(one, k) for k in range(count)], origin=origin, folder=folder)
        missing = at_least - len(page.encode())
        if missing <= 0:
            return page
        count += 1 + missing // 900


def tile(n: int, folder: str) -> str:
    """A product in a list of products."""
    one = product(n)
    return (
        f'<li class="tile" data-sku="{one.sku}"><a href="{folder}/{n}">'
        f'<img src="/img/{n}-0.svg" alt="" width="240" height="240" loading="lazy">'
        f'<span class="name">{escape(one.name)}</span></a> <span class="price">{one.price_text}</span></li>'
    )


def _page(one: Product, reviews: list[Review], *, origin: str, folder: str) -> str:
    url = f"{origin}{folder}/{one.number}"
    related = "\n".join(tile(1 + (one.number * 7 + k * 13) % 100, folder) for k in range(1, 9))
    body = f"""<nav class="crumbs" aria-label="Breadcrumb"><a href="/">Home</a> › <a href="/listing">All goods</a> ›
<a href="/listing?category={one.category.lower()}">{one.category}</a> › <span>{escape(one.name)}</span></nav>
<article class="product" itemscope itemtype="https://schema.org/Product">
<div class="gallery">
{_gallery(one)}
</div>
<div class="facts">
{_facts(one, reviews)}
</div>
<section class="description" itemprop="description">
<h2>About it</h2>
{_description(one)}
</section>
<section>
<h2>Specification</h2>
<table class="specs"><tbody>
{_specification(one)}
</tbody></table>
</section>
<section class="reviews" id="reviews">
<h2>What customers say</h2>
{"".join(_review(each) for each in reviews)}
</section>
</article>
<section class="related"><h2>Goes well with it</h2><ul class="tiles">
{related}
</ul></section>"""
    return shop_frame(one.name, body, head=_head(one, reviews, origin=origin, url=url))


def _head(one: Product, reviews: list[Review], *, origin: str, url: str) -> str:
    name, image = escape(one.name), f"{origin}/img/{one.number}-0.svg"
    return f"""<meta name="description" content="{name} by {escape(one.brand)}, {one.price_text}.">
<link rel="canonical" href="{url}">
<meta property="og:type" content="product">
<meta property="og:title" content="{name}">
<meta property="og:url" content="{url}">
<meta property="og:image" content="{image}">
<meta property="og:site_name" content="Quayside Stores">
<meta property="product:price:amount" content="{one.price}">
<meta property="product:price:currency" content="{one.currency}">
<meta property="product:availability" content="{one.availability.words}">
<script type="application/ld+json">{json.dumps(_json_ld(one, reviews, image=image, url=url))}</script>"""


def _json_ld(one: Product, reviews: list[Review], *, image: str, url: str) -> dict[str, object]:
    return {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": one.name,
        "sku": one.sku,
        "gtin13": one.gtin13,
        "image": [image],
        "brand": {"@type": "Brand", "name": one.brand},
        "offers": {
            "@type": "Offer",
            "url": url,
            "price": one.price,
            "priceCurrency": one.currency,
            "availability": f"https://schema.org/{one.availability}",
        },
        "aggregateRating": {"@type": "AggregateRating", "ratingValue": one.rating, "reviewCount": len(reviews)},
    }


def _gallery(one: Product) -> str:
    marks = (' itemprop="image"', *[""] * (len(_VIEWS) - 1))
    return "\n".join(
        f'<figure><img src="/img/{one.number}-{k}.svg" srcset="/img/{one.number}-{k}.svg 1x, '
        f'/img/{one.number}-{k}.svg?size=2 2x" alt="{escape(one.name)}, {view}" width="720" height="720"'
        f"{mark}><figcaption>{view.capitalize()}</figcaption></figure>"
        for k, (view, mark) in enumerate(zip(_VIEWS, marks, strict=True))
    )


def _facts(one: Product, reviews: list[Review]) -> str:
    before = f" <del>{one.price_before_text}</del>" if one.price_before_text else ""
    none = one.availability is Availability.OUT_OF_STOCK
    button = (
        '<button type="button" disabled>Tell me when it is back</button>' if none else "<button>Add to basket</button>"
    )
    return f"""<p class="brand" itemprop="brand">{escape(one.brand)}</p>
<h1 itemprop="name">{escape(one.name)}</h1>
<p class="rating" itemprop="aggregateRating" itemscope itemtype="https://schema.org/AggregateRating">
<span class="stars" aria-hidden="true">{_stars(round(one.rating))}</span>
<span itemprop="ratingValue">{one.rating}</span> of 5,
<a href="#reviews"><span itemprop="reviewCount">{len(reviews)}</span> reviews</a></p>
<div class="offer" itemprop="offers" itemscope itemtype="https://schema.org/Offer">
<p class="price" data-currency="{one.currency}"><span class="now">{one.price_text}</span>{before}</p>
<meta itemprop="price" content="{one.price}"><meta itemprop="priceCurrency" content="{one.currency}">
<link itemprop="availability" href="https://schema.org/{one.availability}">
<p class="stock{" none" if none else ""}">{one.availability.words}</p>
<form action="/checkout" method="post"><label>How many <input name="count" type="number" value="1" min="1"></label>
{button}</form>
</div>
<p class="sku">Article number <span itemprop="sku">{one.sku}</span></p>"""


def _description(one: Product) -> str:
    name, material = escape(one.name), one.material.lower()
    uses = pick("use", one.number, ("a small household", "a busy kitchen table", "long afternoons", "people who mend"))
    return f"""<p>The {name} is made for {uses}. It is built from {material}, put together by hand,
and packed without plastic. {escape(one.brand)} has made it in the same shape for {5 + draw("years", one.number, 40)}
years, and every part of it that can wear out can be bought on its own.</p>
<p>We keep one in the shop that anyone may try. If it does not suit you, bring it back within thirty days, used or
not: we would rather mend it and sell it at a lower price than argue about a scratch.</p>
<ul><li>Made of {material}</li><li>Every part replaceable</li><li>Guaranteed for ten years</li></ul>"""


def _specification(one: Product) -> str:
    n = one.number
    rows = {
        "Article number": one.sku,
        "GTIN": one.gtin13,
        "Brand": one.brand,
        "Material": one.material,
        "Width": f"{12 + draw('width', n, 60)} cm",
        "Height": f"{4 + draw('height', n, 50)} cm",
        "Weight": f"{0.2 + draw('weight', n, 60) / 10:.1f} kg",
        "Made in": pick("origin", n, _ORIGINS),
        "Care": pick("care", n, _CARE),
        "Guarantee": "10 years",
    }
    return "\n".join(f'<tr><th scope="row">{name}</th><td>{escape(value)}</td></tr>' for name, value in rows.items())


def _review(one: Review) -> str:
    return f"""<article class="review" itemprop="review" itemscope itemtype="https://schema.org/Review">
<h3 itemprop="name">{one.title}</h3>
<p class="meta"><span class="stars" title="{one.stars} of 5">{_stars(one.stars)}</span>
<span itemprop="author">{one.author}</span>,
<time itemprop="datePublished" datetime="{one.day}">{one.day:%d %B %Y}</time></p>
<p itemprop="reviewBody">{escape(one.words, quote=False)}</p>
</article>
"""


def _stars(count: int) -> str:
    return "★" * count + "☆" * (5 - count)
