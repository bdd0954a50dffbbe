"""A web that answers as a test wrote it down, house rules kept in memory, and a job that moves from lane to lane."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from emissary.model.pages import Elsewhere, Reply, Timings, Unreachable, WebUrl
from emissary.model.robots import RobotsFile
from emissary.ports.web import Ask
from emissary.reading.house_rules import HouseRulesBook
from emissary.reading.owners import OwnersBook
from emissary.reading.urls import parse
from emissary.reading.visit import Errand, Visit, Visitor
from emissary.testing.clock import FakeClock

__all__ = ["KeptRules", "ScriptedWeb", "Traveller", "answer", "closed_to_all", "moved_to"]


def answer(status: int = 200, body: str = "", **headers: str) -> Reply:
    """An answer; `retry_after` stands for the header Retry-After."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"content-type": "text/html", **fields}, body.encode(), "192.0.2.1", "1.1", Timings(1, 1), 0)


def moved_to(url: str) -> Reply:
    return answer(301, location=url)


def closed_to_all() -> Reply:
    return answer(body="User-agent: *\nDisallow: /\n")


class KeptRules:
    """Keeps the promise of `ports.records.HouseRules`, in memory; if it is forgetful, it breaks it at every turn."""

    def __init__(self, *, forgetful: bool = False) -> None:
        self.files: dict[str, RobotsFile] = {}
        self._forgetful = forgetful

    async def rules_of(self, origin: str) -> RobotsFile | None:
        return self.files.get(origin)

    async def keep_rules(self, origin: str, file: RobotsFile) -> None:
        if not self._forgetful:
            self.files[origin] = file

    async def forget_rules(self, before: datetime) -> int:
        old = [origin for origin, file in self.files.items() if file.fetched_at < before]
        return len([self.files.pop(origin) for origin in old])


@dataclass(slots=True)
class ScriptedWeb:
    """Keeps the promise of `ports.web.Web`, and fails whoever asks a host outside a turn of that host's lane."""

    answers: dict[str, Reply | Unreachable]
    asked: list[str] = field(default_factory=list)
    rules_asked: list[str] = field(default_factory=list)
    in_turn: str | None = None  # the lane whose turn it is

    async def ask(self, ask: Ask) -> Reply | Unreachable:
        assert self.in_turn == ask.url.authority, f"{ask.url.href} was asked for in the lane of {self.in_turn}"
        self.asked.append(ask.url.href)
        if ask.truncate:  # as robots.txt is asked for, and no page
            self.rules_asked.append(ask.url.href)
        usual = answer(404) if ask.url.path == "/robots.txt" else answer(body="<p>A page")
        return self.answers.get(ask.url.href, usual)


class Traveller:
    """Goes from lane to lane as a job does, until there is an answer."""

    def __init__(
        self, web: ScriptedWeb, clock: FakeClock, kept: KeptRules | None = None, owners: OwnersBook | None = None
    ) -> None:
        self.web = web
        self.kept = kept or KeptRules()
        self._visitor = Visitor(web, HouseRulesBook(web, self.kept, clock, owners), clock)
        self.lanes: list[str] = []

    async def read(self, url: str) -> Visit:
        """Visit the page; `lanes` then says where the job has been."""
        there = Elsewhere(parse(url))
        self.lanes = []
        while True:
            visit = await self.visit(there)
            if not isinstance(visit.outcome, Elsewhere):
                return visit
            there = visit.outcome

    async def visit(self, there: Elsewhere) -> Visit:
        """One stay in one lane."""
        self.lanes.append(there.place.authority)
        errand = Errand(there.url, 5.0, 100_000, there.hops, rules=there.rules, detours=there.detours)
        return await self._visitor.visit(errand, self._turns_of(there.place))

    def _turns_of(self, place: WebUrl) -> "_Turns":
        return _Turns(self.web, place.authority)


@dataclass(frozen=True, slots=True)
class _Turns:
    web: ScriptedWeb
    lane: str

    @asynccontextmanager
    async def __call__(self, _gap: timedelta | None = None, /) -> AsyncIterator[None]:
        self.web.in_turn = self.lane
        try:
            yield
        finally:
            self.web.in_turn = None
