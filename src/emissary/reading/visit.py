"""Station 4 of 7: visits a URL. May I, when, who am I, get it, and what came back."""

from datetime import timedelta

import msgspec

from emissary.model.errors import BadRequest
from emissary.model.pages import (
    Code,
    Elsewhere,
    Hop,
    Page,
    Refusal,
    Reply,
    RobotsNote,
    Ruled,
    Unchanged,
    Unreachable,
    WebUrl,
)
from emissary.ports.clock import Clock
from emissary.ports.web import Ask, Web
from emissary.reading.cookies import Cookies
from emissary.reading.house_rules import Admission, Detour, HouseRulesBook
from emissary.reading.refusal import read
from emissary.reading.robots_files import MAX_ROBOTS_HOPS, Turn
from emissary.reading.rules_memory import KnownRules
from emissary.reading.urls import join

__all__ = ["MAX_DETOURS", "MAX_HOPS", "Errand", "Visit", "Visitor"]

MAX_HOPS = 5
# There over as many hosts as a robots.txt may take, and back; and once more, if by then what was learned is too old.
# Every move adds a hop or a detour, and only a hop begins the count of detours anew: the moves of a job are bounded.
MAX_DETOURS = 2 * (MAX_ROBOTS_HOPS + 1)
_UNDER_RULES = (Page, Refusal, Unchanged, Ruled)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

Outcome = Page | Refusal | Unreachable | Elsewhere | Unchanged | Ruled


# These two are made for every page, and a frozen dataclass of their size takes a microsecond and more.
class Errand(msgspec.Struct, frozen=True, gc=False):
    """What to visit, and the redirects that led here from other hosts."""

    url: WebUrl
    timeout: float
    max_bytes: int
    hops: tuple[Hop, ...] = ()
    conditions: dict[str, str] = {}  # with which the site can say that nothing has changed; msgspec copies it
    cookies: Cookies | None = None  # None where there is no session: no cookie is sent, none is kept
    session: str | None = None
    kept_egress: str | None = None  # the one that the session has used so far
    rules: WebUrl | None = None  # the robots.txt for which we stand in another lane than the page's own
    detours: int = 0
    any_content: bool = False  # whatever comes is of use, be it text or not


class Visit(msgspec.Struct, frozen=True, gc=False):
    """How a visit went: what came back, the way it took, the gap the site asks for, the cookies it set."""

    outcome: Outcome
    hops: tuple[Hop, ...]
    gap: timedelta | None = None
    reply: Reply | None = None
    set_cookies: tuple[tuple[WebUrl, tuple[str, ...]], ...] = ()

    @property
    def robots(self) -> RobotsNote | None:
        """The house rule under which this came; None where we did not get so far as to ask for one."""
        return self.outcome.robots if isinstance(self.outcome, _UNDER_RULES) else None


