"""Station 4 of 7: visits a URL. May I, when, who am I, get it, and what came back."""

from dataclasses import dataclass
from datetime import timedelta

from emissary.model.errors import BadRequest
from emissary.model.pages import Code, Elsewhere, Hop, Page, Refusal, Reply, Unreachable, WebUrl
from emissary.ports.clock import Clock
from emissary.ports.web import Ask, Web
from emissary.reading.house_rules import Admission, HouseRulesBook, Turn
from emissary.reading.refusal import read
from emissary.reading.urls import join

__all__ = ["MAX_HOPS", "Errand", "Visit", "Visitor"]

MAX_HOPS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Errand:
    """What to visit, and the redirects that led here from other hosts."""

    url: WebUrl
    timeout: float
    max_bytes: int
    hops: tuple[Hop, ...] = ()


@dataclass(frozen=True, slots=True)
class Visit:
    """How a visit went: what came back, the way it took, and the gap the site asks for."""

    outcome: Page | Refusal | Unreachable | Elsewhere
    hops: tuple[Hop, ...]
    gap: timedelta | None = None


class Visitor:
    """Visits one host at a time: a redirect to another host ends the visit there, for that host has its own lane."""

    def __init__(self, web: Web, rules: HouseRulesBook, clock: Clock) -> None:
        self._web = web
        self._rules = rules
        self._clock = clock

    async def visit(self, errand: Errand, turn: Turn) -> Visit:
        """Read the URL, following redirects hop by hop; every hop is asked for anew under the house rules."""
        url, hops = errand.url, errand.hops
        while True:
            admission = await self._rules.may_read(url, turn)
            if not isinstance(admission, Admission):
                return Visit(admission, hops)
            async with turn():
                reply = await self._web.ask(Ask(url, errand.timeout, errand.max_bytes))
            if isinstance(reply, Unreachable):
                return Visit(reply, hops, admission.gap)
            target = _redirect(url, reply, hops)
            if target is None:
                outcome = read(url, reply, admission.note, self._clock.now())
                return Visit(outcome, hops, admission.gap)
            if isinstance(target, Unreachable):
                return Visit(target, hops, admission.gap)
            hops = (*hops, Hop(url.href, reply.status, target.href))
            if target.authority != url.authority:
                return Visit(Elsewhere(target, hops), hops, admission.gap)
            url = target


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
