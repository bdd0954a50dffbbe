"""Judges of what stands before a page for some: a sign-in, or a question about cookies."""

from dataclasses import dataclass

from emissary.model.pages import Code
from emissary.reading.walls import door_words as words
from emissary.reading.walls.lexicon import found
from emissary.reading.walls.vendors import maker
from emissary.reading.walls.view import View
from emissary.reading.walls.way import ABOUT_CONSENT, ABOUT_SIGN_IN, Reaction, another_asked, returns
from emissary.reading.walls.weighing import Scale, Wall

__all__ = ["consent_wall", "login_wall"]

_BEGINNING = 1_500  # characters
_A_LINE = 40  # characters: with less beside it, a form is all there is
_SAYS_NOTHING = 40
_SHORT = 700


def login_wall(view: View, reaction: Reaction) -> Wall | None:
    """A sign-in page where another page was asked for."""
    asked = another_asked(reaction, (ABOUT_SIGN_IN, words.SIGN_IN_URL), view.hidden)
    door = _door_in(view, reaction)
    if asked is None or door is None:
        return None
    scale = Scale(needs=6)
    scale.add(1, asked)
    scale.add(1.5, _quoted("URL", door.address), works=True)
    scale.add(1.5, "redirected to a door" if door.address and reaction.came_from else None)
    scale.add(1, "the URL says where to go on to" if door.address and returns(reaction) else None)
    scale.add(0.5, _quoted("URL", found(words.PROTOCOL, reaction.url.href.lower())))
    scale.add(1.5, _quoted("title", door.titled))
    scale.add(1, _quoted("heading", door.headed))
    scale.add(2, "a password field" if door.locked else None, works=True)
    scale.add(1, "a name and a password" if door.locked and 0 < view.typed <= 3 else None)
    scale.add(1, _quoted("button", found(words.SIGN_IN, " ".join(view.buttons))))
    scale.add(1, _made_by(words.SIGN_IN_MAKERS, view), works=True)
    _weigh_rest(scale, view, door)
    if not scale.tips:
        return None
    return Wall(Code.LOGIN_WALL, "the site asks us to sign in instead of showing the page", tuple(scale.evidence))


@dataclass(frozen=True, slots=True)
class _Door:
    """What of a page is a door."""

    address: str | None
    titled: str | None
    headed: str | None
    must: str | None  # why one has to
    locked: bool  # with a password
    beside: int  # characters of what is said beside it
    aside: bool  # it stands on a page with a subject of its own


def _door_in(view: View, reaction: Reaction) -> _Door | None:
    """The door, if there is a field for a password, or an address that says it: some are drawn by a script."""
    titled = found(words.SIGN_IN, view.title)
    address = found(words.SIGN_IN_URL, reaction.url.href.lower()) or (titled if reaction.came_from else None)
    locked = view.main.beside_password is not None
    if not locked and (view.passwords > 1 or address is None):
        return None
    beside = view.main.prose if view.main.beside_password is None else view.main.beside_password
    closed = found(words.CLOSED_AREA, f"{view.title} {' '.join(view.headings)}")
    headed = found(words.SIGN_IN, " ".join(view.headings)) or closed
    must = found(words.MUST_SIGN_IN, view.main.text[:_BEGINNING])
    led_here = address is not None and reaction.came_from is not None
    aside = view.subject is not None and not (closed or must or led_here or found(words.SIGN_IN, view.subject))
    return _Door(address, titled, headed, must, locked, beside, aside=aside and beside > _A_LINE)


def _weigh_rest(scale: Scale, view: View, door: _Door) -> None:
    """How much there is to read beside the door."""
    called_so = door.address or door.titled or door.headed or door.must
    if not door.aside and door.beside <= (250 if called_so else 60):
        scale.add(1 if door.beside > 60 else 2, f"only {door.beside} characters beside it")
    scale.add(2 if door.beside <= 250 else 1, _quoted("text", door.must))
    scale.doubt(1.5, when=door.aside)
    scale.doubt(2, when=view.typed > 3)
    scale.doubt(1, when=door.beside > 500)
    scale.doubt(3, when=door.beside > 1_000)
    scale.doubt(2, when=view.rich)


def consent_wall(view: View, reaction: Reaction) -> Wall | None:
    """A question about cookies in place of the page; a banner over the page is none."""
    asked = another_asked(reaction, (ABOUT_CONSENT,), view.hidden)
    address = found(words.CONSENT_URL, reaction.url.href.lower())
    by = _made_by(words.CONSENT_MAKERS, view) if view.length <= _SHORT else None
    accepts = _yes_of(view, address)
    drawn_later = by is not None and view.length <= _SAYS_NOTHING
    if asked is None or not (accepts or address or drawn_later) or (view.hollow and address is None):
        return None
    scale = Scale(needs=6)
    scale.add(1, asked)
    scale.add(1, _quoted("button", accepts), works=True)
    scale.add(1, _quoted("button", next((b for b in view.buttons if b != accepts and found(words.REFUSES, b)), None)))
    scale.add(1.5, _quoted("title", found(words.CONSENT_TITLE, view.title)))
    scale.add(1, _quoted("heading", found(words.CONSENT_TITLE, " ".join(view.headings))))
    scale.add(2, _quoted("URL", address), works=True)
    scale.add(1, "the URL says where to go on to" if address and returns(reaction) else None)
    scale.add(1, "nothing drawn yet" if address and view.length <= _SAYS_NOTHING and by is None else None)
    scale.add(1, "a form about consent" if any(found(words.CONSENT_ACTION, each) for each in view.actions) else None)
    scale.add(1, by)
    scale.add(1.5, "and nothing else" if drawn_later else None, works=True)
    _weigh_talk(scale, view)
    _doubt_banner(scale, view)
    if not scale.tips:
        return None
    return Wall(Code.CONSENT_WALL, "the site asks for consent instead of showing the page", tuple(scale.evidence))


def _yes_of(view: View, address: str | None) -> str | None:
    """What stands on the button to say yes; at an address for such questions the first button says it."""
    if view.question is not None:
        return view.question.accept
    return next(iter(view.buttons), None) if address else None


def _weigh_talk(scale: Scale, view: View) -> None:
    """Long or short, such a page speaks of nothing else."""
    said = len(words.CONSENT_WORDS.findall(view.text)) if view.question is None else view.question.words
    only = said * 120 >= len(view.text) > 0
    scale.add(1.5, f"{said} words about consent" if only else None)
    scale.add(1, f"only {view.length} characters of text" if view.length <= _SHORT else None)
    scale.doubt(2 if only else 5, when=view.length > 3_000)
    scale.doubt(2, when=view.subject is not None and not found(words.CONSENT_TITLE, view.subject))
    scale.doubt(2, when=view.rich or view.links > 25)


def _doubt_banner(scale: Scale, view: View) -> None:
    """What stands beside the question is what somebody came to read."""
    if view.question is None:
        return
    beside, headed = view.question.beside, view.question.headed
    scale.add(1.5, "nothing but the question" if beside <= 20 and not headed else None)
    scale.doubt(3, when=headed)
    scale.doubt(1, when=beside > 30)
    scale.doubt(2, when=beside > 150)
    scale.doubt(2, when=beside > 400)


def _made_by(makers: tuple[tuple[str, tuple[str, ...]], ...], view: View) -> str | None:
    name, signs = maker(makers, view.works)
    return None if name is None else f"{name}: {', '.join(signs)}"


def _quoted(what: str, said: str | None) -> str | None:
    return None if said is None else f"{what}: {said[:80]}"
