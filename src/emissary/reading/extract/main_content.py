"""The part of a page it is about: what surrounds it goes, what it sells or says stays."""

import re
from functools import lru_cache

from selectolax.lexbor import LexborHTMLParser, LexborNode

from emissary.reading.extract.tree import attribute

__all__ = ["keep_main_content"]

_SURROUNDINGS = (
    "nav,footer,header,aside,dialog,menu,form,button,input,select,textarea,datalist,"
    "[hidden],[style*='display:none' i],[style*='display: none' i],[style*='visibility:hidden' i],"
    "[role=navigation],[role=banner],[role=contentinfo],[role=complementary],[role=search],[role=dialog],"
    "[role=alertdialog],[role=menu],[role=menubar],[aria-modal=true]"
)
# Words that name a part of the surroundings wherever they stand in a class or an id.
_NAMES = (
    "ad ads advert advertisement advertising backdrop breadcrumb breadcrumbs consent cookie cookies cookiebanner "
    "crosssell drawer footer gdpr lightbox login masthead megamenu menu minicart modal nav navbar navigation "
    "newsletter offcanvas overlay pagination pager paywall popup promo recommendations recommended related share "
    "sharing sidebar signin signup skip skiplink skiplinks social sponsor sponsored subscribe subscription toolbar "
    "topbar upsell"
)
_WORDS = frozenset(_NAMES.split())
_WORD_PART = re.compile(r"[A-Z]?[a-z]+")
_CONTROLS = frozenset({"button", "input", "select", "textarea", "datalist"})
# Whatever holds one of these is no surroundings, whatever it is called.
_SUBJECT = "h1,main,[role=main],[itemprop=price],[itemprop=availability],[itemprop=offers],[itemprop=articleBody]"
_ENOUGH = 0.25  # of the page's text: a `<main>` with less is a shell that a script would have filled


def keep_main_content(tree: LexborHTMLParser) -> LexborNode | None:
    """Drop the surroundings in place and give the element that holds the rest."""
    body = tree.body
    if body is None:
        return tree.root
    for node in [*body.css(_SURROUNDINGS), *filter(_is_named_surroundings, body.css("[class],[id]"))]:
        if node.parent is not None and node.mem_id != body.mem_id and not _belongs(node):
            node.decompose()
    chosen = _root(body)
    _bring_title(chosen, body)
    return chosen


def _is_named_surroundings(node: LexborNode) -> bool:
    attributes = node.attributes
    return _names_surroundings(attributes.get("class") or "") or _names_surroundings(attributes.get("id") or "")


@lru_cache(maxsize=4096)
def _names_surroundings(names: str) -> bool:
    """Pages repeat their class names many times over."""
    return any(word.lower() in _WORDS for word in _WORD_PART.findall(names[:500]))


def _belongs(node: LexborNode) -> bool:
    """Does this stay although it looks like surroundings?"""
    tag = node.tag or ""
    if tag in _CONTROLS:
        return False
    if tag in ("html", "body", "main") or node.css_first(_SUBJECT) is not None:
        return True
    if tag == "form":
        return not _is_named_surroundings(node) and attribute(node, "role") != "search"
    if tag in ("header", "footer") or _is_tab_panel(node):
        return _is_within_subject(node)
    return False


def _is_tab_panel(node: LexborNode) -> bool:
    """Hidden, yet one click away: the specification and the reviews often stand there."""
    return attribute(node, "role") == "tabpanel" or "tab" in (attribute(node, "class") or "").lower()


def _is_within_subject(node: LexborNode) -> bool:
    parent = node.parent
    while parent is not None and parent.tag != "body":
        if parent.tag in ("main", "article", "section") or attribute(parent, "role") == "main":
            return True
        parent = parent.parent
    return False


def _root(body: LexborNode) -> LexborNode:
    """`<main>`, or the only article, if it holds a good part of the text; else the body."""
    least = _ENOUGH * len(body.text(strip=True))
    mains = body.css("main,[role=main]")
    if mains:
        fullest = max(mains, key=lambda node: len(node.text(strip=True)))
        return fullest if len(fullest.text(strip=True)) >= least else body
    articles = body.css("article")
    if len(articles) == 1 and _holds_subject(articles[0], body) and len(articles[0].text(strip=True)) >= least:
        return articles[0]
    return body


def _holds_subject(article: LexborNode, body: LexborNode) -> bool:
    return len(article.css("h1,[itemprop=price]")) == len(body.css("h1,[itemprop=price]"))


def _bring_title(chosen: LexborNode, body: LexborNode) -> None:
    """A title that stands above `<main>` still belongs to it."""
    title = body.css_first("h1")
    first = chosen.first_child
    if title is not None and first is not None and chosen.css_first("h1") is None:
        first.insert_before(title)
