"""The shapes of batches and crawls, in the API's own names."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from emissary.api.schemas import OutcomeAnswer, PageOptions, Shape, Whole, WhyWaitingAnswer
from emissary.model.jobs import JobState, Priority
from emissary.products.scrape.batches import MOST_PAGES, BatchWish, Line
from emissary.products.scrape.crawling import CrawlRules, SitemapMode
from emissary.products.scrape.order import Part
from emissary.reading.urls import parse

__all__ = [
    "AcceptedAnswer",
    "AgainAnswer",
    "AgainRequest",
    "BatchAnswer",
    "BatchOptions",
    "BatchRequest",
    "BegunAnswer",
    "CrawlRequest",
    "ItemsAnswer",
    "ResultsAnswer",
]

_MONTH_SECONDS = 30 * 24 * 3600
_MOST_PATTERNS = 100


def _printable(value: str) -> str:
    if not value.isprintable():
        raise PydanticCustomError("printable", "Input should have no control characters")
    return value


class _ManyOptions(PageOptions):
    name: Annotated[str, AfterValidator(_printable)] | None = Field(
        None, max_length=200, description="A name of yours for all of it."
    )
    priority: Literal["low", "normal", "high"] = Field("normal", description="A head start in line.")


class BatchOptions(_ManyOptions):
    """What is wanted of every page of a batch."""

    dedupe: Literal["none", "batch", "cache"] = Field(
        "batch",
        description="`batch` reads each page once; `cache` also takes copies of up to 30 days, where sites allow it.",
    )

    exclude_recent_errors: bool = Field(
        False,
        strict=True,
        description="Leave out pages that were asked for in vain for your account within the last 24 hours.",
    )

    def to_wish(self) -> BatchWish:
        """The wish as the front understands it."""
        options = self.to_options()
        if self.dedupe == "cache":
            options = msgspec.structs.replace(options, max_age=max(self.max_age, _MONTH_SECONDS))
        return BatchWish(
            options,
            self.name,
            Priority(self.priority),
            dedupe=self.dedupe != "none",
            leave_out_misses=self.exclude_recent_errors,
        )


class BatchRequest(BatchOptions):
    """Many pages. For more than some ten thousand, send them line by line as application/x-ndjson."""

    urls: list[str] = Field(
        min_length=1,
        max_length=MOST_PAGES,
        description="The pages, absolute, http or https.",
        examples=[["https://shop.example/"]],
    )

    def to_lines(self) -> list[Line]:
        return [Line(url) for url in self.urls]


class CrawlRequest(_ManyOptions):
    """A site, read from one page on. Patterns are regular expressions, looked for anywhere in path and query."""

    url: str = Field(
        description="Where the crawl begins, absolute, http or https.",
        max_length=8192,
        json_schema_extra={"format": "uri"},
        examples=["https://news.example/"],
    )
    include_paths: list[str] = Field([], max_length=_MOST_PATTERNS, description="Follow only links that match one.")
    exclude_paths: list[str] = Field([], max_length=_MOST_PATTERNS, description="Follow no link that matches one.")
    max_depth: Whole = Field(10, ge=0, le=1_000, description="How many links away from the start a page may be.")
    limit: Whole = Field(1_000, ge=1, le=MOST_PAGES, description="How many pages are read at most.")
    allow_subdomains: bool = Field(False, strict=True, description="Follow links to subdomains of the host as well.")
    sitemap: SitemapMode = Field(
        "include",
        description="Whether pages are found by the site's sitemaps: beside links, not at all, or by them only.",
    )

    def to_rules(self) -> CrawlRules:
        """How far it goes; raises BadRequest where the URL cannot be read."""
        return CrawlRules(
            start=parse(self.url),
            limit=self.limit,
            max_depth=self.max_depth,
            include_paths=tuple(self.include_paths),
            exclude_paths=tuple(self.exclude_paths),
            allow_subdomains=self.allow_subdomains,
            sitemap=self.sitemap,
        )

    def to_wish(self, rules: CrawlRules) -> BatchWish:
        """The wish as the front understands it."""
        options = msgspec.structs.replace(self.to_options(), crawl=rules)
        return BatchWish(options, self.name, Priority(self.priority))


class FaultAnswer(Shape):
    """A page that was not accepted."""

    index: int = Field(description="Its place among all pages of the request; the first is 0.")
    url: str
    code: str


class BegunAnswer(Shape):
    """A crawl that has begun."""

    id: str


class AcceptedAnswer(BegunAnswer):
    """A batch that has begun."""

    accepted: int
    duplicates: int
    invalid_count: int
    invalid: list[FaultAnswer] = Field(description="The first thousand of those that were not accepted.")
    excluded_count: int = Field(description="How many were left out since they were asked for in vain within a day.")
    excluded: list[FaultAnswer] = Field(description="The first thousand of those, each with the code it came to.")


class CountsAnswer(Shape):
    """How many pages are how. All but `cached` add up to the total; those are among the completed."""

    waiting: int
    active: int
    completed: int
    refused: int
    failed: int
    cancelled: int
    cached: int


class LaneWaitAnswer(WhyWaitingAnswer):
    """A lane in which pages of a batch wait; `ahead` are those before the first of them."""

    items: int = Field(description="How many of its pages stand there; beyond 500 pages in all it is an estimate.")


class BatchAnswer(BegunAnswer):
    """A batch or a crawl as it is now."""

    name: str | None
    status: Literal["running", "paused", "completed", "cancelled"]
    total: int
    counts: CountsAnswer
    outcomes: dict[str, int] = Field(description="How many pages came to which outcome, by its code.")
    reason: Literal["intake_lost"] | None = Field(description="Why it was cancelled, where nobody asked for that.")
    pages_per_second: float | None = Field(description="Over all the time since it began; null before the first.")
    eta: datetime | None = Field(description="When it will be done at this pace; null unless it is running.")
    credits_used: int
    created_at: datetime
    finished_at: datetime | None
    why_waiting: list[LaneWaitAnswer] = Field(description="The five lanes, at most, in which most of it waits.")


class ItemAnswer(Shape):
    """One page of a batch."""

    id: str = Field(description="Its job.")
    part: Part = Field(description="What it is: a page, or a list of pages by which a crawl finds others.")
    index: int = Field(description="Its place among those that were accepted; the first is 0.")
    url: str
    depth: int = Field(description="How many links it is away from where a crawl began.")
    status: JobState
    attempts: int
    finished_at: datetime | None
    metadata: dict[str, Any] | None
    outcome: OutcomeAnswer | None


class ItemsAnswer(Shape):
    """Some pages of a batch, and where to go on."""

    data: list[ItemAnswer]
    next: str | None


class ResultAnswer(ItemAnswer):
    """A page that has ended, with what it left behind."""

    cursor: str = Field(description="Leads on behind this one, as `after`.")
    document: dict[str, Any] | None
    receipt: dict[str, Any] | None


class ResultsAnswer(Shape):
    """Some pages that have ended, in the order in which they did, and where to go on."""

    data: list[ResultAnswer]
    next: str | None = Field(description="Null when there are no more by now; the last `cursor` leads on later.")


class AgainRequest(Shape):
    """Which pages are to be read once more."""

    only: Literal["failed", "refused"] = Field(default="failed", description="Those that ended so.")

    def to_states(self) -> frozenset[JobState]:
        return frozenset({JobState(self.only)})


class AgainAnswer(BegunAnswer):
    """How many pages will be read once more."""

    again: int
