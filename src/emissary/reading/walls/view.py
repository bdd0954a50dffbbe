"""A suspicious page as the judges see it: what it says, what it does, and how much of it there is."""

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from emissary.model.pages import Hop, Reply, WebUrl
from emissary.reading.charset import charset_of, decode
from emissary.reading.extract.tree import attribute, parse, title_of
from emissary.reading.walls.phrases import plain
from emissary.reading.walls.vendors import CAPTCHA_WIDGETS

__all__ = ["Reaction", "View", "refresh_of", "view_of"]

_ALL_OF_IT = 12_000  # characters, navigation included
_LONGEST_TITLE = 300
_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "object"]
_AROUND = ["nav", "header", "footer", "aside"]
_PARTS = ("script", "iframe", "form", "meta[http-equiv]", "img[src]", "link[href]")
_PLACES = ("src", "action", "content", "id")
_TYPED = (
    "textarea, select, input:not([type]), input[type=text], input[type=email], input[type=tel], input[type=search],"
    "input[type=number], input[type=date], input[type=url]"
)
_BUTTONS = "button, input[type=submit], input[type=button], a[role=button]"
_SHELL = "#root, #app, #__next, #__nuxt, app-root, [ng-app], [data-reactroot], canvas"
_RICH = "[itemprop=price], .price, article, table, frameset, video, audio"
_REFRESH = re.compile(r"\s*+(\d{1,9})(?:\.\d*+)?\s*+(?:[;,]\s*+(?:url\s*+=\s*+)?(.*+))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reaction:
    """What came back, and the way that led there."""

    url: WebUrl
    reply: Reply
    hops: tuple[Hop, ...] = ()

    @property
    def came_from(self) -> str | None:
        """The URL that was asked for, if it is not this one."""
        return self.hops[0].url if self.hops and self.hops[0].url != self.url.href else None


@dataclass(frozen=True, slots=True)
class View:
    """The page, taken apart. Texts are in lower case with straight quotes."""

    title: str
    headings: tuple[str, ...]
    text: str
    length: int  # of what is said outside navigation, header and footer, in characters
    noscript: str
    works: str  # scripts, addresses and ids: what the page does
    buttons: tuple[str, ...]
    links: int
    typed: int  # fields to type something into, passwords not counted
    passwords: int
    widget: bool
    shell: bool  # an application that draws itself later
    bare: bool  # nothing in the body but scripts
    rich: bool  # it has what content has: a price, a table, an article
    noindex: bool
    refresh: int | None  # seconds
    actions: tuple[str, ...]
    hidden: tuple[str, ...]


def view_of(reply: Reply) -> View | None:
    """The page taken apart, unless there is more to read than any wall says; its tree is made for this and not kept."""
    charset = charset_of(reply.body, reply.headers.get("content-type", ""))
    tree = parse(reply.body if charset == "utf-8" else decode(reply.body, charset))
    works, noscript, refresh = _works(tree), _said(tree.css("noscript")), _refresh(tree, reply)
    has_data = tree.css_first("script[type='application/ld+json']") is not None
    widget = tree.css_first(CAPTCHA_WIDGETS) is not None
    tree.strip_tags(_UNSEEN)
    text = _text(tree)
    if len(text) > _ALL_OF_IT:
        return None
    body, robots = tree.body, tree.css_first("meta[name=robots i]")
    return View(
        title=plain((title_of(tree) or "")[:_LONGEST_TITLE]),
        headings=tuple(plain(node.text(separator=" ")[:_LONGEST_TITLE]) for node in tree.css("h1, h2, h3, h4")[:6]),
        text=plain(text),
        noscript=noscript,
        works=works,
        buttons=tuple(plain(node.text() or attribute(node, "value") or "") for node in tree.css(_BUTTONS)),
        links=len(tree.css("a[href]")),
        typed=len(tree.css(_TYPED)),
        passwords=len(tree.css("input[type=password]")),
        widget=widget,
        shell=tree.css_first(_SHELL) is not None,
        bare=body is None or (not text and body.css_first("*:not(body)") is None),
        rich=has_data or tree.css_first(_RICH) is not None,
        noindex=robots is not None and "noindex" in (attribute(robots, "content") or "").lower(),
        refresh=refresh,
        actions=tuple((attribute(form, "action") or "").lower() for form in tree.css("form")),
        hidden=tuple((attribute(node, "name") or "").lower() for node in tree.css("input[type=hidden]")),
        length=_length(tree),
    )


def _works(tree: LexborHTMLParser) -> str:
    said: list[str] = []
    for part in tree.css(", ".join(_PARTS)):
        said += (attribute(part, place) or "" for place in _PLACES)
        if part.tag == "script":
            said.append(part.text())
    said += (f"#{attribute(node, 'id')}" for node in tree.css("[id]"))
    said += (f"#{attribute(node, 'name')}" for node in tree.css("input[name]"))
    return "\n".join(said)


def _said(nodes: list[LexborNode]) -> str:
    return plain(" ".join(node.text(separator=" ") for node in nodes))


def _length(tree: LexborHTMLParser) -> int:
    for around in tree.css(", ".join(_AROUND)):
        around.decompose()
    return len(_text(tree))


def _text(tree: LexborHTMLParser) -> str:
    return "" if tree.body is None else " ".join(tree.body.text(separator=" ").split())


def _refresh(tree: LexborHTMLParser, reply: Reply) -> int | None:
    seconds = refresh_of(reply.headers.get("refresh"))
    if seconds is not None:
        return seconds
    node = tree.css_first("meta[http-equiv=refresh i]")
    return None if node is None else refresh_of(attribute(node, "content"))


def refresh_of(value: str | None) -> int | None:
    """The seconds of a Refresh header or of its meta element."""
    match = _REFRESH.fullmatch(value) if value else None
    return None if match is None else int(match[1])
