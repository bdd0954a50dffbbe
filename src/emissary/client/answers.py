"""What the API answers, as types. Fields that a newer server adds are passed over, so that old clients go on."""

from datetime import date, datetime
from typing import Any

import msgspec

from emissary.model.pages import Document

__all__ = [
    "Accepted",
    "Account",
    "Again",
    "Allowance",
    "BatchStatus",
    "Begun",
    "Counts",
    "Credits",
    "Delivery",
    "Document",
    "Fault",
    "HostPlan",
    "Item",
    "Job",
    "JobLine",
    "Key",
    "LaneWait",
    "MappedPage",
    "NewKey",
    "NewWebhook",
    "Outcome",
    "Plan",
    "Rate",
    "Refused",
    "Replayed",
    "Result",
    "Scraped",
    "SiteMap",
    "Trial",
    "Unread",
    "UsageRow",
    "Used",
    "Webhook",
    "WhyWaiting",
]

_ENDED = frozenset({"completed", "failed", "refused", "cancelled"})


class _Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that the API said. States and codes are plain words: a newer server may know more of them."""


class Outcome(_Answer, frozen=True, kw_only=True):
    """What came back, in one word and in one sentence."""

    kind: str
    code: str
    http_status: int | None = None
    retry_at: datetime | None = None
    detail: str | None = None
    evidence: list[str] | None = None


class WhyWaiting(_Answer, frozen=True, kw_only=True):
    """Why a job has not started yet."""

    lane: str
    reason: str
    until: datetime | None = None
    ahead: int = 0


class Scraped(_Answer, frozen=True, kw_only=True):
    """A scrape: what came of it, or why it waits."""

    id: str
    status: str
    outcome: Outcome | None = None
    document: Document | None = None
    receipt: dict[str, Any] | None = None
    why_waiting: WhyWaiting | None = None
    credits_used: int = 0

    @property
    def has_ended(self) -> bool:
        return self.status in _ENDED


class Job(Scraped, frozen=True, kw_only=True):
    """A job as it is now."""

    kind: str
    attempts: int = 0
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None


class JobLine(_Answer, frozen=True, kw_only=True):
    """A job in a list, without what it left behind."""

    id: str
    kind: str
    status: str
    url: str | None = None
    host: str | None = None
    batch: str | None = None
    attempts: int = 0
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    outcome: Outcome | None = None


class Begun(_Answer, frozen=True, kw_only=True):
    """A crawl that has begun."""

    id: str


class Fault(_Answer, frozen=True, kw_only=True):
    """A page that was not accepted; the first is 0."""

    index: int
    url: str
    code: str


class Accepted(Begun, frozen=True, kw_only=True):
    """A batch that has begun. Of the pages that were not accepted, the first thousand are named."""

    accepted: int
    duplicates: int = 0
    invalid_count: int = 0
    invalid: list[Fault] = []
    excluded_count: int = 0
    excluded: list[Fault] = []


class Again(Begun, frozen=True, kw_only=True):
    """How many pages will be read once more."""

    again: int


class Counts(_Answer, frozen=True, kw_only=True):
    """How many pages are how. All but `cached` add up to the total; those are among the completed."""

    waiting: int = 0
    active: int = 0
    completed: int = 0
    refused: int = 0
    failed: int = 0
    cancelled: int = 0
    cached: int = 0

    @property
    def ended(self) -> int:
        return self.completed + self.refused + self.failed + self.cancelled


class LaneWait(WhyWaiting, frozen=True, kw_only=True):
    """A lane in which pages of a batch wait, and about how many."""

    items: int = 0


class BatchStatus(_Answer, frozen=True, kw_only=True):
    """A batch or a crawl as it is now."""

    id: str
    status: str
    total: int
    counts: Counts
    name: str | None = None
    outcomes: dict[str, int] = {}
    reason: str | None = None
    pages_per_second: float | None = None
    eta: datetime | None = None
    credits_used: int = 0
    created_at: datetime
    finished_at: datetime | None = None
    why_waiting: list[LaneWait] = []

    @property
    def has_ended(self) -> bool:
        return self.status in _ENDED

    @property
    def is_crawl(self) -> bool:
        return self.id.startswith("crl_")

    @property
    def came(self) -> int:
        """Pages that came, each for a credit. The lists by which a crawl finds them complete as well, and cost none."""
        return self.credits_used if self.is_crawl else self.counts.completed


class Item(_Answer, frozen=True, kw_only=True):
    """One page of a batch."""

    id: str
    index: int
    url: str
    status: str
    part: str = "page"
    depth: int = 0
    attempts: int = 0
    finished_at: datetime | None = None
    metadata: dict[str, Any] | None = None
    outcome: Outcome | None = None


class Result(Item, frozen=True, kw_only=True):
    """A page that has ended, with what it left behind. `cursor` leads on behind it."""

    cursor: str
    document: Document | None = None
    receipt: dict[str, Any] | None = None


class MappedPage(_Answer, frozen=True, kw_only=True):
    """A page of a site, which was not read."""

    url: str
    title: str | None = None
    last_modified: str | None = None
    source: str


class Unread(_Answer, frozen=True, kw_only=True):
    """A list of pages that could not be read; the map lacks what is there."""

    url: str
    outcome: Outcome


class SiteMap(Begun, frozen=True, kw_only=True):
    """The pages of a site, in the order in which they were found."""

    complete: bool
    links: list[MappedPage] = []
    unread: list[Unread] = []


class HostPlan(_Answer, frozen=True, kw_only=True):
    """What would be asked of one host, at its pace."""

    host: str
    urls: int
    refused: int
    robots: str
    gap: float
    seconds: float
    eta: datetime


class Refused(_Answer, frozen=True, kw_only=True):
    """A page that would not be read, and why."""

    url: str
    code: str
    detail: str


class Plan(_Answer, frozen=True, kw_only=True):
    """What would happen if it began now."""

    urls: int
    duplicates: int = 0
    invalid_count: int = 0
    invalid: list[Fault] = []
    host_count: int
    hosts: list[HostPlan]
    refused_count: int = 0
    refused: list[Refused] = []
    seconds: float
    eta: datetime
    credits: int


class Rate(_Answer, frozen=True, kw_only=True):
    """How often an account may ask."""

    per_minute: int
    burst: int


class Credits(_Answer, frozen=True, kw_only=True):
    """What an account has left to use."""

    left: int
    reserved: int
    available: int


class Allowance(_Answer, frozen=True, kw_only=True):
    """What an account may do; none is no limit."""

    weight: float = 1.0
    most_active: int | None = None
    most_queued: int | None = None
    rate: Rate | None = None


class Used(_Answer, frozen=True, kw_only=True):
    """How many jobs ended, and how."""

    jobs: int = 0
    credits: int = 0
    cached: int = 0
    failed: int = 0
    refused: int = 0


class UsedInMonth(Used, frozen=True, kw_only=True):
    """What was used since the first day of the month."""

    first: date = msgspec.field(name="from")
    last: date = msgspec.field(name="to")


class Account(_Answer, frozen=True, kw_only=True):
    """The account of the key."""

    id: str
    allowance: Allowance = Allowance()
    queued: int = 0
    active: int = 0
    credits: Credits | None = None
    usage: UsedInMonth | None = None


class UsageRow(Used, frozen=True, kw_only=True):
    """What was used of one day, kind or host."""

    key: str


class Key(_Answer, frozen=True, kw_only=True):
    """A key of the account, without its secret."""

    id: str
    name: str
    scopes: list[str]
    hint: str | None = None
    live: bool
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


class NewKey(Key, frozen=True, kw_only=True):
    """A key that was just made: its secret, `key`, is shown this once."""

    key: str


class Webhook(_Answer, frozen=True, kw_only=True):
    """A receiver of events, without the secret that they are signed with."""

    id: str
    url: str
    events: list[str] = []
    description: str | None = None
    active: bool
    disabled_reason: str | None = None
    created_at: datetime


class NewWebhook(Webhook, frozen=True, kw_only=True):
    """A webhook that was just made: its secret is shown this once."""

    secret: str


class Delivery(_Answer, frozen=True, kw_only=True):
    """An event on its way to a webhook, or at the end of it."""

    id: str
    event: str
    type: str
    state: str
    attempts: int = 0
    last_status: int | None = None
    last_error: str | None = None
    last_attempt_at: datetime | None = None
    next_attempt_at: datetime | None = None
    replayed: bool = False
    created_at: datetime


class Replayed(_Answer, frozen=True, kw_only=True):
    """How many events are told once more."""

    replayed: int


class Trial(_Answer, frozen=True, kw_only=True):
    """What came of a test of a webhook."""

    delivery: str
    state: str
    status: int | None = None
    detail: str | None = None