class Visitor:
    """Visits one host at a time: a redirect to another host ends the visit there, for that host has its own lane."""

    def __init__(self, web: Web, rules: HouseRulesBook, clock: Clock) -> None:
        self._web = web
        self._rules = rules
        self._clock = clock

    async def visit(self, errand: Errand, turn: Turn) -> Visit:
        """Read the URL, following redirects hop by hop; every hop is asked for anew under the house rules."""
        url, hops, cookies = errand.url, errand.hops, errand.cookies
        here = (errand.rules or url).authority
        answers: list[tuple[WebUrl, tuple[str, ...]]] = []
        left = errand.timeout
        while True:
            admission = await self._rules.may_read(url, turn, here)
            if not isinstance(admission, Admission):
                outcome = self._moved(admission, errand, url, hops) if isinstance(admission, Detour) else admission
                return Visit(outcome, hops, set_cookies=tuple(answers))
            gap = admission.gap or timedelta()
            reply = await self._ask(errand, url, cookies, turn, gap=admission.gap, left=left)
            if isinstance(reply, Unreachable):
                return Visit(reply, hops, gap, None, tuple(answers))
            if cookies is not None and reply.set_cookies:
                answers.append((url, reply.set_cookies))
                cookies = cookies.after(url, reply.set_cookies, self._clock.now())
            left = max(left - reply.timings.total_ms / 1000, 0.001)  # one total for all hops, their waiting apart
            target = _redirect(url, reply, hops)
            if not isinstance(target, WebUrl):
                end = target or self._outcome(errand, url, reply, admission=admission, hops=hops)
                return Visit(end, hops, gap, reply, tuple(answers))
            hops = (*hops, Hop(url.href, reply.status, target.href))
            if target.authority != url.authority:
                return Visit(Elsewhere(target, hops), hops, gap, reply, tuple(answers))
            url = target

    async def learn(self, errand: Errand, turn: Turn) -> Visit:
        """Only the house rules of the URL's host; nothing is asked for where they are known."""
        url = errand.url
        known = await self._rules.rules_of(url, turn, (errand.rules or url).authority)
        match known:
            case KnownRules(file, _, rules):
                note = RobotsNote(rules.sha256, None, file.fetched_at)
                return Visit(Ruled(url, note, rules.sitemaps), errand.hops, rules.gap or timedelta())
            case Detour():
                return Visit(self._moved(known, errand, url, errand.hops), errand.hops)
            case _:
                return Visit(known, errand.hops)

    async def _ask(
        self, errand: Errand, url: WebUrl, cookies: Cookies | None, turn: Turn, *, gap: timedelta | None, left: float
    ) -> Reply | Unreachable:
        headers = errand.conditions if url == errand.url else {}
        sent = None if cookies is None else cookies.header_for(url, self._clock.now())
        if sent is not None:
            headers = {**headers, "Cookie": sent}
        ask = Ask(url, left, errand.max_bytes, headers, session=errand.session, kept_egress=errand.kept_egress)
        async with turn(gap):
            reply = await self._web.ask(ask)
        if not isinstance(reply, Unreachable) or not reply.stale:
            return reply
        async with turn(gap):  # a kept connection broke: once more, and as politely
            return await self._web.ask(ask)

    def _moved(self, detour: Detour, errand: Errand, url: WebUrl, hops: tuple[Hop, ...]) -> Elsewhere | Refusal:
        if errand.detours >= MAX_DETOURS:
            detail = f"robots.txt is kept elsewhere, and was not to be had in {MAX_DETOURS} moves from host to host"
            return Refusal(url, Code.ROBOTS, detail)
        return Elsewhere(url, hops, None if detour.to == url else detour.to, errand.detours + 1)

    def _outcome(
        self, errand: Errand, url: WebUrl, reply: Reply, *, admission: Admission, hops: tuple[Hop, ...]
    ) -> Page | Refusal | Unreachable | Unchanged:
        if reply.status == 304 and errand.conditions and url == errand.url:
            return Unchanged(url, reply, admission.note, admission.usage)
        outcome = read(url, reply, admission.note, self._clock.now(), hops=hops, any_content=errand.any_content)
        if admission.usage and isinstance(outcome, Page):
            return msgspec.structs.replace(outcome, usage=admission.usage)
        return outcome


def _redirect(url: WebUrl, reply: Reply, hops: tuple[Hop, ...]) -> WebUrl | Unreachable | None:
    location = reply.headers.get("location")
    if reply.status not in _REDIRECTS or location is None:
        return None
    if len(hops) >= MAX_HOPS:
        detail = f"the site redirects more than {MAX_HOPS} times"
        return Unreachable(url, Code.TOO_MANY_REDIRECTS, detail, passing=False, http_status=reply.status)
    try:
        return join(url, location)
    except BadRequest as error:
        detail = f"the site redirects to where we do not go: {error.detail}"
        return Unreachable(url, Code.BAD_RESPONSE, detail, passing=False, http_status=reply.status)
