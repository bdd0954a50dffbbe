"""The shapes of answers in the other format."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from emissary.api.schemas import Shape

__all__ = [
    "ActiveAnswer",
    "BatchBegunAnswer",
    "CancelledAnswer",
    "CrawlBegunAnswer",
    "CreditsAnswer",
    "ErrorsAnswer",
    "LinksAnswer",
    "PageAnswer",
    "QueueAnswer",
    "StatusAnswer",
]


class _Success(Shape):
    success: Literal[True]


class PageAnswer(Shape):
    """A page that came or was refused, with `data`; or none, and why not."""

    success: bool
    data: dict[str, Any] | None = Field(None, description="The page in the formats that were asked for.")
    warning: str | None = Field(None, description="What was asked for and not done.")
    error: str | None = Field(None, description="Why there is no page.")
    code: str | None = Field(None, description="The same in one word.")


class CrawlBegunAnswer(_Success):
    """A crawl that has begun."""

    id: str
    url: str = Field(description="Where its status is.")
    warning: str | None = Field(None, description="What was asked for and will not be done.")


class BatchBegunAnswer(CrawlBegunAnswer):
    """A batch that has begun."""

    invalid_urls: list[str] = Field(alias="invalidURLs", description="The first thousand that cannot be read.")


class StatusAnswer(_Success):
    """A batch or a crawl as it is now, with some of its pages."""

    status: Literal["scraping", "completed", "failed", "cancelled"]
    total: int
    completed: int
    credits_used: int
    created_at: datetime
    completed_at: datetime | None
    expires_at: None = Field(description="Nothing here ends by itself.")
    next: str | None = Field(description="Where there are more pages by now; null if these were the last.")
    data: list[dict[str, Any]]


class ErrorAnswer(Shape):
    """A page that failed or was refused."""

    id: str
    timestamp: datetime | None
    url: str
    code: str
    error: str


class ErrorsAnswer(_Success):
    """The pages that failed or were refused; those that robots.txt closes are listed apart."""

    errors: list[ErrorAnswer]
    robots_blocked: list[str]
    next: str | None


class CancelledAnswer(_Success):
    """It will not go on."""

    status: Literal["cancelled"]


class ActiveCrawlAnswer(Shape):
    """A crawl that has not ended."""

    id: str
    team_id: str
    url: str
    created: datetime


class ActiveAnswer(_Success):
    """The crawls that have not ended."""

    crawls: list[ActiveCrawlAnswer]


class LinkAnswer(Shape):
    """A page of the site, which was not read."""

    url: str
    title: str | None = None


class LinksAnswer(_Success):
    """The pages of a site."""

    id: str
    links: list[LinkAnswer]
    warning: str | None = None


class CreditsLeftAnswer(Shape):
    """What the account has left."""

    remaining_credits: int = Field(description="9007199254740991 where it has as many as it likes.")
    plan_credits: None
    billing_period_start: None
    billing_period_end: None


class CreditsAnswer(_Success):
    """What the account has left."""

    data: CreditsLeftAnswer


class QueueAnswer(_Success):
    """What the account has in line."""

    jobs_in_queue: int
    active_jobs_in_queue: int = Field(description="Hosts that are being read for it.")
    waiting_jobs_in_queue: int
    max_concurrency: int = Field(description="9007199254740991 where there is no limit of its own.")
    most_recent_success: None
