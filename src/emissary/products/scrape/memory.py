"""What scraping remembers of pages: copies for the next time, and captures of the exchanges themselves."""

import hashlib

import msgspec

from emissary.engine.handlers import Work
from emissary.model.cache import CachedPage, CacheKey
from emissary.model.captures import Capture, Exchange
from emissary.model.pages import Document, Page, Refusal, Reply, RobotsNote, Timings, Unchanged
from emissary.ports.captures import Captures
from emissary.ports.clock import Clock
from emissary.ports.reading_records import PageCache
from emissary.products.scrape.order import ScrapeOrder
from emissary.reading.caching import Keeping, keeping_of, kept_headers, refreshed
from emissary.reading.charset import charset_of
from emissary.reading.visit import Visit

__all__ = ["Memory", "digest_of_wish", "extracted_before", "page_of"]

_LARGEST_COPY = 2 * 1024 * 1024

_encode = msgspec.json.Encoder().encode
_decode_document = msgspec.json.Decoder(Document).decode


class Memory:
    """Keeps what a site allows to be kept, and for whom it allows it."""

    def __init__(self, cache: PageCache, captures: Captures | None, clock: Clock) -> None:
        self._cache = cache
        self._captures = captures
        self._clock = clock

    async def recall(self, order: ScrapeOrder, work: Work) -> CachedPage | None:
        """The copy of the page, if the order is one that may use copies."""
        if not order.keep_copy or work.item.trail is not None:
            return None
        return await self._cache.find(order.url.href, work.item.account)

    async def keep(self, order: ScrapeOrder, work: Work, page: Page, document: Document, *, noarchive: bool) -> None:
        """Keep a copy of the page, and what was taken from it, if the site lets us."""
        if not order.keep_copy or work.item.trail is not None or len(page.body) > _LARGEST_COPY:
            return
        with_session = order.session is not None
        keeping = keeping_of(page.reply, with_session=with_session, noarchive=noarchive)
        if keeping is Keeping.NOBODY:
            return
        copy = CachedPage(
            url=page.url.href,
            fetched_at=self._clock.now(),
            status=page.reply.status,
            headers=kept_headers(page.reply),
            body=page.body,
            sha256=hashlib.sha256(page.body).hexdigest(),
            wanted=digest_of_wish(order),
            extracted=_encode(document),
        )
        owner = work.item.account if keeping is Keeping.OWNER else None
        await self._cache.keep(CacheKey(order.url.href, owner), copy)

    async def renew(self, order: ScrapeOrder, work: Work, copy: CachedPage, reply: Reply) -> CachedPage:
        """The site says that the copy still holds."""
        again = refreshed(copy, reply, self._clock.now())
        private = "private" in again.headers.get("cache-control", "").lower() or order.session is not None
        owner = work.item.account if private else None
        await self._cache.keep(CacheKey(order.url.href, owner), again)
        return again

    async def capture(self, visit: Visit) -> Capture | None:
        """Keep the exchange as it was."""
        reply = visit.reply
        if self._captures is None or reply is None or reply.heads is None:
            return None
        outcome = visit.outcome
        url = outcome.url.href if isinstance(outcome, Page | Refusal | Unchanged) else ""
        rule = outcome.robots.rule if isinstance(outcome, Page | Refusal | Unchanged) and outcome.robots else None
        notes = {"robotsRule": rule or "none", "fetchTimeMs": str(reply.timings.total_ms), "egress": reply.egress}
        exchange = Exchange(
            url, self._clock.now(), reply.address, reply.request_head, reply.response_head, reply.wire, notes
        )
        return await self._captures.keep(exchange)


def digest_of_wish(order: ScrapeOrder) -> str:
    """What was asked of a page, in short: two orders with the same digest take the same from the same page."""
    wish = _encode((sorted(order.formats), order.fields, order.only_main_content))
    return hashlib.sha256(wish).hexdigest()[:32]


def extracted_before(copy: CachedPage, order: ScrapeOrder) -> Document | None:
    """What was taken from the page the last time, if the same was asked for."""
    if copy.wanted != digest_of_wish(order) or copy.extracted is None:
        return None
    return _decode_document(copy.extracted)


def page_of(copy: CachedPage, order: ScrapeOrder, robots: RobotsNote) -> Page:
    """The copy as a page, to take something else from it."""
    kind = copy.headers.get("content-type", "")
    reply = Reply(copy.status, copy.headers, copy.body, "", "1.1", Timings(0, 0), 0)
    return Page(order.url, reply, robots, kind.partition(";")[0].strip().lower(), charset_of(copy.body, kind))
