"""What stands around every page of the shop: head, navigation, footer and the cookie banner."""

from functools import cache
from html import escape

from emissary.testing.web.pages.goods import CATEGORIES

__all__ = ["shop_frame"]

_STYLE = """
:root{--ink:#1d2a2e;--paper:#fbfaf7;--line:#dcd8cf;--accent:#9c3d1f;--quiet:#6a7478}
*{box-sizing:border-box}body{margin:0;font:16px/1.55 Georgia,serif;color:var(--ink);background:var(--paper)}
a{color:inherit}.bar{display:flex;gap:1.5rem;align-items:center;padding:.75rem 2rem;border-bottom:1px solid var(--line)}
.bar .mark{font-size:1.4rem;font-weight:700;text-decoration:none}
.menu{display:flex;gap:2rem;list-style:none;margin:0;padding:0}
.menu ul{display:none;position:absolute;background:#fff;border:1px solid var(--line);padding:1rem;list-style:none}
.menu li:hover ul{display:block}.crumbs{padding:.75rem 2rem;font-size:.85rem;color:var(--quiet)}
.product{display:grid;grid-template-columns:minmax(0,7fr) minmax(0,5fr);gap:3rem;padding:1rem 2rem}
.gallery{display:grid;grid-template-columns:repeat(4,1fr);gap:.5rem}.gallery figure:first-child{grid-column:1/-1}
.gallery figure{margin:0}.gallery img{width:100%;display:block}.price{font-size:1.7rem;color:var(--accent)}
.price del{font-size:1rem;color:var(--quiet);margin-left:.5rem}.stock{font-weight:700}.stock.none{color:#8a1c1c}
.specs{border-collapse:collapse;width:100%}
.specs th,.specs td{text-align:left;padding:.4rem .6rem;border-top:1px solid var(--line)}
.review{border-top:1px solid var(--line);padding:1rem 0}.stars{color:var(--accent);letter-spacing:.1em}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:1.5rem;list-style:none;padding:0}
.foot{margin-top:4rem;padding:2rem;border-top:1px solid var(--line)}
.foot{display:grid;grid-template-columns:repeat(4,1fr);gap:2rem}
.cookies{position:fixed;inset:auto 0 0 0;padding:1rem 2rem;background:var(--ink);color:#fff;display:flex;gap:1rem}
@media(max-width:48rem){.product{grid-template-columns:1fr}
.tiles,.foot{grid-template-columns:repeat(2,1fr)}.menu{display:none}}
"""
_SCRIPT = """
(function () {
  var banner = document.querySelector('.cookies');
  if (document.cookie.indexOf('choice=') >= 0) { banner.hidden = true; }
  banner.addEventListener('click', function (event) {
    var choice = event.target.getAttribute('data-choice');
    if (!choice) { return; }
    document.cookie = 'choice=' + choice + ';path=/;max-age=2592000;samesite=lax';
    banner.hidden = true;
  });
  document.querySelectorAll('.gallery figure').forEach(function (figure, place, all) {
    var image = figure.querySelector('img');
    figure.addEventListener('click', function () { all[0].querySelector('img').src = image.src; });
  });
})();
"""
_FOOTER = {
    "Help": ("Delivery", "Returns", "Repairs and spare parts", "Sizes", "Ask a question"),
    "The shop": ("About us", "Our workshop", "Opening hours", "Working here", "Letters to customers"),
    "Account": ("Sign in", "Orders", "Wish list", "Gift cards", "Change of address"),
    "Small print": ("Terms", "Privacy", "Cookies", "Imprint", "Accessibility"),
}


def _slug(words: str) -> str:
    return words.lower().replace(" ", "-")


@cache
def _menu() -> str:
    groups = []
    for category, (goods, _) in CATEGORIES.items():
        under = "".join(f'<li><a href="/listing?kind={_slug(kind)}">{kind}s</a></li>' for kind in goods)
        groups.append(f'<li><a href="/listing?category={_slug(category)}">{category}</a><ul>{under}</ul></li>')
    return "\n".join(groups)


@cache
def _footer() -> str:
    columns = []
    for title, entries in _FOOTER.items():
        links = "".join(f'<li><a href="/about/{_slug(entry)}">{entry}</a></li>' for entry in entries)
        columns.append(f"<section><h2>{title}</h2><ul>{links}</ul></section>")
    return "\n".join(columns)


def shop_frame(title: str, body: str, *, head: str = "") -> str:
    """A page of the shop around its body."""
    return f"""<!doctype html>
<html lang="en" prefix="og: https://ogp.me/ns# product: https://ogp.me/ns/product#">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} | Quayside Stores</title>
{head}
<style>{_STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="bar">
<a class="mark" href="/">Quayside Stores</a>
<nav aria-label="Departments"><ul class="menu">
{_menu()}
</ul></nav>
<form class="search" action="/listing" role="search"><label>Search <input name="q" type="search"></label></form>
<a class="basket" href="/checkout" rel="nofollow">Basket <span class="count">0</span></a>
</header>
<main id="content">
{body}
</main>
<footer class="foot">
{_footer()}
<p class="legal">Quayside Stores, 14 Ropewalk, Saltmere. Prices include tax. A shop that exists only for tests.</p>
</footer>
<aside class="cookies" role="dialog" aria-label="Cookies">
<p>We use one cookie to remember your basket and, if you like, another to count visits.</p>
<button type="button" data-choice="all">Accept both</button>
<button type="button" data-choice="needed">Only the basket</button>
</aside>
<script>{_SCRIPT}</script>
</body>
</html>
"""
