"""What may be asked for beside a URL, by the names of the API in Python's spelling."""

from typing import Any, Literal, NotRequired, TypedDict

__all__ = ["BatchOptions", "CrawlOptions", "MapOptions", "PageOptions", "ScrapeOptions", "Webhook", "spelt"]

Priority = Literal["low", "normal", "high"]
Sitemap = Literal["include", "skip", "only"]


class Webhook(TypedDict):
    """A receiver that is told of ends; of everything, where no events are named."""

    url: str
    secret: str
    events: NotRequired[list[str]]


class PageOptions(TypedDict, total=False):
    """What is wanted of a page, whichever it is."""

    formats: list[str]
    fields: dict[str, Any]
    engine: Literal["auto", "http", "browser"]
    only_main_content: bool
    max_age: int
    session: str
    timeout_ms: int
    webhook: str | Webhook  # one of yours by its id, or a receiver
    priority: Priority


class ScrapeOptions(PageOptions, total=False):
    """What is wanted of one page."""

    metadata: dict[str, Any]


class BatchOptions(PageOptions, total=False):
    """What is wanted of every page of a batch."""

    name: str
    dedupe: Literal["none", "batch", "cache"]
    exclude_recent_errors: bool


class CrawlOptions(PageOptions, total=False):
    """How far a crawl goes, and what is wanted of its pages."""

    name: str
    include_paths: list[str]
    exclude_paths: list[str]
    max_depth: int
    limit: int
    allow_subdomains: bool
    sitemap: Sitemap


class MapOptions(TypedDict, total=False):
    """Which pages of a site are listed."""

    search: str
    limit: int
    sitemap: Sitemap
    include_subdomains: bool
    timeout_ms: int


def spelt(**options: object) -> dict[str, object]:
    """The options as the API spells them; what is None was not given."""
    return {_camel(name): value for name, value in options.items() if value is not None}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
