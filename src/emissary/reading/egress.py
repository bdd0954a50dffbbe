"""By which way a request leaves: a pool of the operator's proxies, their health, and the web that uses them.

Only what a proxy does wrong makes a request leave another way. What a site says, its refusals above all, is an answer:
it is no reason to come back under another address. That is why, where nobody names a session, a site is one.
"""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec.structs import replace

from emissary.model.pages import Code, Reply, Unreachable
from emissary.ports.clock import Clock
from emissary.ports.web import Ask, Proxy, Web

__all__ = ["Egress", "EgressPool", "EgressWeb", "Resting", "Strategy"]

_FAILURES_TO_REST = 3
_REST = timedelta(minutes=5)
_PROVIDER_FAILURES = 10
_PROVIDER_SHARE = 0.5
_PROVIDER_WINDOW = timedelta(seconds=60)
_PROVIDER_REST = timedelta(seconds=30)
_MOST_SESSIONS = 100_000
_MOST_TRIES = 3
_MAY_BE_THE_SITE = frozenset({502, 503, 504})


class Strategy(StrEnum):
    """How a session that has no egress yet gets one."""

    ROUND_ROBIN = "round_robin"
    LEAST_LOADED = "least_loaded"


@dataclass(frozen=True, slots=True)
class Resting:
    """No egress can be used before this time."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Egress:
    """What is known of one proxy, to be shown."""

    proxy: Proxy
    uses: int
    under_way: int
    failures: int
    resting_until: datetime | None


@dataclass(slots=True)
class _Provider:
    """A circuit breaker over all proxies of one provider."""

    outcomes: deque[tuple[datetime, bool]] = field(default_factory=deque)
    failures: int = 0  # in a row
    rests_until: datetime | None = None

    def note(self, now: datetime, *, worked: bool) -> None:
        self.outcomes.append((now, worked))
        while self.outcomes[0][0] <= now - _PROVIDER_WINDOW:
            self.outcomes.popleft()
        self.failures = 0 if worked else self.failures + 1
        if not worked and self._is_broken():
            self.rests_until = now + _PROVIDER_REST
            self.outcomes.clear()
            self.failures = 0

    def _is_broken(self) -> bool:
        failed = sum(not worked for _, worked in self.outcomes)
        enough = len(self.outcomes) >= _PROVIDER_FAILURES
        return self.failures >= _PROVIDER_FAILURES or (enough and failed >= _PROVIDER_SHARE * len(self.outcomes))


@dataclass(slots=True)
class _Way:
    proxy: Proxy
    provider: _Provider
    turn: int = 0  # when it was last given to somebody, counted in such gifts
    uses: int = 0
    under_way: int = 0
    failures: int = 0  # in a row
    blamed: set[str] = field(default_factory=set)  # the sites among them, each of which counts once
    rests_until: datetime | None = None

    def is_ready(self, now: datetime) -> bool:
        """Whether neither the way nor its provider rests."""
        own, shared = self.rests_until, self.provider.rests_until
        return (own is None or own <= now) and (shared is None or shared <= now)


class EgressPool:
    """Says by which proxy to leave. Pure: whoever asks brings the time, and says afterwards how it went."""

    def __init__(self, proxies: Iterable[Proxy] = (), strategy: Strategy = Strategy.ROUND_ROBIN) -> None:
        providers: defaultdict[str, _Provider] = defaultdict(_Provider)
        self._ways = {proxy.name: _Way(proxy, providers[_provider_of(proxy)]) for proxy in proxies}
        self._strategy = strategy
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._turns = 0

    @property
    def is_direct(self) -> bool:
        """Whether there is no proxy at all: everything leaves by this machine's own address."""
        return not self._ways

    def choose(
        self,
        now: datetime,
        *,
        session: str | None = None,
        region: str | None = None,
        without: Collection[str] = (),
    ) -> Proxy | Resting | None:
        """The proxy to leave by, None for none, or until when all rest. Say `done` when it has been used.

        A session stays with its proxy as long as that works. The region is a wish: others are better than nothing.
        """
        if self.is_direct:
            return None
        way = self._sticky(session, now, without)
        if way is None:
            ready = [way for way in self._ways.values() if way.proxy.name not in without and way.is_ready(now)]
            if not ready:
                return Resting(self._first_back(now))
            way = self._next([w for w in ready if w.proxy.region == region] or ready)
        if session is not None:
            self._remember(session, way.proxy.name)
        way.uses += 1
        way.under_way += 1
        return way.proxy

    def resume(self, session: str, name: str) -> None:
        """A session that another process knew goes on by the way it had; one that is known here has its own."""
        if session not in self._sessions and name in self._ways:
            self._remember(session, name)

    def done(self, proxy: Proxy, now: datetime, *, worked: bool | None, site: str | None = None) -> None:
        """How it went; None if that says nothing about the proxy. A failure that `site` may have caused counts once."""
        way = self._ways[proxy.name]
        way.under_way -= 1
        if worked is None or (not worked and site is not None and site in way.blamed):
            return
        way.provider.note(now, worked=worked)
        if worked:
            way.failures, way.rests_until = 0, None
            way.blamed.clear()
            return
        way.failures += 1
        if site is not None:
            way.blamed.add(site)
        if way.failures >= _FAILURES_TO_REST:
            way.rests_until = now + _REST
            way.blamed.clear()

    def look(self, now: datetime) -> list[Egress]:
        """Every proxy and how it is."""
        return [
            Egress(way.proxy, way.uses, way.under_way, way.failures, self._rest(way, now))
            for way in self._ways.values()
        ]

    def _sticky(self, session: str | None, now: datetime, without: Collection[str]) -> _Way | None:
        name = None if session is None else self._sessions.get(session)
        way = None if name is None or name in without else self._ways.get(name)
        return way if way is not None and way.is_ready(now) else None

    def _next(self, ready: list[_Way]) -> _Way:
        """Whose turn it is: that of the one whose last turn is longest ago, whoever comes and goes in between."""
        by_load = self._strategy is Strategy.LEAST_LOADED
        way = min(ready, key=lambda way: (way.under_way if by_load else 0, way.turn))
        self._turns += 1
        way.turn = self._turns
        return way

    def _remember(self, session: str, name: str) -> None:
        self._sessions[session] = name
        self._sessions.move_to_end(session)
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)

    def _rest(self, way: _Way, now: datetime) -> datetime | None:
        """Until when the way rests, itself or with its provider."""
        times = [way.rests_until, way.provider.rests_until]
        return max((time for time in times if time is not None and time > now), default=None)

    def _first_back(self, now: datetime) -> datetime:
        return min((rest for way in self._ways.values() if (rest := self._rest(way, now))), default=now)


