"""Judges of what stands before a page for everybody: challenges, waiting rooms, and plain blocks."""

from emissary.model.pages import Code
from emissary.reading.walls import phrases
from emissary.reading.walls.phrases import found
from emissary.reading.walls.vendors import BARE_CHALLENGES, CHALLENGES, HINTS, QUEUE_HINTS, QUEUE_HOSTS, QUEUES
from emissary.reading.walls.view import Reaction, View
from emissary.reading.walls.weighing import Scale, Wall

__all__ = ["block", "challenge", "waiting_room"]

_REFUSING = frozenset({401, 403, 405, 418, 428, 429, 503})
_VERIFIES = ("verif", "captcha", "challenge", "checkpoint", "__cf_chl")
_RELOADS = ("location.reload", "location.href", "location.replace")


def challenge(view: View, reaction: Reaction) -> Wall | None:
    """A test for robots in place of the page. We do not take it."""
    status = reaction.reply.status
    scale = Scale(needs=5 if status in _REFUSING else 6)
    vendor, signs = _maker(CHALLENGES if not view.bare else BARE_CHALLENGES, f"{reaction.url.href}\n{view.works}")
    if vendor is not None:
        scale.add(3 + (len(signs) > 1), f"{vendor}: {', '.join(signs)}", works=True)
    scale.add(2, _hint(reaction), works=True)
    scale.add(2, _titled(found(phrases.CHALLENGE_TITLE, view.title)))
    scale.add(2, _quoted(found(phrases.CHALLENGE_TEXT, view.text[:1_500])))
    scale.add(1.5, "a captcha widget" if view.widget else None, works=True)
    scale.add(1, _noscript(view), works=True)
    scale.add(1, _verifying(view), works=True)
    scale.add(1, f"status {status}" if status in _REFUSING or status == 202 else None)
    scale.add(1, "nothing but a script" if view.bare and view.works else None, works=True)
    scale.add(0.5, "noindex" if view.noindex else None)
    scale.add(0.5, "it reloads itself" if view.refresh is not None else None, works=True)
    _weigh_length(scale, view, little=350, some=900, much=1_700)
    _doubt_content(scale, view)
    scale.doubt(3, when=view.passwords > 0)
    scale.doubt(2, when=view.typed > 0 and vendor is None)
    scale.doubt(2, when=view.shell and vendor is None)
    if not scale.tips:
        return None
    by = f" ({vendor})" if vendor else ""
    detail = f"the site answered with a challenge for robots instead of the page{by}"
    return Wall(Code.CHALLENGE, detail, tuple(scale.evidence))


def waiting_room(view: View, reaction: Reaction) -> Wall | None:
    """A place in a line instead of the page."""
    scale = Scale(needs=5.5)
    vendor, signs = _maker(QUEUES, view.works)
    if vendor is not None:
        scale.add(3, f"{vendor}: {', '.join(signs)}", works=True)
    host = f".{reaction.url.host}"
    scale.add(4, f"host {reaction.url.host}" if host.endswith(QUEUE_HOSTS) else None, works=True)
    cookies = reaction.reply.headers.get("set-cookie", "")
    scale.add(
        1, next((f"cookie of {maker}" for sign, maker in QUEUE_HINTS.items() if sign in cookies), None), works=True
    )
    for group in phrases.IN_LINE:
        scale.add(1.5, _quoted(found(group, view.text[:1_500])))
    scale.add(1.5, _titled(found(phrases.WAITING_TITLE, view.title)))
    status = reaction.reply.status
    scale.add(1, f"status {status}" if status in (429, 503) else None, works=True)
    scale.add(1.5, _reloads(view), works=True)
    scale.add(1.5, "nothing but a script" if view.bare and view.works else None, works=True)
    _weigh_length(scale, view, little=500, some=1_000, much=1_500)
    _doubt_content(scale, view)
    scale.doubt(2, when=view.typed > 1 or view.passwords > 0)
    if not scale.tips:
        return None
    by = f" ({vendor})" if vendor else ""
    return Wall(Code.WAITING_ROOM, f"the site has us wait in line{by}", tuple(scale.evidence), view.refresh)


def block(view: View, reaction: Reaction) -> Wall | None:
    """A no that the status does not say, or says as something else."""
    scale = Scale(needs=5.5, works=True)
    titled, said = found(phrases.DENIED_TITLE, view.title), found(phrases.DENIED_TEXT, view.text[:1_500])
    scale.add(2, _titled(titled))
    scale.add(2, _quoted(said))
    headed = next((each for each in view.headings if found(phrases.DENIED_TITLE, each)), None)
    scale.add(1, None if headed is None else f"heading: {headed[:80]}")
    scale.add(1, f"status {reaction.reply.status}" if reaction.reply.status in (403, 503) else None)
    _weigh_length(scale, view, little=350, some=800, much=1_500)
    _doubt_content(scale, view)
    scale.doubt(2, when=view.typed > 0)
    if not (scale.tips and said and (titled or headed)):
        return None
    return Wall(Code.FORBIDDEN, "the site has blocked the request and says so on the page", tuple(scale.evidence))


def _maker(table: tuple[tuple[str, tuple[str, ...]], ...], works: str) -> tuple[str | None, list[str]]:
    for vendor, signs in table:
        if there := [sign for sign in signs if sign in works]:
            return vendor, there
    return None, []


def _hint(reaction: Reaction) -> str | None:
    return next((f"header {name} of {maker}" for name, maker in HINTS.items() if name in reaction.reply.headers), None)


def _titled(words: str | None) -> str | None:
    return None if words is None else f"title: {words}"


def _quoted(words: str | None) -> str | None:
    return None if words is None else f"text: {words}"


def _noscript(view: View) -> str | None:
    asked = found(phrases.ASKS_FOR_SCRIPT, view.noscript) or (view.length < 200 and "enable js" in view.text)
    return "it asks for JavaScript" if asked else None


def _verifying(view: View) -> str | None:
    return next((f"a form to {action[:60]}" for action in view.actions if any(v in action for v in _VERIFIES)), None)


def _reloads(view: View) -> str | None:
    if view.refresh is not None and view.refresh <= 300:
        return f"it reloads itself after {view.refresh} s"
    return "it reloads itself" if any(sign in view.works for sign in _RELOADS) else None


def _weigh_length(scale: Scale, view: View, *, little: int, some: int, much: int) -> None:
    """A wall says little. The more there is to read, the more likely somebody wrote it to be read."""
    if view.length <= some:
        scale.add(2 if view.length <= little else 1, f"only {view.length} characters of text")
    scale.doubt(5, when=view.length > much)


def _doubt_content(scale: Scale, view: View) -> None:
    scale.doubt(2, when=view.rich)
    scale.doubt(2, when=view.links > 15)
