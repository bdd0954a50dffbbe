"""What scraping remembers of pages: copies for the next time, and captures of the exchanges themselves."""

import hashlib
import re
from datetime import datetime

import msgspec
import structlog

from emissary.engine.handlers import Work
from emissary.model.cache import CachedPage, CacheKey, reader_of
from emissary.model.captures import Capture, Exchange
from emissary.model.errors import StoreUnavailable
from emissary.model.pages import Document, Page, Reply, RobotsNote, Timings
from emissary.ports.captures import Captures
from emissary.ports.clock import Clock
from emissary.ports.reading_records import PageCache
from emissary.products.scrape.order import ScrapeOrder
from emissary.reading.caching import Keeping, keeping_of, kept_headers, may_capture, refreshed
from emissary.reading.charset import charset_of
from emissary.reading.identity import PRODUCT_TOKEN
from emissary.reading.preferences import directives_of
from emissary.reading.urls import parse
from emissary.reading.visit import Visit

__all__ = ["Memory", "digest_of_wish", "extracted_before", "page_of"]

_LARGEST_COPY = 2 * 1024 * 1024
_COOKIE = re.compile(rb"\n((?:set-)?cookie2?):[^\r\n]*", re.IGNORECASE)  # never on the first line of a head
_WITHHELD = rb"\n\1: withheld"

log = structlog.get_logger(__name__)

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
        copy = await self._cache.find(order.url.href, reader_of(work.item.account, order.session))
        # A page may look otherwise in a session, whatever its site says about copies.
        return None if copy is not None and copy.shared and order.session is not None else copy

    async def keep(self, order: ScrapeOrder, work: Work, page: Page, document: Document, *, noarchive: bool) -> None:
        """Keep a copy of the page, and what was taken from it, if the site lets us."""
        if not order.keep_copy or work.item.trail is not None or len(page.body) > _LARGEST_COPY:
            return
        keeping = keeping_of(page.reply, with_session=order.session is not None, noarchive=noarchive)
        copy = CachedPage(
            url=page.url.href,
            fetched_at=self._clock.now(),
            status=page.reply.status,
            headers=kept_headers(page.reply),
            body=page.body,
            sha256=page.reply.sha256,
            wanted=digest_of_wish(order),
            extracted=_encode(document),
            usage=dict(page.usage),
        )
        await self._put(order, work, copy, keeping)

    async def renew(self, order: ScrapeOrder, work: Work, copy: CachedPage, reply: Reply) -> CachedPage:
        """The site says that the copy still holds. For whom it holds may become narrower with that, but never wider."""
        again = refreshed(copy, reply, self._clock.now())
        said = msgspec.structs.replace(reply, status=copy.status, headers={**reply.headers, **again.headers})
        noarchive = directives_of(said.headers, None, PRODUCT_TOKEN).noarchive
        keeping = keeping_of(said, with_session=order.session is not None, noarchive=noarchive)
        if keeping is Keeping.EVERYONE and not copy.shared:
            keeping = Keeping.OWNER
        await self._put(order, work, again, keeping)
        return again

    async def _put(self, order: ScrapeOrder, work: Work, copy: CachedPage, keeping: Keeping) -> None:
        if keeping is Keeping.NOBODY:
            # What was kept before goes as well: the site's last word is the one that counts.
            await self._cache.drop(order.url.href, reader_of(work.item.account, order.session))
            return
        shared = keeping is Keeping.EVERYONE
        owner = None if shared else reader_of(work.item.account, order.session)
        await self._cache.keep(CacheKey(order.url.href, owner), msgspec.structs.replace(copy, shared=shared))

    async def capture(self, order: ScrapeOrder, visit: Visit) -> Capture | None:
        """Keep the exchange as it was, but for its cookies; None where it was not kept.

        Captures are not sealed, so what a site meant for one reader alone is not among them.
        """
        reply = visit.reply
        if self._captures is None or reply is None or reply.heads is None:
            return None
        if order.session is not None or not may_capture(reply):
            return None
        try:
            return await self._captures.keep(_exchange(visit, reply, self._clock.now()))
        except StoreUnavailable as error:
            # The page is worth more than its capture; the receipt says that there is none.
            log.warning("an exchange was not captured", reason=error.detail)
            return None


def _exchange(visit: Visit, reply: Reply, at: datetime) -> Exchange:
    robots = visit.robots
    rule = None if robots is None else robots.rule
    return Exchange(
        visit.outcome.url.href,
        at,
        reply.address,
        _without_cookies(reply.request_head),
        _without_cookies(reply.response_head),
        reply.wire,
        {"robotsRule": rule or "none", "fetchTimeMs": str(reply.timings.total_ms), "egress": reply.egress},
        reply.sha256 if reply.wire is reply.body else None,
    )


def _without_cookies(head: bytes) -> bytes:
    """Cookies are kept sealed or not at all, and captures are not sealed."""
    return _COOKIE.sub(_WITHHELD, head) if b"cookie" in head.lower() else head  # that is quick, and mostly enough


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
    url = order.url if copy.url == order.url.href else parse(copy.url)  # where a redirect has led
    kind_alone, charset = kind.partition(";")[0].strip().lower(), charset_of(copy.body, kind)
    return Page(url, reply, robots, kind_alone, charset, usage=copy.usage)
