"""Crawls by lists, job by job: each request in the lane of the host it goes to, and no settlement beyond its bound."""

import gzip
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from scraping import LaneWatch, Scraper, scraping
from workshop import Workshop

from emissary.adapters.clock import SystemChance
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.database import Database
from emissary.engine.handlers import Done, Onward, Work
from emissary.engine.jobs import new_job_id
from emissary.model.batches import NewBatch
from emissary.model.ids import AccountId, BatchId
from emissary.model.jobs import NewJob
from emissary.model.lanes import Item, LaneKey, host_lane
from emissary.products.scrape.batches import MOST_PAGES
from emissary.products.scrape.crawling import CrawlRules
from emissary.products.scrape.order import CRAWL_LISTING, SCRAPE_HTTP, ListingOfCrawl, ScrapeOptions
from emissary.reading.urls import parse
from emissary.testing.web import TestWeb
from emissary.testing.web.answers import Answer, Request, Whole, html, text
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.site import Route, Site

pytestmark = pytest.mark.anyio

_ACCOUNT, _CRAWL = AccountId("acc_1"), BatchId("crl_" + "0" * 26)


@asynccontextmanager
async def _turn(_gap: timedelta | None = None, /) -> AsyncIterator[None]:
    yield


@dataclass(slots=True)
class _Walk:
    """Does one job after the other, as an engine without pace would, and notes what each settlement carries."""

    scraper: Scraper
    workshop: Workshop
    asked: list[str] = field(default_factory=list)
    carried: list[int] = field(default_factory=list)
    marks: set[bytes] = field(default_factory=set)
    listed: Counter[str] = field(default_factory=Counter)

    async def run(self, first: NewJob) -> None:
        line: deque[tuple[NewJob, bytes | None]] = deque([(first, None)])
        while line:
            job, trail = line.popleft()
            if job.kind == SCRAPE_HTTP:
                self.asked.append(msgspec.json.decode(job.order)[0])  # which is where a page would be read
                continue
            self.listed[msgspec.json.decode(job.order)[3]] += 1
            verdict = await self.scraper.play(self._work(job, trail), _turn)
            if isinstance(verdict, Onward):
                line.append((msgspec.structs.replace(job, lane=verdict.lane), verdict.trail))
            else:
                assert isinstance(verdict, Done)
                self.carried.append(len(verdict.follow_ups))
                line.extend((each, None) for each in verdict.follow_ups if self._is_new(each))

    def _is_new(self, job: NewJob) -> bool:
        if job.mark is None:
            return True
        seen = job.mark in self.marks
        self.marks.add(job.mark)
        return not seen

    def _work(self, job: NewJob, trail: bytes | None) -> Work:
        now = self.workshop.clock.now()
        item = Item(job.id, job.account, job.kind, 0, job.order, 0, now, trail, job.batch)
        return Work(item, LaneKey(job.lane), now)


async def _walk(
    place: Path, workshop: Workshop, site: Site, *, hosts: int = 3, limit: int = 1_000
) -> tuple[_Walk, LaneWatch, list[str]]:
    watch = LaneWatch()
    async with TestWeb.start(hosts=hosts, numbered=site) as web, scraping(place, workshop, watch) as (scraper,):
        start = parse(web.host_url(1))
        rules = CrawlRules(start=start, limit=limit, sitemap="only")
        await _open(place, workshop, ScrapeOptions(crawl=rules))
        robots = ListingOfCrawl(f"{start.origin}/robots.txt", None, 0, "robots")
        identity = new_job_id(workshop.clock, SystemChance())
        order, lane = msgspec.json.encode(robots), host_lane(start.authority)
        walk = _Walk(scraper, workshop)
        await walk.run(NewJob(identity, _ACCOUNT, CRAWL_LISTING, lane, order, batch=_CRAWL))
        return walk, watch, [path for host in web.hosts for path in web.seen.paths(host)]


async def _open(place: Path, workshop: Workshop, options: ScrapeOptions) -> None:
    database = await Database.open(place / "emissary.db")
    batch = NewBatch(_CRAWL, _ACCOUNT, SCRAPE_HTTP, None, msgspec.json.encode(options))
    await SqliteBatches(database).open(batch, workshop.clock.now())
    await database.close()


