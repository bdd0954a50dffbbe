"""Visits to the local web: may I, get it, and what came back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from scripted import KeptRules

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb
from emissary.model.pages import Code, Elsewhere, Page, Refusal, Unreachable
from emissary.model.robots import RobotsFile
from emissary.reading.guard import Guard
from emissary.reading.house_rules import HouseRulesBook
from emissary.reading.identity import Identity
from emissary.reading.urls import parse
from emissary.reading.visit import Errand, Visit, Visitor
from emissary.testing.web import TestWeb

pytestmark = pytest.mark.anyio


@dataclass
class _Traveller:
    web: TestWeb
    visitor: Visitor
    kept: KeptRules
    turns: int = field(default=0)
    gaps: list[timedelta | None] = field(default_factory=list)

    async def visit(self, site: str, path: str, timeout: float = 5.0) -> Visit:  # noqa: ASYNC109 - the errand's own
        url = parse(self.web.url(site, path))
        return await self.visitor.visit(Errand(url, timeout, 4 * 1024 * 1024), self._turn)

    def _turn(self, gap: timedelta | None = None, /) -> nullcontext[None]:
        self.turns += 1
        self.gaps.append(gap)
        return nullcontext()


@asynccontextmanager
async def _travelling(latency: timedelta = timedelta()) -> AsyncIterator[_Traveller]:
    clock, kept = SystemClock(), KeptRules()
    identity = Identity("1", "https://bot.example/")
    permits = Guard(["127.0.0.0/8"]).permits
    async with (
        TestWeb.start(latency=latency) as web,
        HttpWeb(permits=permits, present=identity.headers(), clock=clock) as client,
    ):
        yield _Traveller(web, Visitor(client, HouseRulesBook(client, kept, clock), clock), kept)


@pytest.fixture
async def traveller() -> AsyncIterator[_Traveller]:
    async with _travelling() as traveller:
        yield traveller


async def test_the_house_rules_are_asked_for_before_the_page(traveller: _Traveller) -> None:
    visit = await traveller.visit("shop", "/product/1")
    assert isinstance(visit.outcome, Page)
    assert traveller.web.seen.paths("shop") == ["/robots.txt", "/product/1"]
    assert visit.outcome.robots.sha256 is not None


async def test_the_house_rules_are_asked_for_once(traveller: _Traveller) -> None:
    await traveller.visit("shop", "/product/1")
    await traveller.visit("shop", "/product/2")
    assert traveller.web.seen.paths("shop").count("/robots.txt") == 1


async def test_every_request_waits_its_turn(traveller: _Traveller) -> None:
    await traveller.visit("moved", "/chain/3")
    assert traveller.turns == len(traveller.web.seen.of("moved"))


async def test_a_page_that_is_closed_to_us_is_not_asked_for(traveller: _Traveller) -> None:
    visit = await traveller.visit("closed", "/prices")
    assert isinstance(visit.outcome, Refusal)
    assert visit.outcome.code is Code.ROBOTS
    assert visit.outcome.robots is not None
    assert visit.outcome.robots.rule == "Disallow: /"
    assert traveller.web.seen.paths("closed") == ["/robots.txt"]


async def test_the_open_part_of_a_closed_site_is_read(traveller: _Traveller) -> None:
    assert isinstance((await traveller.visit("closed", "/open/x")).outcome, Page)


async def test_a_site_without_house_rules_may_be_read(traveller: _Traveller) -> None:
    visit = await traveller.visit("norobots", "/x")
    assert isinstance(visit.outcome, Page)
    assert visit.outcome.robots.sha256 is None


async def test_a_site_that_cannot_say_what_it_allows_is_not_read(traveller: _Traveller) -> None:
    visit = await traveller.visit("brokenrobots", "/x")
    assert isinstance(visit.outcome, Refusal)
    assert visit.outcome.code is Code.ROBOTS
    assert visit.outcome.retry_at is not None
    assert traveller.web.seen.paths("brokenrobots") == ["/robots.txt"]


async def test_house_rules_that_moved_are_followed(traveller: _Traveller) -> None:
    assert isinstance((await traveller.visit("movedrobots", "/private/x")).outcome, Refusal)
    assert isinstance((await traveller.visit("movedrobots", "/x")).outcome, Page)


async def test_long_house_rules_are_read_as_far_as_the_standard_asks(traveller: _Traveller) -> None:
    assert isinstance((await traveller.visit("bigrobots", "/early/x")).outcome, Refusal)


async def test_the_gap_that_the_site_asks_for_is_told(traveller: _Traveller) -> None:
    assert (await traveller.visit("news", "/")).gap == timedelta(seconds=0.2)
    assert (await traveller.visit("shop", "/")).gap == timedelta()
    assert (await traveller.visit("closed", "/")).gap is None


async def test_the_gap_that_the_site_asks_for_holds_from_the_first_page_on(traveller: _Traveller) -> None:
    await traveller.visit("news", "/")
    assert traveller.gaps == [None, timedelta(seconds=0.2)]


async def test_a_kept_connection_that_broke_is_tried_again_in_a_turn_of_its_own(traveller: _Traveller) -> None:
    await traveller.visit("trouble", "/json")
    visit = await traveller.visit("trouble", "/reset")
    assert isinstance(visit.outcome, Unreachable)
    assert traveller.turns == len(traveller.web.seen.of("trouble"))


async def test_redirects_within_a_host_are_followed_hop_by_hop(traveller: _Traveller) -> None:
    visit = await traveller.visit("moved", "/chain/3")
    assert isinstance(visit.outcome, Page)
    assert [hop.status // 100 for hop in visit.hops] == [3] * len(visit.hops)
    assert visit.hops[-1].location == visit.outcome.url.href


async def test_a_redirect_to_another_host_ends_the_visit_there(traveller: _Traveller) -> None:
    visit = await traveller.visit("moved", "/to/shop/product/1")
    assert isinstance(visit.outcome, Elsewhere)
    assert visit.outcome.url.href == traveller.web.url("shop", "/product/1")
    assert not traveller.web.seen.of("shop")


async def test_a_loop_ends(traveller: _Traveller) -> None:
    visit = await traveller.visit("moved", "/loop")
    assert isinstance(visit.outcome, Unreachable)
    assert (visit.outcome.code, visit.outcome.passing) == (Code.TOO_MANY_REDIRECTS, False)
    assert len(visit.hops) == 5


async def test_a_redirect_to_another_scheme_is_not_followed(traveller: _Traveller) -> None:
    visit = await traveller.visit("moved", "/scheme")
    assert isinstance(visit.outcome, Unreachable)
    assert visit.outcome.code is Code.BAD_RESPONSE
    assert "ftp" in visit.outcome.detail


async def test_a_redirect_into_a_closed_part_is_refused() -> None:
    async with _travelling() as traveller:
        traveller.kept.files[traveller.web.url("moved", "").rstrip("/")] = RobotsFile(
            200, b"User-agent: *\nDisallow: /landed\n", SystemClock().now()
        )
        visit = await traveller.visit("moved", "/once")
    assert isinstance(visit.outcome, Refusal)
    assert "/landed" not in traveller.web.seen.paths("moved")


async def test_house_rules_older_than_a_day_are_asked_for_again(traveller: _Traveller) -> None:
    origin = traveller.web.url("shop", "").rstrip("/")
    old = SystemClock().now() - timedelta(hours=25)
    traveller.kept.files[origin] = RobotsFile(200, b"User-agent: *\nDisallow: /\n", old)
    assert isinstance((await traveller.visit("shop", "/product/1")).outcome, Page)
    assert traveller.kept.files[origin].fetched_at > old


async def test_a_host_that_does_not_answer_is_unreachable_and_not_refused(traveller: _Traveller) -> None:
    visitor, url = traveller.visitor, parse("http://127.0.0.1:2/")
    visit = await visitor.visit(Errand(url, 1.0, 1000), nullcontext)
    assert isinstance(visit.outcome, Unreachable)
    assert visit.outcome.code is Code.CONNECT


async def test_all_hops_share_one_time_out() -> None:
    async with _travelling(timedelta(seconds=0.2)) as traveller:
        visit = await traveller.visit("moved", "/chain/4", timeout=0.5)
    assert isinstance(visit.outcome, Unreachable)
    assert visit.outcome.code is Code.TIMEOUT
    assert len(visit.hops) == 2


async def test_house_rules_that_another_host_keeps_end_the_visit_there(traveller: _Traveller) -> None:
    visit = await traveller.visit("lentrobots", "/x")
    assert isinstance(visit.outcome, Elsewhere)
    assert visit.outcome.place.href == traveller.web.url("closed", "/robots.txt")
    assert visit.outcome.url.href == traveller.web.url("lentrobots", "/x")
    assert not traveller.web.seen.of("closed")
