"""The shapes of maps and plans, in the API's own names."""

from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from emissary.api.batch_schemas import BegunAnswer, FaultAnswer
from emissary.api.schemas import OutcomeAnswer, Shape, Whole
from emissary.products.scrape.batches import MOST_PAGES
from emissary.products.scrape.crawling import SitemapMode
from emissary.products.scrape.maps import MapWish
from emissary.products.scrape.plans import PlanWish
from emissary.reading.urls import parse

__all__ = ["MapAnswer", "MapRequest", "PlanAnswer", "PlanRequest"]

_URI: dict[str, Any] = {"format": "uri"}


class MapRequest(Shape):
    """A site whose pages are to be listed."""

    url: str = Field(
        description="A page of the site, absolute, http or https: its links are listed as well.",
        max_length=8192,
        json_schema_extra=_URI,
        examples=["https://news.example/"],
    )
    search: str | None = Field(
        None, max_length=200, description="List only pages with each of these words in their URL or title."
    )
    limit: Whole = Field(5_000, ge=1, le=100_000, description="How many pages are listed at most.")
    sitemap: SitemapMode = Field(
        "include", description="Whether the site's sitemaps are read: beside the page, not at all, or they only."
    )
    include_subdomains: bool = Field(False, strict=True, description="List pages on subdomains of the host as well.")
    timeout_ms: Whole = Field(30_000, ge=100, le=300_000, description="How long to wait for the answer.")

    def to_wish(self) -> MapWish:
        """The wish as the front understands it; raises BadRequest where the URL cannot be read."""
        return MapWish(
            parse(self.url),
            self.search,
            self.limit,
            self.sitemap,
            self.include_subdomains,
            timedelta(milliseconds=self.timeout_ms),
        )


class MappedPageAnswer(Shape):
    """A page of the site, which was not read."""

    url: str
    title: str | None = Field(description="What a link to it says; of the page where the map begins, its own title.")
    last_modified: str | None = Field(description="What the sitemap says, as it says it.")
    source: Literal["start", "sitemap", "link"] = Field(description="How it was first found.")


class UnreadAnswer(Shape):
    """A sitemap or page that could not be read; the map lacks what is there."""

    url: str
    outcome: OutcomeAnswer


class MapAnswer(BegunAnswer):
    """The pages of a site, in the order in which they were found."""

    complete: bool = Field(description="Whether all was read that lists pages; false if time or the limit ended it.")
    links: list[MappedPageAnswer]
    unread: list[UnreadAnswer] = Field(description="The first hundred of what could not be read.")


class PlanRequest(Shape):
    """Pages to be read, or a site to be crawled: one of `urls` and `url`."""

    urls: list[str] | None = Field(
        None,
        min_length=1,
        max_length=MOST_PAGES,
        description="The pages of a batch.",
        examples=[["https://shop.example/"]],
    )
    url: str | None = Field(
        None,
        max_length=8192,
        json_schema_extra=_URI,
        description="Where a crawl would begin; `limit` pages are reckoned.",
    )
    limit: Whole = Field(1_000, ge=1, le=MOST_PAGES, description="How many pages the crawl would read at most.")
    timeout_ms: Whole = Field(10_000, ge=100, le=60_000, description="How long house rules may be waited for.")

    @model_validator(mode="after")
    def _one_of_both(self) -> "PlanRequest":
        if (self.urls is None) == (self.url is None):
            raise PydanticCustomError("one_of", "Input should have one of `urls` and `url`")
        return self

    def to_wish(self) -> PlanWish:
        patience = timedelta(milliseconds=self.timeout_ms)
        if self.url is not None:
            return PlanWish([self.url], patience, self.limit)
        return PlanWish(self.urls or [], patience)


class HostPlanAnswer(Shape):
    """What would be asked of one host, at its pace."""

    host: str
    urls: int
    refused: int
    robots: Literal["allowed", "disallowed", "unknown"] = Field(
        description="`disallowed` if none of the pages would be read; `unknown` if the rules did not come in time."
    )
    gap: float = Field(description="Seconds between two requests.")
    seconds: float = Field(description="The least that it takes, at this gap, if nothing else waits for the host.")
    eta: datetime


class RefusedAnswer(Shape):
    """A page that would not be read, and why."""

    url: str
    code: str
    detail: str


class PlanAnswer(Shape):
    """What would happen, if it began now."""

    urls: int
    duplicates: int
    invalid_count: int
    invalid: list[FaultAnswer] = Field(description="The first thousand of those that would not be accepted.")
    host_count: int
    hosts: list[HostPlanAnswer] = Field(description="The first thousand, the one that takes longest first.")
    refused_count: int
    refused: list[RefusedAnswer] = Field(description="The first thousand of those that would not be read.")
    seconds: float
    eta: datetime
    credits: int = Field(description="The most that it costs: one for each page that is not refused.")