def _host(request: Request, number: int) -> str:
    port = request.origin.rpartition(":")[2]
    return f"http://127.0.1.{number}:{port}"


def _robots_far_away(request: Request) -> Answer:
    """The first host names a sitemap of the second, whose rules the third one keeps."""
    if request.origin.startswith(_host(request, 2)):
        return Whole(301, (("Location", f"{_host(request, 3)}/rules.txt"),))
    return text(f"User-agent: *\nDisallow:\nSitemap: {_host(request, 2)}/far.xml\n")


def _far_sitemap(request: Request) -> Answer:
    urls = (_host(request, 1) + "/a", _host(request, 2) + "/b", _host(request, 1) + "/c")
    return text("<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>")


async def test_a_sitemap_that_another_host_keeps_is_read_in_that_hosts_lane(workshop: Workshop, tmp_path: Path) -> None:
    site = Site(
        "far",
        "a sitemap elsewhere",
        (
            Route("/robots.txt", "names it", _robots_far_away),
            Route("/rules.txt", "rules", lambda _: text("User-agent: *\nDisallow: /b\n")),
            Route("/far.xml", "a sitemap", _far_sitemap),
        ),
    )
    walk, watch, paths = await _walk(tmp_path, workshop, site)
    assert sorted(paths) == ["/far.xml", "/robots.txt", "/robots.txt", "/rules.txt"]
    assert len(watch.left) == len(paths)
    assert watch.astray == []
    assert [url.rpartition("/")[2] for url in walk.asked] == ["a", "c"]  # what is of another site is left out


def _long(count: int) -> Site:
    def body(request: Request) -> Answer:
        lines = "".join(f"{request.origin}/{n:06d}{'x' * 60}\n" for n in range(count))
        return Whole(200, (("Content-Type", "application/gzip"),), gzip.compress(lines.encode()))

    missing = html(plain_page("Not found", "No rules."), status=404)
    return Site(
        "long",
        "a long sitemap in the usual place",
        (Route("/robots.txt", "404", lambda _: missing), Route("/sitemap.xml", "lines", body)),
    )


async def test_a_sitemap_of_fifty_thousand_pages_is_spread_over_many_settlements(
    workshop: Workshop, tmp_path: Path
) -> None:
    walk, _, paths = await _walk(tmp_path, workshop, _long(50_000), limit=MOST_PAGES)
    assert len(walk.asked) == len(set(walk.asked)) == 50_000
    assert max(walk.carried) <= 1_050
    assert walk.listed == {"robots": 1, "sitemap": 1, "lines": 49}
    assert paths.count("/sitemap.xml") == 1


async def test_no_more_pages_are_taken_from_a_sitemap_than_the_crawl_may_read(
    workshop: Workshop, tmp_path: Path
) -> None:
    walk, _, _ = await _walk(tmp_path, workshop, _long(500), limit=30)
    assert len(walk.asked) == 30


@pytest.mark.parametrize(("wish", "found"), [("nofollow", 0), ("noindex", 1)])
async def test_a_sitemap_that_asks_not_to_be_followed_is_not(
    workshop: Workshop, tmp_path: Path, wish: str, found: int
) -> None:
    def sitemap(request: Request) -> Answer:
        return text(f"{request.origin}/a\n", headers=(("X-Robots-Tag", wish),))

    robots = Route("/robots.txt", "names it", lambda r: text(f"Sitemap: {r.origin}/map.txt\n"))
    site = Site("wishing", "a sitemap with a wish", (robots, Route("/map.txt", "one page", sitemap)))
    walk, _, _ = await _walk(tmp_path, workshop, site)
    assert len(walk.asked) == found


async def test_sitemaps_lead_on_only_so_deep(workshop: Workshop, tmp_path: Path) -> None:
    def deeper(request: Request) -> Answer:
        level = int(request.places["n"])
        return text(f"<sitemapindex><sitemap><loc>{request.origin}/{level + 1}</loc></sitemap></sitemapindex>")

    robots = Route("/robots.txt", "names the first", lambda r: text(f"Sitemap: {r.origin}/1\n"))
    _, watch, paths = await _walk(
        tmp_path, workshop, Site("deep", "ever deeper", (robots, Route("/{n}", "next", deeper)))
    )
    assert paths == ["/robots.txt", "/1", "/2", "/3", "/4"]
    assert watch.astray == []
