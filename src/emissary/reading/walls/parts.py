"""The parts of a page: its main text, the form for a password, the question about cookies, the marks of its maker."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from emissary.reading.extract.tree import attribute, collapse
from emissary.reading.walls.door_words import ACCEPTS, CONSENT_TITLE, CONSENT_WORDS, GREETS
from emissary.reading.walls.lexicon import found, plain

__all__ = [
    "Question",
    "is_rich",
    "label_of",
    "leave_main",
    "lost_mark",
    "password_form",
    "question_in",
    "take_away",
    "text_in",
]

# What stands around the main part, by its tag, by its role, and by the names that themes give it.
_AROUND = (
    "nav, aside, footer, header:not(main header, article header), [role=navigation], [role=banner], [role=contentinfo],"
    "#header, #footer, #masthead, #colophon, #sidebar, #secondary, #breadcrumbs, .header, .footer, .site-header,"
    ".site-footer, .navbar, .menu, .breadcrumb, .breadcrumbs, .sidebar, .topbar, .mega-menu, .skip-link"
)
_THE_PAGE = frozenset({"html", "head", "body", "main"})  # some hide it until it is drawn
_AROUND_TAGS = frozenset({"nav", "aside", "footer", "header"})
# Drawn over the page when somebody asks for it.
_FOLDED = (".modal", ".popup", ".dropdown-menu", "dialog:not([open])", "[hidden]", "[aria-hidden=true]", ".offcanvas")
_PASSWORD = f"input[type=password]:not({', '.join(f'{folded} input' for folded in _FOLDED)})"
_CONTENT_DATA = re.compile(
    r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"(?:Product|ProductGroup|\w{0,20}Article|\w{0,20}Posting|Recipe|\w{0,20}Event|Book|'
    r"Movie|Review|Course|Dataset|FAQPage|HowTo|VideoObject|QAPage|ItemList|SoftwareApplication|Restaurant|LocalBusiness)\""
)
_RICH = "[itemprop=price], .price, frameset, video, audio"
_LAID_OUT = "input, p, h1, h2, h3, h4, ul, form, table table, div"  # a table with these is a frame around the page
_A_MENU = 4  # links
_THIN = 4_000  # characters; where there is more, a menu among it does no harm
_AN_ARTICLE = 400  # characters; below, it is only a box
_LOST_MARK = re.compile(
    r"(?:^|[\s_-])(?:error-?_?404|404(?:-?_?(?:error|page|template|content|container))?|page-?_?404|"
    r"(?:page|error|route)?-?_?not-?_?found(?:-?_?page)?|pagenotfound|noroute|no-route|next-error-h1|nicht-gefunden|page-error|error-(?:page|container|template|"
    r"wrapper|inner)|errorpage)(?:$|[\s_-])"
)
_LOST_PLACES = (
    "html[class], body[class], body[id], [class*='404'], [id*='404'], [class*='ot-found'], [id*='ot-found'],"
    "[class*='otfound' i], [class*='not_found'], [class*='error-'], [class*='page-error']"
)
_HIGHEST = 12  # steps from a button up to the question it answers
_LONGEST_QUESTION = 8_000  # characters
_SHORT = 500
_FEW_WORDS = 2
_DENSE = 100  # characters to a word
_A_NAME = 15  # characters
_A_WORD_IN = 200  # characters: who asks for consent does not talk longer without a word of it


@dataclass(frozen=True, slots=True)
class Question:
    """A question about cookies, as far as the page has one."""

    accept: str  # what stands on the button to say yes
    words: int  # about consent, in all of the page
    beside: int  # characters outside the question, links aside
    headed: bool  # whether a heading of another subject is among them


def text_in(node: LexborNode | None) -> str:
    """The node's text in one line."""
    return "" if node is None else collapse(node.text(separator=" "))


def characters(nodes: list[LexborNode]) -> int:
    """How much the nodes say."""
    return sum(len(text_in(node)) for node in nodes)


def label_of(button: LexborNode) -> str:
    """What stands on a button."""
    return plain(button.text(separator=" ") or attribute(button, "value") or "")


def take_away(nodes: Iterable[LexborNode]) -> None:
    """Removes these from their tree, the page itself never. One that stands in another goes with it, untouched."""
    chosen = {node.mem_id: node for node in nodes if node.tag not in _THE_PAGE}
    for node in [node for node in chosen.values() if not any(above.mem_id in chosen for above in _all_above(node))]:
        node.decompose()


def leave_main(tree: LexborHTMLParser) -> None:
    """Takes away what stands around the main part, but nothing that holds it. Nodes taken before are gone."""
    around = tree.css(_AROUND)
    take_away(node for node in around if node.tag in _AROUND_TAGS or node.css_first("main, h1") is None)
    if tree.body is not None and len(tree.body.text()) <= _THIN:
        take_away(_bars(tree))


def _all_above(node: LexborNode) -> Iterator[LexborNode]:
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


