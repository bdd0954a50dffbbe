"""The house rules of every origin we visit: asked for once a day, shared by all workers."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import timedelta

import msgspec

from emissary.model.pages import Code, Refusal, RobotsNote, Unreachable, WebUrl
from emissary.ports.clock import Clock
from emissary.ports.records import HouseRules
from emissary.ports.web import Web
from emissary.reading.identity import PRODUCT_TOKEN
from emissary.reading.owners import OwnersBook
from emissary.reading.robots import Verdict, parse_robots
from emissary.reading.robots_files import Avoided, Found, KeptElsewhere, RobotsFiles, Turn
from emissary.reading.rules_memory import KnownRules, RulesMemory

__all__ = ["Admission", "Detour", "HouseRulesBook"]

_NOWHERE = ""  # in no lane: what is not known cannot be asked for


class Admission(msgspec.Struct, frozen=True):
    """We may read this path; under which rule, how far apart the site wants our visits, and what use it wishes for."""

    note: RobotsNote
    gap: timedelta | None
    usage: dict[str, bool] = {}


@dataclass(frozen=True, slots=True)
class Detour:
    """The answer is to be had in another lane: that of the host which keeps the rules, or, once they are known, the
    page's own.
    """

    to: WebUrl


class HouseRulesBook:
    """Answers "may I?" for a URL. There is no way to ask a host for a page that does not come through here."""

    def __init__(self, web: Web, records: HouseRules, clock: Clock, owners: OwnersBook | None = None) -> None:
        self._owners = owners
        self._clock = clock
        self._files = RobotsFiles(web, records, clock, owners)
        self._memory = RulesMemory()

    async def may_read(
        self, url: WebUrl, turn: Turn, here: str | None = None
    ) -> Admission | Detour | Refusal | Unreachable:
        """Whether the house rules let us read the URL; asks for them first if they are not known or too old.

        `here` is the host in whose lane we are, if that is not the URL's own: we are never let in from there.
        """
        here = here or url.authority
        known = await self.rules_of(url, turn, here)
        return self._judge(url, known, here) if isinstance(known, KnownRules) else known

    async def rules_of(self, url: WebUrl, turn: Turn, here: str) -> KnownRules | Detour | Refusal | Unreachable:
        """The rules of the URL's origin themselves, whatever they say of the URL; asked for as `may_read` does."""
        away = None if self._owners is None else self._owners.refusal(url)
        if away is not None:
            return away
        known = self._memory.recall(url.origin, self._clock.now())
        if known is not None:
            return known
        found = await self._files.find(url, here, turn)
        match found:
            case Unreachable():
                return found
            case KeptElsewhere(where):
                return Detour(where)
            case Avoided(where):
                return self._avoiding(url, where)
            case Found():
                return self._remember(url.origin, found)

    async def kept_rules_of(self, url: WebUrl) -> KnownRules | Refusal | None:
        """The rules of the URL's origin as far as they are known by now; nobody is asked for them."""
        known = await self.rules_of(url, _no_turn, _NOWHERE)
        return None if isinstance(known, Detour | Unreachable) else known

    def verdict(self, url: WebUrl, known: KnownRules) -> Admission | Refusal:
        """What the rules say of the URL, wherever we stand."""
        verdict = self._judge(url, known, url.authority)
        assert not isinstance(verdict, Detour), "whoever stands in the page's own lane is sent nowhere"
        return verdict

    def _judge(self, url: WebUrl, known: KnownRules, here: str) -> Admission | Detour | Refusal:
        file, rules = known.file, known.rules
        # RFC 9309, 2.3.1.4: a site that cannot say what it allows is taken to allow nothing.
        unsaid = Verdict(allowed=False, rule=f"robots.txt answered {file.status}") if file.is_broken else None
        verdict = unsaid or rules.verdict(url.path)
        read = file.status is not None and file.status < 300
        note = RobotsNote(rules.sha256 if read else None, verdict.rule, file.fetched_at)
        if verdict.allowed:
            return Admission(note, rules.gap, rules.usage(url.path)) if here == url.authority else Detour(url)
        detail = f"robots.txt does not let {PRODUCT_TOKEN} read this: {verdict.rule}"
        # Patience was asked for by the host that keeps the file: it is that host's lane that rests.
        rest = file.retry_at if known.keeper == here else None
        return Refusal(url, Code.ROBOTS, detail, None, known.until if unsaid else None, note, rest_until=rest)

    def _avoiding(self, url: WebUrl, where: WebUrl) -> Refusal:
        rule = f"robots.txt is kept by {where.authority}, whose owner has asked us to stay away"
        detail = f"robots.txt does not let {PRODUCT_TOKEN} read this: {rule}"
        return Refusal(url, Code.ROBOTS, detail, robots=RobotsNote(None, rule, self._clock.now()))

    def _remember(self, origin: str, found: Found) -> KnownRules:
        rules = parse_robots(found.file.body, PRODUCT_TOKEN)
        known = KnownRules(replace(found.file, body=b""), found.keeper, rules, found.until)
        self._memory.keep(origin, known)
        return known


def _no_turn(_gap: timedelta | None = None, /) -> AbstractAsyncContextManager[None]:
    raise AssertionError("whoever stands in no lane asks nobody")
