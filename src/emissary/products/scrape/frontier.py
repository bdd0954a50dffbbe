"""Where a crawl goes on from a page, on the same lanes as everything else: no URL twice, no page beyond the limit."""

import msgspec

from emissary.engine.handlers import Work
from emissary.engine.jobs import new_job_id
from emissary.model.errors import BadRequest
from emissary.model.jobs import Kind, NewJob, Priority
from emissary.model.lanes import host_lane
from emissary.model.pages import Document, Page, WebUrl
from emissary.ports.batches import Batches
from emissary.ports.clock import Chance, Clock
from emissary.products.scrape.batches import mark_of, mark_of_listing
from emissary.products.scrape.crawling import follows
from emissary.products.scrape.order import CRAWL_LISTING, SCRAPE_HTTP, ListingOfCrawl, PageOfBatch, ScrapeOrder
from emissary.reading.urls import join
from emissary.reading.wishes import Wishes

__all__ = ["Frontier"]

_encode = msgspec.json.Encoder().encode


class Frontier:
    """Lets pages of a crawl begin, and finds the next ones. What is found is accepted with the page it was found on."""

    def __init__(self, batches: Batches, clock: Clock, chance: Chance) -> None:
        self._batches = batches
        self._clock = clock
        self._chance = chance

    async def admits(self, order: ScrapeOrder, work: Work) -> bool:
        """Whether the page may be read: the limit counts those that were begun, not those that were found."""
        if order.crawl is None or work.item.batch is None or order.part != "page":
            return True
        return await self._batches.admit(work.item.batch, work.item.job, most=order.crawl.limit)

    def found_on(
        self, order: ScrapeOrder, work: Work, page: Page, *, document: Document, wishes: Wishes
    ) -> list[NewJob]:
        """The jobs for the pages that this one leads to; the store leaves out those that the crawl has seen."""
        rules = order.crawl
        if rules is None or work.item.batch is None or order.depth >= rules.max_depth or wishes.nofollow:
            return []
        if rules.lists or rules.sitemap == "only":
            return []
        jobs: dict[str, NewJob] = {}
        for link in document.links or ():
            if "nofollow" in link.rel.split():
                continue
            try:
                url = join(page.url, link.url)
            except BadRequest:
                continue  # mail addresses, scripts, and what only looks like a link
            if url.href not in jobs and follows(rules, url, order.depth + 1):
                jobs[url.href] = self.page_job(work, url, depth=order.depth + 1)
        return list(jobs.values())

    def page_job(self, work: Work, url: WebUrl, *, depth: int) -> NewJob:
        """The job for a page of the same crawl."""
        return self._job(SCRAPE_HTTP, work, url, PageOfBatch(url.href, None, depth), mark=mark_of(url.href))

    def listing_job(self, work: Work, url: WebUrl, listing: ListingOfCrawl, *, urgent: bool = False) -> NewJob:
        """The job for a list of the same crawl; none is read twice, but the lines of one may be in many jobs.

        One that somebody waits for is urgent.
        """
        mark = None if listing.part == "lines" else mark_of_listing(url.href)
        job = self._job(CRAWL_LISTING, work, url, listing, mark=mark)
        return msgspec.structs.replace(job, priority=Priority.INTERACTIVE) if urgent else job

    def _job(self, kind: Kind, work: Work, url: WebUrl, order: PageOfBatch, *, mark: bytes | None) -> NewJob:
        return NewJob(
            new_job_id(self._clock, self._chance),
            work.item.account,
            kind,
            host_lane(url.authority),
            _encode(order),
            Priority.NORMAL,
            batch=work.item.batch,
            mark=mark,
        )