def _provider_of(proxy: Proxy) -> str:
    """Where none is named, a proxy is on its own."""
    return proxy.provider or f"only {proxy.name}"


class EgressWeb:
    """Keeps the promise of `ports.web.Web`, through the pool. Three ways are tried where proxies fail, and no more."""

    def __init__(self, web: Web, pool: EgressPool, clock: Clock) -> None:
        self._web = web
        self._pool = pool
        self._clock = clock

    async def ask(self, ask: Ask) -> Reply | Unreachable:
        if ask.via is not None or self._pool.is_direct:
            return await self._web.ask(ask)
        ends = self._clock.monotonic() + ask.timeout
        session = ask.session or f"site {ask.url.authority} from {ask.region}"
        if ask.kept_egress is not None:
            self._pool.resume(session, ask.kept_egress)
        tried: set[str] = set()
        failure: Unreachable | None = None
        while len(tried) < _MOST_TRIES and (left := ends - self._clock.monotonic()) > 0:
            proxy = self._pool.choose(self._clock.now(), session=session, region=ask.region, without=tried)
            if not isinstance(proxy, Proxy):
                return failure or _all_rest(ask, proxy)
            found = await self._through(proxy, replace(ask, via=proxy, timeout=left))
            if not isinstance(found, Unreachable) or found.code is not Code.PROXY:
                return found
            tried.add(proxy.name)
            failure = found
        return failure or Unreachable(ask.url, Code.TIMEOUT, "there was no time left to ask")

    async def _through(self, proxy: Proxy, ask: Ask) -> Reply | Unreachable:
        worked, site = None, None
        try:
            found = await self._web.ask(ask)
            if isinstance(found, Reply):
                worked = True  # whatever the site said: the proxy did its work
            elif found.code is Code.PROXY:
                worked = False
                site = ask.url.authority if found.http_status in _MAY_BE_THE_SITE else None
            return found
        finally:
            self._pool.done(proxy, self._clock.now(), worked=worked, site=site)


def _all_rest(ask: Ask, resting: Resting | None) -> Unreachable:
    back_at = None if resting is None else resting.until
    until = "" if back_at is None else f" until {back_at.isoformat(timespec='seconds')}"
    return Unreachable(ask.url, Code.PROXY, f"every egress rests{until}", back_at=back_at)
