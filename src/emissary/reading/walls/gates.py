"""Judges of what stands before a page for everybody: challenges, waiting rooms, and plain blocks."""

import re

from emissary.model.pages import Code
from emissary.reading.walls import phrases
from emissary.reading.walls.lexicon import found
from emissary.reading.walls.vendors import (
    BARE_CHALLENGES,
    CHALLENGES,
    HINTS,
    QUEUE_HINTS,
    QUEUE_HOSTS,
    QUEUES,
    maker,
)
from emissary.reading.walls.view import View
from emissary.reading.walls.way import Reaction
from emissary.reading.walls.weighing import Scale, Wall

__all__ = ["block", "challenge", "waiting_room"]

_REFUSING = frozenset({401, 403, 405, 418, 428, 429, 503})
_BEGINNING = 1_500  # characters: a wall says what it is first
_A_SENTENCE = 60  # characters: with less, there is nothing under the heading
_VERIFIES = ("verif", "captcha", "challenge", "checkpoint", "__cf_chl", "human", "bot-check", "antibot")
_CHECKS = re.compile(
    r"[/_.-](?:verif\w*|captcha\w*|challenge\w*|checkpoint|bot-?check|human\w*|pow|antibot|anti-bot|ddos\w*)\b"
)
_RELOADS = ("location.reload", "location.href", "location.replace", "location.assign", "window.location")
_SUMS = ("crypto.subtle", "sha256", "SHA-256", "argon2", "proof", "document.cookie")
_WALL_TITLES = (phrases.CHALLENGE_TITLE, phrases.WAITING_TITLE, phrases.PLEASE_WAIT)
_A_NAME = 2  # words
_POLLS = ("setInterval(", "setTimeout(", "EventSource(", "WebSocket(")


def challenge(view: View, reaction: Reaction) -> Wall | None:
    """A test for robots in place of the page. We do not take it."""
    status = reaction.reply.status
    scale = Scale(needs=5 if status in _REFUSING else 6)
    vendor, signs = maker(CHALLENGES if not view.bare else BARE_CHALLENGES, f"{reaction.url.href}\n{view.works}")
    if vendor is not None:
        scale.add(3 + (len(signs) > 1), f"{vendor}: {', '.join(signs)}", works=True)
    scale.add(2, _hint(reaction), works=True)
    scale.add(1.5, "a captcha widget" if view.widget else None, works=True)
    scale.add(1, _noscript(view), works=True)
    scale.add(3, _sent_to_a_test(reaction), works=True)
    scale.add(1, _verifying(view), works=True)
    scale.add(1.5, "and nothing else" if view.widget and not view.typed and view.length <= 350 else None)
    scale.add(1.5, _works_hard(view), works=True)
    scale.add(1, "nothing to read or to choose" if _is_empty(view) else None)
    scale.add(1, f"status {status}" if status in _REFUSING or status == 202 else None)
    scale.add(1, "nothing but a script" if view.bare and view.works else None, works=True)
    scale.add(0.5, "noindex" if view.noindex else None)
    scale.add(0.5, "it reloads itself" if _reloads(view) else None, works=True)
    _weigh_length(scale, view, little=350, some=900, much=1_700)
    _doubt_content(scale, view)
    scale.doubt(3, when=view.passwords > 0)
    scale.doubt(2, when=view.typed > 0 and vendor is None and not _asks_for_a_word(view))
    scale.doubt(2, when=view.shell and vendor is None)
    scale.doubt(2, when=vendor is None and _has_subject(view))
    if scale.may_tip(4):
        titled = found(phrases.CHALLENGE_TITLE, view.title) or found(phrases.CHALLENGE_TEXT, view.title)
        scale.add(2, _titled(titled))
        scale.add(2, _quoted(found(phrases.CHALLENGE_TEXT, view.text[:_BEGINNING])))
    if not scale.tips:
        return None
    by = f" ({vendor})" if vendor else ""
    detail = f"the site answered with a challenge for robots instead of the page{by}"
    return Wall(Code.CHALLENGE, detail, tuple(scale.evidence))


def waiting_room(view: View, reaction: Reaction) -> Wall | None:
    """A place in a line instead of the page."""
    scale = Scale(needs=5)
    vendor, signs = maker(QUEUES, view.works)
    if vendor is not None:
        scale.add(3, f"{vendor}: {', '.join(signs)}", works=True)
    host = f".{reaction.url.host}"
    scale.add(4, f"host {reaction.url.host}" if host.endswith(QUEUE_HOSTS) else None, works=True)
    cookies = reaction.reply.headers.get("set-cookie", "")
    whose = next((whose for sign, whose in QUEUE_HINTS.items() if sign in cookies), None)
    scale.add(1, None if whose is None else f"cookie of {whose}", works=True)
    status = reaction.reply.status
    scale.add(1, f"status {status}" if status in (429, 503) else None, works=True)
    scale.add(1.5, _reloads(view), works=True)
    scale.add(1.5, "nothing but a script" if view.bare and view.works else None, works=True)
    _weigh_length(scale, view, little=500, some=1_000, much=1_500)
    _doubt_content(scale, view)
    scale.doubt(2, when=view.typed > 1 or view.passwords > 0)
    scale.doubt(2, when=vendor is None and _has_subject(view))
    said = len(scale.evidence)
    if scale.may_tip(9):
        _weigh_line(scale, view)
    # To come back by itself is no line: others do that too.
    known = vendor is not None or whose is not None or host.endswith(QUEUE_HOSTS)
    if not scale.tips or (len(scale.evidence) == said and not known):
        return None
    by = f" ({vendor})" if vendor else ""
    return Wall(Code.WAITING_ROOM, f"the site has us wait in line{by}", tuple(scale.evidence), view.refresh)


