"""The front for maps: which pages a site has, by its own lists and by the links of one page. None of them is read.

A map is kept like a crawl, so that every request of it is a job in its host's lane, with a receipt.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

import msgspec

from emissary.model.batches import Batch, Finished
from emissary.model.errors import BadRequest
from emissary.model.ids import AccountId, BatchId
from emissary.model.jobs import JobState, Priority
from emissary.model.lanes import LEFT_ALONE, Reason
from emissary.model.pages import Code, Document, Format, Outcome, WebUrl
from emissary.ports.clock import Clock
from emissary.products.scrape.batches import BatchWish, Intake, ScrapeBatches, beginning_of
from emissary.products.scrape.crawling import CrawlRules, SitemapMode, follows
from emissary.products.scrape.order import PageOfBatch, ScrapeOptions
from emissary.reading.urls import join

__all__ = ["MapWish", "MappedPage", "Maps", "SiteMap", "Unread"]

Source = Literal["start", "sitemap", "link"]

_LONGEST_REQUEST_MS = 30_000
_FIRST_LOOK, _LAST_LOOK = 0.02, 0.25  # seconds between two looks at what has come, less and less often
_AT_ONCE = 100
_MOST_UNREAD = 100


class _Left(msgspec.Struct):
    """What a job of a map left behind."""

    document: Document | None = None
    listed: list[tuple[str, str | None]] | None = None


_decode_left = msgspec.json.Decoder(_Left).decode
_decode_page = msgspec.json.Decoder(PageOfBatch).decode
_decode_outcome = msgspec.json.Decoder(Outcome).decode


@dataclass(frozen=True, slots=True)
class MapWish:
    """Which pages are wanted, and how long they are waited for. Every word of `search` is in a page's URL or title."""

    start: WebUrl
    search: str | None = None
    limit: int = 5_000
    sitemap: SitemapMode = "include"
    include_subdomains: bool = False
    patience: timedelta = timedelta(seconds=30)
    without_query: bool = False  # pages that differ by their query only are one


@dataclass(slots=True)
class MappedPage:
    """A page of the site: how it was first found, and what is known of it without having read it."""

    url: str
    source: Source
    title: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """A list, or the page where the map begins, that could not be read; so the map lacks what is there."""

    url: str
    outcome: Outcome


@dataclass(slots=True)
class SiteMap:
    """The pages in the order in which they were found; whether these are all that there are to be found."""

    id: BatchId
    pages: dict[str, MappedPage] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    complete: bool = False
    is_full: bool = False  # more was found than was asked for


class Maps:
    """Maps, drawn while their caller waits."""

    def __init__(self, batches: ScrapeBatches, clock: Clock) -> None:
        self._batches = batches
        self._clock = clock

    async def draw(self, account: AccountId, wish: MapWish) -> SiteMap:
        """The map, or as much of it as came in time or was asked for; what is still open then is cancelled."""
        intake = await self._batches.begin(account, BatchWish(_options(wish), None, Priority.INTERACTIVE, dedupe=True))
        complete = False
        try:
            site_map = await self._gather(account, wish, intake)
            complete = site_map.complete
        finally:
            if not complete:  # nobody waits for the rest any longer
                await intake.abandon()
        return site_map

    async def _gather(self, account: AccountId, wish: MapWish, intake: Intake) -> SiteMap:
        await intake.add(beginning_of(_rules(wish)))
        site_map = SiteMap((await intake.end()).id)
        until = self._clock.monotonic() + wish.patience.total_seconds()
        cursor, pause = "", _FIRST_LOOK
        while True:
            batch = await self._batches.show(account, site_map.id)
            while found := await self._batches.finished(account, site_map.id, after=cursor, most=_AT_ONCE):
                cursor = found[-1].cursor
                for each in found:
                    await self._note(site_map, wish, each)
            # What had ended before we looked has been noted by now.
            site_map.complete = batch.counts.ended >= batch.total and not site_map.is_full
            if site_map.complete or site_map.is_full or self._clock.monotonic() >= until:
                return site_map
            if pause == _LAST_LOOK and await self._is_left_alone(site_map, wish, batch):
                return site_map
            await self._clock.sleep(pause)
            pause = min(2 * pause, _LAST_LOOK)

    async def _is_left_alone(self, site_map: SiteMap, wish: MapWish, batch: Batch) -> bool:
        """Whether nothing will come of what is open for a while: that is better told than waited for."""
        waits = [] if batch.active else await self._batches.waits(batch)
        if not waits or any(wait.why.reason not in LEFT_ALONE for wait in waits):
            return False
        later = min((wait.why.until for wait in waits if wait.why.until is not None), default=None)
        code, detail = Code.CONNECT, "the site could not be reached for some time, and is left alone for now"
        if any(wait.why.reason == Reason.EGRESS for wait in waits):
            code, detail = Code.PROXY, "every egress rests, and the site is left alone until one is back"
        site_map.unread.append(Unread(wish.start.href, Outcome("unreachable", code, None, later, detail)))
        return True

    async def _note(self, site_map: SiteMap, wish: MapWish, finished: Finished) -> None:
        if finished.line.state is not JobState.COMPLETED:
            if len(site_map.unread) < _MOST_UNREAD:
                outcome = _decode_outcome(finished.result.outcome)
                site_map.unread.append(Unread(_decode_page(finished.line.order).url, outcome))
            return
        body = await self._batches.body_of(finished)
        if body is not None:
            await asyncio.to_thread(_collect, site_map, wish, body)  # there may be some ten thousand in it


def _options(wish: MapWish) -> ScrapeOptions:
    patience_ms = wish.patience // timedelta(milliseconds=1)
    return ScrapeOptions(
        formats=(Format.LINKS,),
        only_main_content=False,
        timeout_ms=min(patience_ms, _LONGEST_REQUEST_MS),
        patience_ms=patience_ms,
        crawl=_rules(wish),
    )


def _rules(wish: MapWish) -> CrawlRules:
    return CrawlRules(
        start=wish.start, allow_subdomains=wish.include_subdomains, sitemap=wish.sitemap, max_depth=1, lists=True
    )


def _collect(site_map: SiteMap, wish: MapWish, body: bytes) -> None:
    """Add what the job found, up to the limit; what was found before learns what is new about it."""
    pages = site_map.pages
    words = (wish.search or "").casefold().split()
    for page in _found(wish, _decode_left(body)):
        if wish.without_query:
            page.url = page.url.partition("?")[0]
        known = pages.get(page.url)
        if known is not None:
            known.title = known.title or page.title
            known.last_modified = known.last_modified or page.last_modified
        elif not _has_all(page, words):
            continue
        elif len(pages) < wish.limit:
            pages[page.url] = page
        else:
            site_map.is_full = True


def _found(wish: MapWish, left: _Left) -> Iterator[MappedPage]:
    for url, last_modified in left.listed or ():
        yield MappedPage(url, "sitemap", None, last_modified)
    document = left.document
    if document is None:
        return
    rules = _rules(wish)
    yield MappedPage(document.url, "start", document.title)
    for link in document.links or ():
        try:
            target = join(wish.start, link.url)
        except BadRequest:
            continue  # mail addresses, scripts, and what only looks like a link
        if follows(rules, target, 1):
            yield MappedPage(target.href, "link", link.text or None)


def _has_all(page: MappedPage, words: list[str]) -> bool:
    said = f"{page.url} {page.title or ''}".casefold() if words else ""
    return all(word in said for word in words)
