"""The newspaper's pages: front page, article and feed."""

import json
from collections.abc import Iterable
from email.utils import format_datetime
from html import escape

from emissary.testing.web.pages.town import Story

__all__ = ["article_page", "feed", "front_page"]

_PAPER = "The Saltmere Courier"
_SECTIONS = ("Town", "Harbour", "Trade", "Traffic", "Culture", "Letters")
_STYLE = (
    "body{max-width:62rem;margin:auto;font:18px/1.6 Charter,Georgia,serif}header{border-bottom:3px double}"
    "nav ul{display:flex;gap:1rem;list-style:none;padding:0}.page{display:grid;grid-template-columns:2fr 1fr;gap:3rem}"
    ".lead{font-weight:700}.byline,time{color:#666;font-size:.85rem}aside{border-left:1px solid #ccc;padding-left:1rem}"
)


def front_page(stories: Iterable[Story]) -> str:
    """The newest stories."""
    entries = "\n".join(
        f'<li><h2><a href="{one.path}">{escape(one.headline)}</a></h2><p>{escape(one.lead)}</p></li>' for one in stories
    )
    head = '<link rel="alternate" type="application/rss+xml" title="All stories" href="/feed.xml">'
    return _frame(_PAPER, f'<ol class="stories">\n{entries}\n</ol>', head=head)


def article_page(origin: str, one: Story, others: Iterable[Story]) -> str:
    """One story, with what stands beside and below it."""
    paragraphs = "\n".join(f"<p>{escape(told)}</p>" for told in one.paragraphs)
    beside = "\n".join(f'<li><a href="{other.path}">{escape(other.headline)}</a></li>' for other in others)
    comments = "\n".join(f'<li class="comment"><b>{who}</b>: {escape(said)}</li>' for who, said in one.comments)
    body = f"""<div class="page">
<article>
<p class="section"><a href="/?section={one.section.lower()}">{one.section}</a></p>
<h1>{escape(one.headline)}</h1>
<p class="byline">By <a rel="author" href="/?by={one.author.replace(" ", "+")}">{one.author}</a>,
<time datetime="{one.published_at.isoformat()}">{one.published_at:%d %B %Y, %H:%M}</time></p>
<p class="lead">{escape(one.lead)}</p>
{paragraphs}
</article>
<aside><h2>Also in the Courier</h2><ul>
{beside}
</ul>
<p class="notice">The Courier costs nothing and is read by the tide table. <a href="/?support=1">Support us</a>.</p>
</aside>
</div>
<section class="comments"><h2>{len(one.comments)} letters</h2><ul>
{comments}
</ul></section>"""
    head = f"""<link rel="canonical" href="{origin}{one.path}">
<meta name="author" content="{one.author}">
<meta name="description" content="{escape(one.lead)}">
<meta property="og:type" content="article">
<meta property="og:title" content="{escape(one.headline)}">
<meta property="og:url" content="{origin}{one.path}">
<meta property="article:published_time" content="{one.published_at.isoformat()}">
<meta property="article:section" content="{one.section}">
<script type="application/ld+json">{json.dumps(_json_ld(origin, one))}</script>"""
    return _frame(one.headline, body, head=head)


def feed(origin: str, stories: Iterable[Story]) -> str:
    """The newest stories as RSS 2.0."""
    items = "\n".join(
        f"<item><title>{escape(one.headline)}</title><link>{origin}{one.path}</link><guid>{origin}{one.path}</guid>"
        f"<pubDate>{format_datetime(one.published_at, usegmt=True)}</pubDate>"
        f"<category>{one.section}</category><description>{escape(one.lead)}</description></item>"
        for one in stories
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel>
<title>{_PAPER}</title><link>{origin}/</link><description>News from a town that does not exist</description>
{items}
</channel></rss>
"""


def _json_ld(origin: str, one: Story) -> dict[str, object]:
    return {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": one.headline,
        "datePublished": one.published_at.isoformat(),
        "dateModified": one.changed_at.isoformat(),
        "author": [{"@type": "Person", "name": one.author}],
        "publisher": {"@type": "Organization", "name": _PAPER, "url": f"{origin}/"},
        "articleSection": one.section,
        "mainEntityOfPage": f"{origin}{one.path}",
    }


def _frame(title: str, body: str, *, head: str) -> str:
    sections = "".join(f'<li><a href="/?section={name.lower()}">{name}</a></li>' for name in _SECTIONS)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
{head}
<style>{_STYLE}</style>
</head>
<body>
<header><p><a href="/">{_PAPER}</a></p><nav><ul>{sections}</ul></nav></header>
<main>
{body}
</main>
<footer><p>{_PAPER}, Ropewalk 2, Saltmere. <a href="/feed.xml">Feed</a></p></footer>
</body>
</html>
"""