def _bars(tree: LexborHTMLParser) -> list[LexborNode]:
    """What is a menu whatever it is called: several links side by side, and hardly anything else."""
    above: dict[int, tuple[LexborNode, int]] = {}
    for link in tree.css("a"):
        row = link.parent
        if row is not None and row.tag == "li":
            row = row.parent
        if row is not None and row.tag not in ("body", "main"):
            above[row.mem_id] = row, above.get(row.mem_id, (row, 0))[1] + 1
    rows = [row for row, links in above.values() if links >= _A_MENU]
    return [row for row in rows if characters(row.css("a")) * 5 >= len(text_in(row)) * 4]


def is_rich(tree: LexborHTMLParser) -> bool:
    """Whether the page has what content has. To be asked while its scripts are still there."""
    if tree.css_first(_RICH) is not None or any(len(text_in(node)) > _AN_ARTICLE for node in tree.css("article")):
        return True
    if any(_CONTENT_DATA.search(node.text()) for node in tree.css("script[type='application/ld+json']")):
        return True
    return any(_is_data(table) for table in tree.css("table"))


def _is_data(table: LexborNode) -> bool:
    """A table of figures, and no frame around a page."""
    if table.css_first(_LAID_OUT) is not None:
        return False
    rows = table.css("tr")
    return table.css_first("th") is not None or (len(rows) > 1 and all(len(row.css("td")) > 1 for row in rows))


def lost_mark(tree: LexborHTMLParser) -> str | None:
    """The name by which its maker calls it a page that is not there; on the whole page it comes first."""
    for node in tree.css(_LOST_PLACES)[:20]:
        for place in ("class", "id"):
            match = _LOST_MARK.search((attribute(node, place) or "").lower())
            if match is not None:
                return f"<{node.tag} {place}={match[0].strip()}>"
    return None


def password_form(tree: LexborHTMLParser) -> int | None:
    """How much the headings and the form for a password say, links aside; a form with two makes an account."""
    for field in tree.css(_PASSWORD):
        form = _form_of(field)
        if len(form.css("input[type=password]")) == 1:
            inside = len(text_in(form)) - characters(form.css("a"))
            return inside + characters(tree.css("h1, h2, h3")) - characters(form.css("h1, h2, h3"))
    return None


def question_in(tree: LexborHTMLParser, buttons: list[LexborNode], text: str) -> Question | None:
    """The question about cookies, if there is a button to say yes to one."""
    if not buttons or len(text) > _LONGEST_QUESTION:
        return None
    accept = next((button for button in buttons if found(ACCEPTS, label_of(button))), None)
    words = len(CONSENT_WORDS.findall(text))
    if accept is None and (words < _FEW_WORDS or words * _DENSE < len(text)):
        return None
    button = buttons[0] if accept is None else accept  # where all is about consent, the first button says yes
    told = [plain(text_in(heading)) for heading in tree.css("h1, h2, h3")]
    asked = any(found(CONSENT_TITLE, heading) for heading in told)
    if words * _A_WORD_IN < len(text) and not (asked and len(text) <= _SHORT):
        return Question(label_of(button), words, beside=len(text), headed=False)
    others = [heading for heading in told if heading and not _is_about(heading)]
    part = _around(button, others)
    said = plain(text_in(part))
    outside = len(text) - characters(tree.css("a")) - _prose(part)[0]
    return Question(label_of(button), words, max(outside, 0), headed=any(other not in said for other in others))


def _is_about(heading: str) -> bool:
    """Whether a heading asks, or only greets."""
    return found(CONSENT_TITLE, heading) is not None or found(GREETS, heading) is not None


def _form_of(field: LexborNode) -> LexborNode:
    node, above = field, field.parent
    while above is not None and above.tag not in ("body", "html"):
        node, above = above, above.parent
        if node.tag == "form":
            break
    return node


def _around(button: LexborNode, others: list[str]) -> LexborNode:
    """The largest part around the button that speaks of consent throughout; `others` are headings of something else."""
    node, length, words = button, *_prose(button)
    for _ in range(_HIGHEST):
        above = node.parent
        if above is None or node.tag == "body":
            return node
        longer, more = _prose(above)
        added, about = longer - length, more - words
        if words and (added > _A_NAME or _heads(others, above, node)) and about * _A_WORD_IN < added:
            return node
        node, length, words = above, longer, more
    return node


def _heads(others: list[str], above: LexborNode, node: LexborNode) -> bool:
    """Whether one of these headings stands in what a step up would add."""
    if not others:
        return False
    more, less = plain(text_in(above)), plain(text_in(node))
    return any(other in more and other not in less for other in others)


def _prose(node: LexborNode) -> tuple[int, float]:
    """Characters and words about consent outside links; a greeting is a quarter of one."""
    said, linked = plain(text_in(node)), plain(" ".join(text_in(link) for link in node.css("a")))
    words = len(CONSENT_WORDS.findall(said)) - len(CONSENT_WORDS.findall(linked)) + len(GREETS.findall(said)) / 4
    return len(said) - len(linked), words
