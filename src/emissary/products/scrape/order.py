"""What a scrape asks for, as it is kept with its job, and what it leaves behind."""

from typing import Any, Literal

import msgspec

from emissary.engine.events import Hook
from emissary.model.errors import BadRequest
from emissary.model.extraction import Wanted
from emissary.model.ids import WebhookId
from emissary.model.jobs import Kind
from emissary.model.pages import Document, Format, Hop, Receipt, WebUrl
from emissary.products.scrape.crawling import CrawlRules, check_rules
from emissary.reading.extract import compile_json_fields
from emissary.reading.urls import parse

__all__ = [
    "CRAWL_LISTING",
    "SCRAPE_HTTP",
    "Engine",
    "ListingOfCrawl",
    "PageOfBatch",
    "Part",
    "ScrapeOptions",
    "ScrapeOrder",
    "ScrapeResult",
    "Trail",
    "check_options",
    "order_of",
    "order_of_listing",
    "wanted_of",
]

SCRAPE_HTTP = Kind("scrape.http")
CRAWL_LISTING = Kind("crawl.listing")
Engine = Literal["auto", "http", "browser"]
# What a job of a crawl is about: a page, or a list of pages: robots.txt, a sitemap, lines of one that were too many.
Part = Literal["page", "robots", "sitemap", "lines"]


class ScrapeOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is wanted of a page, whichever it is. `fields` is kept as the JSON it came as."""

    formats: tuple[Format, ...] = (Format.MARKDOWN,)
    fields: str | None = None
    engine: Engine = "auto"
    only_main_content: bool = True
    timeout_ms: int = 30_000
    max_age: int = 0
    keep_copy: bool = False
    session: str | None = None
    attempts: int = 1
    patience_ms: int = 30_000
    hook: Hook | None = None
    webhook: WebhookId | None = None
    crawl: CrawlRules | None = None


class ScrapeOrder(ScrapeOptions, frozen=True, rename="camel", omit_defaults=True):
    """One page, wanted in some formats."""

    url: WebUrl
    source_url: str
    metadata: dict[str, Any] | None = None
    depth: int = 0
    part: Part = "page"
    lines: tuple[str, ...] = ()


class PageOfBatch(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """What a job of a batch has of its own: the batch keeps the options for all of them."""

    url: str
    metadata: dict[str, Any] | None = None
    depth: int = 0


class ListingOfCrawl(PageOfBatch, frozen=True, omit_defaults=True, array_like=True):
    """What a job of a crawl has of its own that reads a list of pages; its depth says how many lists led there."""

    part: Part = "page"
    lines: tuple[str, ...] = ()


def order_of(options: ScrapeOptions, page: PageOfBatch) -> ScrapeOrder:
    """The whole order of one page of a batch."""
    return ScrapeOrder(
        parse(page.url),
        page.url,
        page.metadata,
        page.depth,
        **{name: getattr(options, name) for name in ScrapeOptions.__struct_fields__},
    )


def order_of_listing(options: ScrapeOptions, listing: ListingOfCrawl) -> ScrapeOrder:
    """The whole order of one list of a crawl: nobody is told of it, no copy of it is kept, and no session is needed."""
    plain = msgspec.structs.replace(options, hook=None, webhook=None, keep_copy=False, max_age=0, session=None)
    return msgspec.structs.replace(order_of(plain, listing), part=listing.part, lines=listing.lines)


class Trail(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where redirects have led so far, and which robots.txt is to be asked for before the page."""

    url: WebUrl
    hops: tuple[Hop, ...]
    rules: WebUrl | None = None
    detours: int = 0


class ScrapeResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a scrape's result."""

    document: Document | None = None
    receipt: Receipt | None = None
    listed: list[tuple[str, str | None]] | None = None  # the pages of a sitemap, where they are not read: a map


def check_options(order: ScrapeOptions) -> None:
    """Raises BadRequest for whatever can be known to be wrong before anything is fetched."""
    if Format.FIELDS in order.formats and order.fields is None:
        raise BadRequest("the format 'fields' needs a schema in `fields`", "invalid_fields")
    if order.engine == "browser":
        raise BadRequest("there is no browser engine in this version: use `auto` or `http`", "engine_unavailable")
    if order.crawl is not None:
        check_rules(order.crawl)
    if order.fields is not None:
        compile_json_fields(order.fields.encode())


def wanted_of(order: ScrapeOptions) -> Wanted:
    """The order as extraction understands it. A schema that was given is read, whether or not its format is named."""
    formats = frozenset(order.formats) if order.crawl is None else frozenset({*order.formats, Format.LINKS})
    return Wanted(formats, order.fields, order.only_main_content)