def block(view: View, reaction: Reaction) -> Wall | None:
    """A no that the status does not say, or says as something else."""
    titled = found(phrases.DENIED_TITLE, view.title)
    headed = next((each for each in view.headings if found(phrases.DENIED_TITLE, each)), None)
    said = found(phrases.DENIED_TEXT, view.text[:_BEGINNING]) if titled or headed else None
    if said is None:
        return None
    scale = Scale(needs=5.5, works=True)
    scale.add(2, _titled(titled))
    scale.add(2, _quoted(said))
    scale.add(1, None if headed is None else f"heading: {headed[:80]}")
    scale.add(1, f"status {reaction.reply.status}" if reaction.reply.status in (403, 503) else None)
    _weigh_length(scale, view, little=350, some=800, much=1_500)
    _doubt_content(scale, view)
    scale.doubt(2, when=view.typed > 0)
    if not scale.tips:
        return None
    return Wall(Code.FORBIDDEN, "the site has blocked the request and says so on the page", tuple(scale.evidence))


def _weigh_line(scale: Scale, view: View) -> None:
    """What is said about a line. How to behave in it is also told by others who make one wait."""
    titled, text = found(phrases.WAITING_TITLE, view.title) or found(phrases.A_LINE, view.title), view.text[:_BEGINNING]
    said = [words for group in phrases.IN_LINE if (words := found(group, text)) is not None]
    named = found(phrases.A_LINE, text)
    if not (said or titled or named):
        return
    scale.add(1.5, _titled(titled))
    scale.add(1, _quoted(named))
    for words in said:
        scale.add(1.5, _quoted(words))
    rules = set(phrases.WHILE_WAITING.findall(text))
    scale.add(1.5 if len(rules) == 1 else 2.5, _quoted(found(phrases.WHILE_WAITING, text)))
    scale.add(0 if titled else 1, _titled(found(phrases.PLEASE_WAIT, view.title)))


def _has_subject(view: View) -> bool:
    """Title and heading agree on something other than a wall."""
    subject = view.subject
    if subject is None or view.main.prose - sum(map(len, view.headings)) <= _A_SENTENCE:
        return False
    named = found(phrases.A_LINE, subject) is not None and len(subject.split()) <= _A_NAME
    return not named and not any(found(each, subject) for each in _WALL_TITLES)


def _is_empty(view: View) -> bool:
    return view.links <= 2 and view.length <= 350 and (not view.typed or _asks_for_a_word(view))


def _asks_for_a_word(view: View) -> bool:
    """One field, for what an image shows or a question asks."""
    return view.typed == view.answers == 1


def _works_hard(view: View) -> str | None:
    sign = next((sign for sign in _SUMS if sign in view.works), None)
    return None if sign is None else f"its script computes: {sign}"


def _hint(reaction: Reaction) -> str | None:
    return next((f"header {name} of {maker}" for name, maker in HINTS.items() if name in reaction.reply.headers), None)


def _titled(words: str | None) -> str | None:
    return None if words is None else f"title: {words}"


def _quoted(words: str | None) -> str | None:
    return None if words is None else f"text: {words}"


def _noscript(view: View) -> str | None:
    asked = found(phrases.ASKS_FOR_SCRIPT, view.noscript) or (view.length < 200 and "enable js" in view.text)
    return "it asks for JavaScript" if asked else None


def _sent_to_a_test(reaction: Reaction) -> str | None:
    asked = _CHECKS.search(reaction.url.path.lower()) if reaction.came_from is not None else None
    return None if asked is None else f"redirected to {asked[0]}"


def _verifying(view: View) -> str | None:
    return next((f"a form to {action[:60]}" for action in view.actions if any(v in action for v in _VERIFIES)), None)


def _reloads(view: View) -> str | None:
    if view.refresh is not None and view.refresh <= 300:
        return f"it reloads itself after {view.refresh} s"
    if any(sign in view.works for sign in _RELOADS):
        return "it reloads itself"
    return "its script waits" if any(sign in view.works for sign in _POLLS) else None


def _weigh_length(scale: Scale, view: View, *, little: int, some: int, much: int) -> None:
    """A wall says little. The more there is to read, the more likely somebody wrote it to be read."""
    if view.length <= some:
        scale.add(2 if view.length <= little else 1, f"only {view.length} characters of text")
    scale.doubt(5, when=view.length > much)


def _doubt_content(scale: Scale, view: View) -> None:
    scale.doubt(2, when=view.rich)
    scale.doubt(2, when=view.links > 15)
