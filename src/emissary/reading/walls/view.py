"""A suspicious page as the judges see it: what it says, what it does, and how much of it there is."""

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from emissary.model.pages import Reply
from emissary.reading.charset import charset_of, decode
from emissary.reading.extract.tree import attribute, parse, title_of
from emissary.reading.walls.lexicon import Lexicon, plain
from emissary.reading.walls.parts import (
    Question,
    is_rich,
    label_of,
    leave_main,
    lost_mark,
    password_form,
    question_in,
    take_away,
    text_in,
)
from emissary.reading.walls.vendors import CAPTCHA_WIDGETS

__all__ = ["TITLE_PARTS", "View", "refresh_of", "view_of"]

_ALL_OF_IT = 16_000  # characters, navigation included
_MAIN_OF_IT = 12_000
_LONGEST_TITLE = 300
_DRAWN = 40
_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "object"]
_FOLDED = "[hidden], dialog:not([open]), nav [aria-hidden=true], header [aria-hidden=true]"  # shown when asked for
_PARTS = ("script", "iframe", "form", "meta[http-equiv]", "img[src]", "link[href]")
_PLACES = ("src", "action", "content", "id")
_TYPED = (
    "textarea, select, input:not([type]), input[type=text], input[type=email], input[type=tel], input[type=search],"
    "input[type=number], input[type=date], input[type=url]"
)
_BUTTONS = (
    "button, input[type=submit], input[type=button], [role=button], a[class*=btn], a[class*=button], a[class*=accept]"
)
_SHELL = "#root, #app, #__next, #__nuxt, app-root, [ng-app], [data-reactroot], canvas"
# Headings under which forums and shops say anything.
_NO_SUBJECT = Lexicon("lost").words("no subject")
_HEADINGS = ", ".join(f"{h}:not(aside {h}, nav {h}, footer {h})" for h in ("h1", "h2", "h3", "h4"))
TITLE_PARTS = re.compile(r"\s[|·•»«‹›<>—–-]+\s|\s?[|｜:‹›»•]\s?|\s::\s")
_REFRESH = re.compile(r"\s*+(\d{1,9})(?:\.\d*+)?\s*+(?:[;,]\s*+(?:url\s*+=\s*+)?(.*+))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Main:
    """What is left without navigation, header and footer."""

    text: str
    prose: int  # characters outside links
    beside_password: int | None  # characters outside links, headings and the form that asks for one password


@dataclass(frozen=True, slots=True)
class View:
    """The page, taken apart. Texts are in lower case with straight quotes."""

    title: str
    headings: tuple[str, ...]
    text: str
    noscript: str
    works: str  # scripts, addresses and ids: what the page does
    buttons: tuple[str, ...]
    links: int
    typed: int  # fields to type something into, passwords not counted
    answers: int  # those of them for a word
    passwords: int
    question: Question | None  # about cookies
    widget: bool
    shell: bool  # an application that draws itself later
    hollow: bool  # and has drawn nothing yet
    bare: bool  # nothing in the body but scripts
    rich: bool  # it has what content has: a price, a table, an article
    quotes_code: bool  # it is written for those who make pages
    lost_mark: str | None  # a class or an id by which its maker calls it a page that is not there
    canonical: str | None
    noindex: bool
    refresh: int | None  # seconds
    actions: tuple[str, ...]
    hidden: tuple[str, ...]
    main: Main

    @property
    def subject(self) -> str | None:
        """What the page is about, where its title and its first heading agree on it."""
        first = next((heading for heading in self.headings if heading), "").strip("!?. ")
        if not first or first in _NO_SUBJECT:
            return None
        parts = (part.strip("!?. ") for part in TITLE_PARTS.split(self.title))
        agrees = first in self.title or any(len(part) > 6 and part in first for part in parts)
        return first if agrees else None

    @property
    def length(self) -> int:
        """Characters of what is said outside navigation, header and footer."""
        return len(self.main.text)


def view_of(reply: Reply) -> View | None:
    """The page taken apart, unless there is more to read than any wall says; its tree is made for this and not kept."""
    charset = charset_of(reply.body, reply.headers.get("content-type", ""))
    tree = parse(reply.body if charset == "utf-8" else decode(reply.body, charset))
    works, noscript, refresh = _works(tree), _said(tree.css("noscript")), _refresh(tree, reply)
    rich, widget = is_rich(tree), tree.css_first(CAPTCHA_WIDGETS) is not None
    tree.strip_tags(_UNSEEN)
    take_away(tree.css(_FOLDED))
    text = plain(text_in(tree.body))
    if len(text) > _ALL_OF_IT:
        return None
    body, robots, canonical = tree.body, tree.css_first("meta[name=robots i]"), tree.css_first("link[rel=canonical i]")
    buttons, shell = tree.css(_BUTTONS), tree.css_first(_SHELL)
    view = View(
        title=plain((title_of(tree) or "")[:_LONGEST_TITLE]),
        headings=tuple(plain(node.text(separator=" ")[:_LONGEST_TITLE]) for node in tree.css(_HEADINGS)[:6]),
        text=text,
        noscript=noscript,
        works=works,
        buttons=tuple(label_of(button) for button in buttons),
        links=len(tree.css("a[href]")),
        typed=len(tree.css(_TYPED)),
        answers=len(tree.css("input:not([type]), input[type=text]")),
        passwords=len(tree.css("input[type=password]")),
        question=question_in(tree, buttons, text),
        widget=widget,
        shell=shell is not None,
        hollow=shell is not None and len(text_in(shell)) < _DRAWN,
        bare=body is None or (not text and body.css_first("*:not(body)") is None),
        rich=rich,
        quotes_code=tree.css_first("pre, code") is not None,
        lost_mark=lost_mark(tree),
        canonical=None if canonical is None else attribute(canonical, "href"),
        noindex=robots is not None and "noindex" in (attribute(robots, "content") or "").lower(),
        refresh=refresh,
        actions=tuple((attribute(form, "action") or "").lower() for form in tree.css("form")),
        hidden=tuple((attribute(node, "name") or "").lower() for node in tree.css("input[type=hidden]")),
        main=_main_of(tree),  # the last: it takes the tree apart
    )
    return view if view.length <= _MAIN_OF_IT else None


def _main_of(tree: LexborHTMLParser) -> Main:
    leave_main(tree)
    text, form = text_in(tree.body), password_form(tree)
    tree.strip_tags(["a"])
    prose = len(text_in(tree.body))
    return Main(plain(text), prose, None if form is None else max(prose - form, 0))


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
