"""A page as something to read: clean HTML, markdown or text."""

import re
from enum import Enum
from html import escape
from typing import TypedDict

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert
from selectolax.lexbor import LexborHTMLParser

from emissary.model.pages import Format, Page
from emissary.reading.extract.cleaning import clean
from emissary.reading.extract.main_content import keep_main_content
from emissary.reading.extract.tree import parse, readable

__all__ = ["Kind", "Rendered", "kind_of", "render_markup", "render_plain"]

# The tree is already clean: the converter is to keep all of it.
_MARKDOWN = ConversionOptions(
    extract_metadata=False,
    autolinks=False,
    hidden_content="reachable",
    inline_data_media="alt_text_only",
    preprocessing=PreprocessingOptions(enabled=False),
)


_BACKTICKS = re.compile("`{3,}+")


class Kind(Enum):
    """What a body is, as far as reading it goes."""

    HTML = "html"
    XML = "xml"
    JSON = "json"
    PLAIN = "text"


class Rendered(TypedDict, total=False):
    """Only what was asked for."""

    html: str
    markdown: str
    text: str


def kind_of(page: Page) -> Kind:
    """By its declared type; a body without one is HTML if it begins like it."""
    declared = page.content_type.split(";", 1)[0].strip().lower()
    if "html" in declared:
        return Kind.HTML
    if "json" in declared:
        return Kind.JSON
    if "xml" in declared:
        return Kind.XML
    if declared.startswith("text/") or not page.body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n\f").startswith(b"<"):
        return Kind.PLAIN
    return Kind.HTML


def render_plain(body: str, formats: frozenset[Format], kind: Kind) -> Rendered:
    """A body that is no markup is its own text."""
    rendered: Rendered = {}
    if Format.TEXT in formats:
        rendered["text"] = body
    if Format.MARKDOWN in formats:
        rendered["markdown"] = body if kind is Kind.PLAIN else _fenced(body, kind)
    if Format.HTML in formats:
        rendered["html"] = f"<pre>{escape(body, quote=False)}</pre>"
    return rendered


def render_markup(
    tree: LexborHTMLParser, base: str, formats: frozenset[Format], kind: Kind, *, only_main_content: bool
) -> Rendered:
    """Changes the tree. A page that was all surroundings is given whole rather than empty."""
    html = _source(tree) if kind is Kind.XML else _cleaned(tree, base, narrowed=only_main_content)
    rendered: Rendered = {}
    if Format.HTML in formats:
        rendered["html"] = html
    if Format.TEXT in formats:
        rendered["text"] = readable(html)
    if Format.MARKDOWN in formats:
        rendered["markdown"] = _markdown(html) if kind is Kind.HTML else _fenced(html, kind)
    return rendered


def _source(tree: LexborHTMLParser) -> str:
    """XML as it came: the HTML parser bends its tags to its own rules."""
    return tree.raw_html.decode("utf-8", "replace")


def _cleaned(tree: LexborHTMLParser, base: str, *, narrowed: bool) -> str:
    clean(tree, base)
    node = keep_main_content(tree) if narrowed else tree.root
    if narrowed and (node is None or not node.text(strip=True)):
        return _cleaned(parse(tree.raw_html), base, narrowed=False)
    return (node.html or "") if node is not None else ""


def _markdown(html: str) -> str:
    """The text alone where the converter gives up, which it does on markup nested a thousand deep."""
    return (convert(html, _MARKDOWN).content or "").strip() or readable(html)


def _fenced(body: str, kind: Kind) -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    longest = max(map(len, _BACKTICKS.findall(body)), default=2)
    fence = "`" * (max(longest, 2) + 1)
    return f"{fence}{kind.value}\n{body}\n{fence}"
