"""Where a crawl goes on from a page, on the same lanes as everything else: no URL twice, no page beyond the limit."""

import msgspec

from emissary.engine.handlers import Work
from emissary.engine.jobs import new_job_id
from emissary.model.errors import BadRequest
from emissary.model.ids import BatchId
from emissary.model.jobs import NewJob, Priority
from emissary.model.lanes import host_lane
from emissary.model.pages import Document, Page, WebUrl
from emissary.ports.batches import Batches
from emissary.ports.clock import Chance, Clock
from emissary.products.scrape.batches import mark_of
from emissary.products.scrape.crawling import follows
from emissary.products.scrape.order import PageOfBatch, ScrapeOrder
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
        if order.crawl is None or work.item.batch is None:
            return True
        return await self._batches.admit(work.item.batch, work.item.job, most=order.crawl.limit)

    def found_on(
        self, order: ScrapeOrder, work: Work, page: Page, *, document: Document, wishes: Wishes
    ) -> list[NewJob]:
        """The jobs for the pages that this one leads to; the store leaves out those that the crawl has seen."""
        rules, batch = order.crawl, work.item.batch
        if rules is None or batch is None or order.depth >= rules.max_depth or wishes.nofollow:
            return []
        jobs: dict[bytes, NewJob] = {}
        for link in document.links or ():
            if "nofollow" in link.rel.split():
                continue
            try:
                url = join(page.url, link.url)
            except BadRequest:
                continue  # mail addresses, scripts, and what only looks like a link
            if follows(rules, url, order.depth + 1):
                mark = mark_of(url.href)
                jobs.setdefault(mark, self._job(work, batch, url, depth=order.depth + 1, mark=mark))
        return list(jobs.values())

    def _job(self, work: Work, batch: BatchId, url: WebUrl, *, depth: int, mark: bytes) -> NewJob:
        return NewJob(
            new_job_id(self._clock, self._chance),
            work.item.account,
            work.item.kind,
            host_lane(url.authority),
            _encode(PageOfBatch(url.href, None, depth)),
            Priority.NORMAL,
            batch=batch,
            mark=mark,
        )
