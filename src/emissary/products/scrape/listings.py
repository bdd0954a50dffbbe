"""Where a crawl goes on from lists of pages: robots.txt names sitemaps, and sitemaps name pages and further sitemaps.

What is found is accepted with the list it was found in. One settlement carries a bounded number of jobs: the lines of a
long sitemap that are too many for it are put into jobs of their own, which ask nobody and are spread out in their turn.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from emissary.engine.handlers import Work
from emissary.model.errors import BadRequest
from emissary.model.jobs import NewJob
from emissary.model.pages import Code, Outcome, Page, Ruled, WebUrl
from emissary.products.scrape.crawling import CrawlRules, follows, is_on_site
from emissary.products.scrape.frontier import Frontier
from emissary.products.scrape.order import ListingOfCrawl, ScrapeOrder
from emissary.reading.sitemaps import Entry, read_sitemap
from emissary.reading.urls import join, parse

__all__ = ["Listed", "Listings"]

_AT_ONCE = 1_000
_LINES_BYTES = 256 * 1024  # of one job's lines, so that long ones make no huge row
_MOST_SITEMAPS = 1_000
_DEEPEST = 4  # sitemaps that lead to sitemaps; the protocol knows two
_USUAL_PLACE = "/sitemap.xml"


@dataclass(frozen=True, slots=True)
class Listed:
    """What came of a list: how it is told, what is read next, and the pages themselves where they are only listed."""

    outcome: Outcome
    jobs: tuple[NewJob, ...] = ()
    pages: list[tuple[str, str | None]] | None = None


@dataclass(frozen=True, slots=True)
class _Lines:
    pages: dict[str, str | None]
    sitemaps: list[WebUrl]


class Listings:
    """Reads lists for crawls and maps."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier

    async def of_answer(self, order: ScrapeOrder, work: Work, found: Page | Ruled) -> Listed:
        """What a site says of its pages, in whichever way."""
        if isinstance(found, Ruled):
            return self._of_rules(order, work, found)
        return await self._of_sitemap(order, work, found)

    def of_lines(self, order: ScrapeOrder, work: Work) -> Listed:
        """Lines of a sitemap that was too long to be spread out at once."""
        outcome = Outcome("page", Code.OK, detail=f"{len(order.lines)} lines of the sitemap")
        return Listed(outcome, tuple(self._pages(order, work, order.lines)))

    def _of_rules(self, order: ScrapeOrder, work: Work, ruled: Ruled) -> Listed:
        """The sitemaps that robots.txt names, wherever they are kept; if none, the one in the usual place."""
        named = _urls(order.url, ruled.sitemaps[:_MOST_SITEMAPS] or [_USUAL_PLACE])
        said = f"robots.txt names {len(ruled.sitemaps)} sitemaps" if ruled.sitemaps else "robots.txt names no sitemap"
        jobs = () if order.crawl is None else self._sitemaps(order, work, named)
        return Listed(Outcome("page", Code.OK, detail=said), jobs)

    async def _of_sitemap(self, order: ScrapeOrder, work: Work, page: Page) -> Listed:
        """The pages of the site that the sitemap lists, and the sitemaps."""
        status, rules = page.reply.status, order.crawl
        if rules is None:
            return Listed(Outcome("invalid", Code.INTERNAL, status, detail="a sitemap is read for a crawl only"))
        # A large one takes a good part of a second.
        lines = None if page.code is not Code.OK else await asyncio.to_thread(_read, page.body, page.url, rules)
        if lines is None:
            code = Code.SOFT_404 if page.code is Code.OK else page.code
            return Listed(Outcome("page", code, status, detail="there is no sitemap"))
        said = f"{len(lines.pages)} pages of the site and {len(lines.sitemaps)} further sitemaps are listed"
        outcome = Outcome("page", Code.OK, status, detail=said)
        jobs = self._sitemaps(order, work, lines.sitemaps) if order.depth < _DEEPEST else ()
        if rules.lists:
            return Listed(outcome, jobs, list(lines.pages.items()))
        return Listed(outcome, (*jobs, *self._pages(order, work, list(lines.pages))))

    def _sitemaps(self, order: ScrapeOrder, work: Work, urls: Iterable[WebUrl]) -> tuple[NewJob, ...]:
        unique = {url.href: url for url in urls}
        urgent = order.crawl is not None and order.crawl.lists  # whoever wants a map waits for it
        return tuple(
            self._frontier.listing_job(work, url, _sitemap(url, order.depth + 1), urgent=urgent)
            for url in unique.values()
        )

    def _pages(self, order: ScrapeOrder, work: Work, hrefs: Sequence[str]) -> Iterable[NewJob]:
        yield from (self._frontier.page_job(work, parse(href), depth=1) for href in hrefs[:_AT_ONCE])
        for some in _portions(hrefs[_AT_ONCE:]):
            rest = ListingOfCrawl(order.url.href, None, order.depth, "lines", tuple(some))
            yield self._frontier.listing_job(work, order.url, rest)


def _sitemap(url: WebUrl, depth: int) -> ListingOfCrawl:
    return ListingOfCrawl(url.href, None, depth, "sitemap")


def _read(body: bytes, base: WebUrl, rules: CrawlRules) -> _Lines | None:
    """What concerns the crawl, of all that the file lists. No more pages than it reads at most are of use to it."""
    sitemap = read_sitemap(body)
    if sitemap is None:
        return None
    pages: dict[str, str | None] = {}
    for entry, url in _entries(base, sitemap.pages):
        if follows(rules, url, 1):
            pages.setdefault(url.href, entry.last_modified)
        if len(pages) >= rules.limit and not rules.lists:
            break
    nested = [url for _, url in _entries(base, sitemap.sitemaps) if url.host == base.host or is_on_site(rules, url)]
    return _Lines(pages, nested[:_MOST_SITEMAPS])


def _entries(base: WebUrl, entries: Iterable[Entry]) -> Iterable[tuple[Entry, WebUrl]]:
    for entry in entries:
        try:
            yield entry, join(base, entry.url)
        except BadRequest:
            continue  # one bad line does not spoil the others


def _urls(base: WebUrl, named: Iterable[str]) -> list[WebUrl]:
    return [url for _, url in _entries(base, map(Entry, named))]


def _portions(hrefs: Sequence[str]) -> Iterable[list[str]]:
    some: list[str] = []
    size = 0
    for href in hrefs:
        if some and (len(some) == _AT_ONCE or size + len(href) > _LINES_BYTES):
            yield some
            some, size = [], 0
        some.append(href)
        size += len(href)
    if some:
        yield some
