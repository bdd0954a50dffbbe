"""The front for plans: what a list of pages would come to, before any of them is asked for.

Only house rules are read: as they are kept, or else, where time allows, in the lane of the host whose they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

import msgspec

from emissary.engine.jobs import Jobs, new_job_id
from emissary.model.errors import BadRequest
from emissary.model.ids import AccountId, JobId
from emissary.model.jobs import FINAL_STATES, NewJob, Priority
from emissary.model.lanes import LEFT_ALONE, LaneKey, Pace, host_lane
from emissary.model.pages import Refusal, WebUrl
from emissary.ports.clock import Chance, Clock
from emissary.products.scrape.batches import Faulty
from emissary.products.scrape.order import CRAWL_LISTING, ScrapeOrder
from emissary.reading.house_rules import HouseRulesBook
from emissary.reading.rules_memory import KnownRules
from emissary.reading.urls import parse

__all__ = ["HostPlan", "Plan", "PlanWish", "Plans", "Refused"]

_AT_ONCE = 500  # URLs that are looked at before others get their turn
_MOST_ASKED = 200  # hosts whose rules are read for one plan
_MOST_TOLD = 1_000
_SHOWN = 200
_RULES_TIMEOUT_MS = 10_000
_FIRST_LOOK, _LAST_LOOK = 0.02, 0.25  # seconds between two looks at what has come, less and less often

Robots = Literal["allowed", "disallowed", "unknown"]
Rules = KnownRules | Refusal | None

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class PlanWish:
    """The pages, and how long house rules may be waited for. `times` is how many pages a crawl of one may come to."""

    urls: Sequence[str]
    patience: timedelta
    times: int = 1


@dataclass(frozen=True, slots=True)
class Refused:
    """A page that would not be read, and why."""

    url: str
    code: str
    detail: str


@dataclass(slots=True)
class HostPlan:
    """What would be asked of one host. The time is the least that politeness takes: gaps, and nothing beside them."""

    host: str
    urls: int
    gap: timedelta
    refused: int = 0
    robots: Robots = "allowed"

    @property
    def duration(self) -> timedelta:
        return self.gap * max(self.urls - self.refused - 1, 0)


@dataclass(slots=True)
class Plan:
    """What would happen."""

    urls: int = 0
    duplicates: int = 0
    invalid: int = 0
    faults: list[Faulty] = field(default_factory=list)  # the first thousand
    hosts: list[HostPlan] = field(default_factory=list)  # the one that takes longest first
    refused: int = 0
    refusals: list[Refused] = field(default_factory=list)  # the first thousand

    @property
    def credits(self) -> int:
        return self.urls - self.refused

    @property
    def duration(self) -> timedelta:
        """Hosts are read beside each other, so the one that takes longest decides."""
        return max((host.duration for host in self.hosts), default=timedelta())


class Plans:
    """Plans, made while their caller waits."""

    def __init__(
        self, jobs: Jobs, rules: HouseRulesBook, pace_of: Callable[[LaneKey], Pace], *, clock: Clock, chance: Chance
    ) -> None:
        self._jobs = jobs
        self._rules = rules
        self._pace_of = pace_of
        self._clock = clock
        self._chance = chance

    async def make(self, account: AccountId, wish: PlanWish) -> Plan:
        """The plan; where house rules did not come in time, it says that they are unknown."""
        until = self._clock.monotonic() + wish.patience.total_seconds()
        plan = Plan()
        hosts = await self._by_host(plan, wish.urls)
        if not hosts:
            raise BadRequest("no URL of the plan can be read: see that each is absolute, http or https", "invalid_url")
        rules = await self._learn(account, hosts, until)
        for authority, urls in hosts.items():
            plan.hosts.append(await self._judge(plan, authority, urls, rules=rules, times=wish.times))
        plan.urls *= wish.times
        plan.hosts.sort(key=lambda host: (-host.duration, host.host))
        return plan

    async def _by_host(self, plan: Plan, urls: Sequence[str]) -> dict[str, dict[str, WebUrl]]:
        hosts: dict[str, dict[str, WebUrl]] = {}
        for index, text in enumerate(urls):
            if index % _AT_ONCE == 0:
                await self._clock.sleep(0)
            try:
                url = parse(text)
            except BadRequest as error:
                plan.invalid += 1
                if len(plan.faults) < _MOST_TOLD:
                    plan.faults.append(Faulty(index, text[:_SHOWN], error.code))
                continue
            known = hosts.setdefault(url.authority, {})
            if url.href in known:
                plan.duplicates += 1
            else:
                known[url.href] = url
                plan.urls += 1
        return hosts

    async def _learn(self, account: AccountId, hosts: dict[str, dict[str, WebUrl]], until: float) -> dict[str, Rules]:
        """The rules by origin: kept ones first, then as many others as time allows."""
        first = {url.origin: url for urls in hosts.values() for url in urls.values()}
        known: dict[str, Rules] = {}
        for origin, url in first.items():
            if self._clock.monotonic() >= until:
                break
            known[origin] = await self._rules.kept_rules_of(url)
        unknown = [first[origin] for origin, rules in known.items() if rules is None][:_MOST_ASKED]
        if unknown:
            known |= await self._ask(account, unknown, until)
        return known

    async def _ask(self, account: AccountId, urls: Sequence[WebUrl], until: float) -> dict[str, Rules]:
        jobs = {new_job_id(self._clock, self._chance): url for url in urls}
        known: dict[str, Rules] = {}
        pause = _FIRST_LOOK
        await self._jobs.accept([_rules_job(job, account, url) for job, url in jobs.items()])
        try:
            while jobs and self._clock.monotonic() < until:
                await self._clock.sleep(pause)
                pause = min(2 * pause, _LAST_LOOK)
                for job in [job for job in jobs if await self._is_over(account, job)]:
                    url = jobs.pop(job)
                    known[url.origin] = await self._rules.kept_rules_of(url)
        finally:
            for job in jobs:  # nobody waits for these any longer
                await self._jobs.cancel(job)
        return known

    async def _is_over(self, account: AccountId, job: JobId) -> bool:
        """Whether nothing more is to be waited for: it has ended, or its host is left alone for a while."""
        found = await self._jobs.find(job, account)
        if found is None or found.state in FINAL_STATES:
            return True
        why = await self._jobs.why_waiting(job)
        return why is not None and why.reason in LEFT_ALONE and await self._jobs.cancel(job)

    async def _judge(
        self, plan: Plan, authority: str, urls: dict[str, WebUrl], *, rules: dict[str, Rules], times: int
    ) -> HostPlan:
        host = HostPlan(authority, len(urls) * times, self._pace_of(host_lane(authority)).gap)
        unknown = False
        for index, url in enumerate(urls.values()):
            if index % _AT_ONCE == 0:
                await self._clock.sleep(0)
            known = rules.get(url.origin)
            verdict = self._rules.verdict(url, known) if isinstance(known, KnownRules) else known
            if isinstance(verdict, Refusal):
                host.refused += times
                _tell(plan, url, verdict)
            elif verdict is None:
                unknown = True
            elif verdict.gap is not None:
                host.gap = max(host.gap, verdict.gap)  # a site may ask for more patience than we plan, never for less
        plan.refused += host.refused
        if host.refused == host.urls:
            host.robots = "disallowed"
        elif unknown:
            host.robots = "unknown"
        return host


def _rules_job(job: JobId, account: AccountId, url: WebUrl) -> NewJob:
    robots = parse(f"{url.origin}/robots.txt")
    order = ScrapeOrder(robots, robots.href, part="robots", timeout_ms=_RULES_TIMEOUT_MS)
    lane = host_lane(robots.authority)
    return NewJob(job, account, CRAWL_LISTING, lane, _encode(order), Priority.INTERACTIVE, price=0)


def _tell(plan: Plan, url: WebUrl, refusal: Refusal) -> None:
    if len(plan.refusals) < _MOST_TOLD:
        plan.refusals.append(Refused(url.href, refusal.code.value, refusal.detail))
