"""What a page asks of whoever has read it, at little cost: its head is read, and only if it says anything."""

from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from emissary.model.pages import Directives, Page, UsagePreferences
from emissary.reading.extract.tree import parse
from emissary.reading.preferences import directives_of, usage_preferences_of

__all__ = ["NO_WISHES", "Wishes", "wishes_of"]

_LONGEST_HEAD = 64 * 1024
_NO_DIRECTIVES, _NO_PREFERENCES = Directives(), UsagePreferences()
_FIELDS = frozenset({"x-robots-tag", "content-usage", "tdm-reservation", "tdm-policy"})


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for; None where nothing was."""

    directives: Directives | None = None
    usage: UsagePreferences | None = None

    @property
    def noarchive(self) -> bool:
        return self.directives is not None and self.directives.noarchive

    @property
    def nofollow(self) -> bool:
        return self.directives is not None and self.directives.nofollow


NO_WISHES = Wishes()


def wishes_of(page: Page, agent: str) -> Wishes:
    """The wishes in the headers and in the head of the page, and those of robots.txt about its use."""
    tree = _head(page, agent)
    headers = page.reply.headers
    if tree is None and not page.usage and _FIELDS.isdisjoint(headers):
        return NO_WISHES
    directives = directives_of(headers, tree, agent)
    usage = usage_preferences_of(headers, tree, by_robots=page.usage)
    return Wishes(None if directives == _NO_DIRECTIVES else directives, None if usage == _NO_PREFERENCES else usage)


def _head(page: Page, agent: str) -> LexborHTMLParser | None:
    """The head, if any of its elements might speak to us."""
    body = page.body
    end = body.find(b"</head", 0, _LONGEST_HEAD)
    head = body[: end if end >= 0 else _LONGEST_HEAD].lower()
    if b"robots" in head or b"tdm-" in head or agent.lower().encode() in head:
        return parse(head) if b"<meta" in head else None
    return None
