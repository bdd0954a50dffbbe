"""Requests of the other format, turned into those of /v1. Keys that are not known are let in, and named afterwards."""

from dataclasses import replace
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from emissary.api.batch_schemas import BatchRequest, CrawlRequest
from emissary.api.bodies import as_model
from emissary.api.facade.leniency import left_undone
from emissary.api.schemas import ScrapeRequest, Whole
from emissary.api.site_schemas import MapRequest
from emissary.model.errors import BadRequest
from emissary.model.pages import Format
from emissary.products.scrape.batches import MOST_PAGES, BatchWish, Line
from emissary.products.scrape.crawling import CrawlRules, SitemapMode
from emissary.products.scrape.maps import MapWish
from emissary.products.scrape.order import ScrapeOptions, ScrapeOrder

__all__ = ["BatchScrapeAsked", "CrawlAsked", "MapAsked", "ScrapeAsked"]

# The formats that are the same here; metadata comes with every page.
_FORMATS = {name: Format(name) for name in ("markdown", "html", "rawHtml", "links", "images")}
_TWO_DAYS_MS = 2 * 24 * 3600 * 1000
_MONTH_SECONDS = 30 * 24 * 3600
_MOST_PATTERNS = 100
_LONGEST_SHOWN = 60

_Url = Annotated[str, Field(max_length=8192, json_schema_extra={"format": "uri"}, description="http or https.")]
_Milliseconds = Annotated[Whole, Field(ge=1_000, le=300_000, description="How long to wait, in milliseconds.")]


class _Asked(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="allow")

    def undone(self, inside: str = "") -> list[str]:
        """What was asked for and will not be done; raises BadRequest where that must not pass in silence."""
        return left_undone(self.model_extra or {}, inside=inside)


class FormatAsked(BaseModel):
    """A format with settings of its own, which none that we have takes."""

    model_config = ConfigDict(extra="allow")
    type: str


class PageAsked(_Asked):
    """What is wanted of a page, whichever it is."""

    formats: list[str | FormatAsked] = Field(["markdown"], min_length=1, max_length=50)
    only_main_content: bool = Field(True, strict=True)
    max_age: Whole = Field(_TWO_DAYS_MS, ge=0, description="How old, in milliseconds, a copy may be.")
    store_in_cache: bool = Field(True, strict=True, description="Whether a copy may be kept.")
    timeout: _Milliseconds = 60_000

    def undone(self, inside: str = "") -> list[str]:
        return [*super().undone(inside), *_formats_undone(self.named)]

    @property
    def named(self) -> list[str]:
        """The formats by their names."""
        return [each if isinstance(each, str) else each.type for each in self.formats]

    def page_options(self) -> dict[str, Any]:
        """The same, as /v1 says it."""
        return {
            "formats": [*dict.fromkeys(_FORMATS[name] for name in self.named if name in _FORMATS), Format.METADATA],
            "onlyMainContent": self.only_main_content,
            "maxAge": min(self.max_age // 1_000, _MONTH_SECONDS),
            "timeoutMs": self.timeout,
        }

    def kept(self, options: ScrapeOptions) -> ScrapeOptions:
        """With a copy, or without."""
        return msgspec.structs.replace(options, keep_copy=self.store_in_cache)


def _formats_undone(named: list[str]) -> list[str]:
    lacking = [name[:_LONGEST_SHOWN] for name in named if name not in _FORMATS]
    if len(lacking) == len(named):
        raise BadRequest(f"there is none of these formats here: {', '.join(lacking)}", "unknown_format")
    return [f"formats that there are not here were left out: {', '.join(lacking)}"] if lacking else []


class ScrapeAsked(PageAsked):
    """One page."""

    url: _Url

    def to_order(self) -> ScrapeOrder:
        """The order as it is kept; raises BadRequest where the URL cannot be read."""
        order = as_model(ScrapeRequest, {"url": self.url, **self.page_options()}).to_order()
        return msgspec.structs.replace(order, keep_copy=self.store_in_cache)


class BatchScrapeAsked(PageAsked):
    """Many pages."""

    urls: list[str] = Field(min_length=1, max_length=MOST_PAGES)
    ignore_invalid_urls: bool = Field(
        True, alias="ignoreInvalidURLs", strict=True, description="Whether the rest is read where one cannot be."
    )

    def to_wish(self) -> BatchWish:
        """The wish as the front understands it."""
        asked = as_model(BatchRequest, {"urls": self.urls[:1], **self.page_options()})
        return BatchWish(self.kept(asked.to_options()))

    def to_lines(self) -> list[Line]:
        return [Line(url) for url in self.urls]


class CrawlAsked(_Asked):
    """A site, from one page on."""

    url: _Url
    include_paths: list[str] = Field([], max_length=_MOST_PATTERNS)
    exclude_paths: list[str] = Field([], max_length=_MOST_PATTERNS)
    max_discovery_depth: Whole = Field(1_000, ge=0, le=1_000)
    limit: Whole = Field(10_000, ge=1, le=MOST_PAGES)
    sitemap: SitemapMode = "include"
    allow_subdomains: bool = Field(False, strict=True)
    crawl_entire_domain: bool = Field(False, strict=True, description="Or only what is below the path of the URL.")
    scrape_options: PageAsked = PageAsked.model_validate({})

    def undone(self, inside: str = "") -> list[str]:
        return [*super().undone(inside), *self.scrape_options.undone("scrapeOptions.")]

    def to_rules(self) -> CrawlRules:
        """How far it goes; raises BadRequest where the URL cannot be read."""
        rules = self._as_v1().to_rules()
        if self.crawl_entire_domain:
            return rules
        return msgspec.structs.replace(rules, below=rules.start.path.partition("?")[0])

    def to_wish(self, rules: CrawlRules) -> BatchWish:
        """The wish as the front understands it."""
        options = self.scrape_options.kept(self._as_v1().to_options())
        return BatchWish(msgspec.structs.replace(options, crawl=rules))

    def _as_v1(self) -> CrawlRequest:
        asked = {
            "url": self.url,
            "includePaths": self.include_paths,
            "excludePaths": self.exclude_paths,
            "maxDepth": self.max_discovery_depth,
            "limit": self.limit,
            "sitemap": self.sitemap,
            "allowSubdomains": self.allow_subdomains,
        }
        return as_model(CrawlRequest, {**asked, **self.scrape_options.page_options()})


class MapAsked(_Asked):
    """A site whose pages are to be listed."""

    url: _Url
    search: str | None = Field(None, max_length=200)
    limit: Whole = Field(5_000, ge=1, le=100_000)
    sitemap: SitemapMode = "include"
    include_subdomains: bool = Field(True, strict=True)
    ignore_query_parameters: bool = Field(True, strict=True, description="List URLs without their query, each once.")
    timeout: _Milliseconds = 60_000

    def to_wish(self) -> MapWish:
        """The wish as the front understands it; raises BadRequest where the URL cannot be read."""
        asked = {
            "url": self.url,
            "search": self.search,
            "limit": self.limit,
            "sitemap": self.sitemap,
            "includeSubdomains": self.include_subdomains,
            "timeoutMs": self.timeout,
        }
        return replace(as_model(MapRequest, asked).to_wish(), without_query=self.ignore_query_parameters)
