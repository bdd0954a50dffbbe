"""Judges of pages that are not there, under a status that says they are."""

import re
from collections.abc import Iterable

from emissary.model.pages import Code
from emissary.reading.walls.lost_words import INTERJECTIONS, SHOWS_THE_WAY, lost_phrase, lost_statement
from emissary.reading.walls.view import TITLE_PARTS, View
from emissary.reading.walls.way import Reaction, led_home
from emissary.reading.walls.weighing import Scale, Wall

__all__ = ["lost_at_home", "soft_404"]

# Whoever asks for a page about one of these gets what they asked for.
_ABOUT_LOST = re.compile(
    r"(?:^|(?<!soft)[/_.-])(?:404|not-?_?found|(?:status|error|http)-?(?:codes?|pages?))(?:[/_.?-]|$)"
)
_LOST_URL = re.compile(
    r"[/=_-](?:404|(?:page|seite)?-?_?(?:not-?_?found|nicht-gefunden)|noroute|error(?:page|-page)?|fehler(?:seite)?|erreur|"
    r"errore|erro|fout|blad|introuvable|no-encontrad[ao]|nao-encontrad[ao])(?:[/.?#&_-]|$)"
)
_SEARCHES = re.compile(
    r"[?&](?:q|s|query|search\w*|keywords?|term|suche?|begriff|buscar?|cerca|zoek\w*|szukaj|text)=|"
    r"/(?:search|suche|recherche|buscar|ricerca|zoeken|pesquisa)\b"
)
# What a site tells its own scripts about the page.
_LOST_ROUTE = re.compile(
    r"""["']?(?:page|page_?type|page_?name|page_?category|template|status_?code|route|view)["']?\s{0,3}:\s{0,3}["']?/?_?"""
    r"""(?:404|error|error-?404|page-?not-?found|not-?_?found|noroute)["'\s,}/]""",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_LONGEST_HEADING = 140
_MUCH = 3_000  # characters: nobody apologises under so much
_MAIN = 1_500  # characters: whatever says that it is not there says so first


def soft_404(view: View, reaction: Reaction) -> Wall | None:
    """A page that says it is not there, under a status that says it is."""
    asked = reaction.url.path.lower()
    if reaction.came_from is None and (_ABOUT_LOST.search(asked) or _SEARCHES.search(asked)):
        return None
    if view.main.prose > _MUCH:
        return None
    scale = Scale(needs=5, works=True)
    bare = 1 if "404" in view.title and not lost_phrase(view.title) else 2  # it is also a room, a band and a shirt
    titled = _weigh(scale, "title", [view.title, *TITLE_PARTS.split(view.title)], bare)
    headings = view.headings or _said_first(view)
    headed = _weigh(scale, "heading", headings[:4], bare)
    _weigh_marks(scale, view, reaction)
    prose = view.main.prose
    # Whoever writes about loss says so in the title, too.
    alone = headed >= 2 and not titled and prose <= 250 and not any(each in view.title for each in headings[:4] if each)
    scale.add(1, "its title names only the site" if alone else None)
    if prose <= 600:
        scale.add(2 if prose <= 250 else 1, f"only {prose} characters of text")
    scale.doubt(2, when=prose > 800)
    # Shops show other things then: they do not take back what is said twice.
    scale.doubt(1 if min(titled, headed) >= 2 and prose <= 600 else 2, when=view.rich)
    scale.doubt(2, when=view.quotes_code)
    scale.doubt(2, when=view.refresh is not None)  # it has moved, and leads there
    scale.doubt(1.5, when=_has_subject(view))
    # What is read below three such signs may be there to console.
    long = prose > 1_200
    if scale.may_tip(4 - long):
        clear = _weigh_statement(scale, view, headings)
        scale.doubt(1 if min(titled, headed, clear) >= 2 else 3, when=long)
    if not scale.tips:
        return None
    return Wall(Code.SOFT_404, "the page says that it is not there", tuple(scale.evidence))


def lost_at_home(reaction: Reaction) -> Wall | None:
    """The front page in place of one thing that was asked for by its name: it is not there any more."""
    if not led_home(reaction):
        return None
    evidence = (f"redirected from {reaction.came_from}", "to the front page")
    return Wall(Code.SOFT_404, "the site shows its front page instead of the page", evidence)


def _has_subject(view: View) -> bool:
    """Title and heading agree on something that is there."""
    subject = view.subject
    if subject is None or lost_phrase(subject):
        return False
    return INTERJECTIONS.isdisjoint(subject.replace("!", " ").replace(",", " ").split())


def _weigh(scale: Scale, what: str, said: Iterable[str], bare: float) -> float:
    clearest = max(said, key=lost_phrase, default="")
    weight = bare if clearest == "404" else lost_phrase(clearest)
    scale.add(weight, f"{what}: {clearest[:80]}" if weight else None)
    return weight


def _said_first(view: View) -> tuple[str, ...]:
    """Where there is no heading, what is said first stands for it, if it is clear."""
    sentences = _SENTENCE.split(view.main.text[:_LONGEST_HEADING])[:2]
    return tuple(sentence for sentence in sentences if lost_phrase(sentence) >= 2)


def _weigh_statement(scale: Scale, view: View, headings: tuple[str, ...]) -> float:
    prose, text = view.main.prose, view.main.text[:_MAIN]
    clear, sentence = lost_statement(text, headings)
    scale.add(clear, f"text: {sentence[:80]}" if clear else None)
    # Where nothing else is said at all, a sentence is enough.
    alone = (clear == 2 and prose <= 160) or (clear >= 1 and len(sentence) * 5 >= prose * 4)
    alone = alone or (not view.headings and len(headings) > 0 and prose <= 160)
    scale.add(1, "and nothing else" if alone and not _has_subject(view) else None)
    way = SHOWS_THE_WAY.search(text)
    scale.add(1, f"text: {way[0]}" if way and scale.weight > 2 else None)
    return clear


def _weigh_marks(scale: Scale, view: View, reaction: Reaction) -> None:
    if view.lost_mark is not None:
        whole = view.lost_mark.startswith(("<body", "<html"))
        scale.add(2 if whole else 1, view.lost_mark)
    route = _LOST_ROUTE.search(view.works)
    scale.add(1.5, None if route is None else f"script: {route[0][:40]}")
    redirected = reaction.came_from is not None
    match = _LOST_URL.search(reaction.url.path.lower()) if redirected else None
    scale.add(3, None if match is None else f"URL: {match[0]}")
    scale.add(1, "noindex" if view.noindex else None)
    scale.add(1, _stands_elsewhere(view, reaction))


def _stands_elsewhere(view: View, reaction: Reaction) -> str | None:
    """Its canonical address is the front page, or that of a page that is not there."""
    if view.canonical is None or len(reaction.url.path) <= 1:
        return None
    rest = view.canonical.lower().partition("//")[2]
    path = f"/{rest.partition('/')[2]}" if rest else view.canonical.lower()
    lost = path in ("/", "") or _LOST_URL.search(path) is not None
    return f"canonical: {view.canonical[:80]}" if lost else None
