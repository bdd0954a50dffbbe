"""Judges of what stands before a page for some, a sign-in or a question about cookies, and of pages not there."""

import re
from collections.abc import Iterable

from emissary.model.pages import Code
from emissary.reading.walls import phrases
from emissary.reading.walls.phrases import found
from emissary.reading.walls.view import Reaction, View
from emissary.reading.walls.weighing import Scale, Wall

__all__ = ["consent_wall", "login_wall", "soft_404"]

# Where to go back to: only a page that was reached on the way to another says this.
_RETURNS = re.compile(
    r"[?&](?:next|continue|return\w*|redirect\w*|back\w*|goto|target|url|dest\w*|done|ziel|retour|callback\w*|from|ref)="
)
_RETURN_FIELD = re.compile(r"^(?:next|continue|return\w*|redirect\w*|back\w*|goto|target|original\w*)$")
_CONSENT_URL = re.compile(
    r"^https?://(?:consent|guce|privacy|myprivacy|cmp)\.|/(?:[\w-]{0,40}consent[\w-]{0,40}|cookie-?wall|privacy-gate|zustimmung|gdpr)"
    r"(?:[/.?#]|$)"
)
# Whoever asks for a page about one of these gets what they asked for.
_ABOUT_SIGN_IN = re.compile(r"log-?in|log-?on|logout|sign|auth|passw|account|regist|/join")
_ABOUT_CONSENT = re.compile(r"privacy|cookie|consent|datenschutz|gdpr|data-protection|vie-priv")
_ABOUT_LOST = re.compile(r"/(?:(?:error|http)[-_]?)?(?:404|not-?found)(?:\.\w+)?(?:[/?]|$)")
_LOST_URL = re.compile(r"/(?:404|not-?found|error)(?:[/.?#]|$)")
_SEPARATOR = re.compile(r"\s[|·»‹›<>—–-]+\s|\s?[|｜:‹›]\s?|\s::\s")


def login_wall(view: View, reaction: Reaction) -> Wall | None:
    """A sign-in page where another page was asked for."""
    href = reaction.url.href.lower()
    asked = _another(view, reaction, _ABOUT_SIGN_IN)
    if asked is None or not (view.passwords or view.typed) or view.passwords > 1:
        return None
    scale = Scale(needs=6)
    scale.add(1, asked)
    scale.add(1.5, _in_url(phrases.SIGN_IN_URL, href), works=True)
    scale.add(1.5, _title(phrases.SIGN_IN, view.title))
    scale.add(1, _said(phrases.SIGN_IN, " ".join(view.headings)))
    scale.add(1, _said(phrases.MUST_SIGN_IN, view.text[:1_500]))
    scale.add(2, "a password field" if view.passwords else None, works=True)
    scale.add(1, _said(phrases.SIGN_IN, " ".join(view.buttons)))
    if view.length <= 500:
        scale.add(1, f"only {view.length} characters of text")
    scale.doubt(4, when=view.length > 1_000)
    scale.doubt(2, when=view.rich)
    if not scale.tips:
        return None
    return Wall(Code.LOGIN_WALL, "the site asks us to sign in instead of showing the page", tuple(scale.evidence))


def consent_wall(view: View, reaction: Reaction) -> Wall | None:
    """A question about cookies in place of the page; a banner over the page is none."""
    asked = _another(view, reaction, _ABOUT_CONSENT)
    accepts = next((label for label in view.buttons if found(phrases.ACCEPTS, label)), None)
    if asked is None or accepts is None or view.shell:
        return None
    words = len(phrases.CONSENT_WORDS.findall(view.text))
    refuses = next((b for b in view.buttons if b != accepts and found(phrases.REFUSES, b)), None)
    scale = Scale(needs=6)
    scale.add(1, asked)
    scale.add(1, f"button: {accepts}", works=True)
    scale.add(1, None if refuses is None else f"button: {refuses}")
    scale.add(1.5, _title(phrases.CONSENT_TITLE, view.title))
    scale.add(1, _said(phrases.CONSENT_TITLE, " ".join(view.headings)))
    scale.add(2, _in_url(_CONSENT_URL, reaction.url.href.lower()), works=True)
    scale.add(1, "a form about consent" if any("consent" in action for action in view.actions) else None)
    # Long or short, such a page speaks of nothing else.
    scale.add(1.5, f"{words} words about consent" if words * 120 >= len(view.text) > 0 else None)
    if view.length <= 700:
        scale.add(1, f"only {view.length} characters of text")
    scale.doubt(5, when=view.length > 3_000)
    scale.doubt(2, when=view.rich or view.links > 12)
    if not scale.tips:
        return None
    return Wall(Code.CONSENT_WALL, "the site asks for consent instead of showing the page", tuple(scale.evidence))


def soft_404(view: View, reaction: Reaction) -> Wall | None:
    """A page that says it is not there, under a status that says it is."""
    if reaction.came_from is None and _ABOUT_LOST.search(reaction.url.path.lower()):
        return None
    scale = Scale(needs=5, works=True)
    _weigh_lost(scale, "title", [view.title, *_SEPARATOR.split(view.title)])
    _weigh_lost(scale, "heading", view.headings)
    scale.add(2, _said(phrases.LOST_SENTENCE, view.text[:6_000]))
    scale.add(1, _in_url(_LOST_URL, reaction.url.href.lower()) if reaction.came_from else None)
    scale.add(1, "noindex" if view.noindex else None)
    if view.length <= 600:
        scale.add(2 if view.length <= 250 else 1, f"only {view.length} characters of text")
    scale.doubt(2, when=view.length > 800)
    scale.doubt(3, when=view.length > 1_200)
    scale.doubt(3, when=view.rich)
    if not scale.tips:
        return None
    return Wall(Code.SOFT_404, "the page says that it is not there", tuple(scale.evidence))


def _another(view: View, reaction: Reaction, about: re.Pattern[str]) -> str | None:
    """What says that another page was asked for than this one."""
    href = reaction.url.href.lower()
    if reaction.came_from is not None:
        return None if about.search(_path_of(reaction.came_from)) else f"redirected from {reaction.came_from}"
    if _RETURNS.search(href):
        return "the URL says where to go on to"
    if any(_RETURN_FIELD.match(name) for name in view.hidden):
        return "the form says where to go on to"
    if about.search(reaction.url.path.lower()) or len(reaction.url.path) < 2:
        return None
    return "it stands under the URL of another page"


def _path_of(href: str) -> str:
    return href.lower().partition("//")[2].partition("/")[2]


def _weigh_lost(scale: Scale, what: str, said: Iterable[str]) -> None:
    """A bare number says less than words: it is also a room, a band and a shirt."""
    lost = sorted((words for words in said if _is_lost(words)), key=len)
    if lost:
        scale.add(1 if lost[-1] == "404" else 2, f"{what}: {lost[-1][:80]}")


def _is_lost(words: str) -> bool:
    return phrases.LOST_TITLE.fullmatch(words) is not None


def _in_url(pattern: re.Pattern[str], href: str) -> str | None:
    words = found(pattern, href)
    return None if words is None else f"URL: {words}"


def _title(pattern: re.Pattern[str], title: str) -> str | None:
    words = found(pattern, title)
    return None if words is None else f"title: {words}"


def _said(pattern: re.Pattern[str], text: str) -> str | None:
    words = found(pattern, text)
    return None if words is None else f"text: {words}"
