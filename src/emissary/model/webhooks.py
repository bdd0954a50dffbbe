"""Webhooks: who is told of what, and what became of each event on its way."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

from emissary.model.ids import AccountId, EventId, JobId, WebhookId
from emissary.model.pages import WebUrl

__all__ = [
    "TEST_EVENT",
    "Delivery",
    "DeliveryState",
    "EventType",
    "Happening",
    "Notice",
    "Standing",
    "Try",
    "Webhook",
]

TEST_EVENT = "webhook.test"


class EventType(StrEnum):
    """What a webhook can be told of."""

    JOB_COMPLETED = "job.completed"
    JOB_FAILED = "job.failed"
    JOB_REFUSED = "job.refused"
    BATCH_COMPLETED = "batch.completed"
    BATCH_CANCELLED = "batch.cancelled"
    CRAWL_COMPLETED = "crawl.completed"
    WORKER_DEAD = "worker.dead"


class DeliveryState(StrEnum):
    """A dead delivery was tried for as long as it is worth; it can be replayed."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A receiver that an account has named. Without events, it is told of what refers to it, whatever that is."""

    id: WebhookId
    account: AccountId
    url: WebUrl
    events: frozenset[EventType]
    sealed: bytes  # the secret
    created_at: datetime
    description: str | None = None
    active: bool = True
    disabled: str | None = None  # why, where it was not its account that did it


class Notice(msgspec.Struct, frozen=True, gc=False):
    """What the log says of a job that delivers an event.

    Those of one line are told in the order they were made in. A line that goes on with a slash is a part of the one
    before the slash: whatever is told there waits for its parts, and the parts do not wait for each other.
    """

    webhook: WebhookId | None
    event: EventId
    type: str
    line: str


@dataclass(frozen=True, slots=True)
class Try:
    """What came of one try: a status, or why there is none; and when the next is due, if one is."""

    at: datetime
    status: int | None
    detail: str | None
    next_at: datetime | None = None
    sent: bool = True  # False where there was nobody to send it to


@dataclass(frozen=True, slots=True)
class Standing:
    """How often a delivery has been tried, and until when an earlier one of its line is waited for, if any is."""

    attempts: int
    behind: bool = False
    behind_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """A line of the log."""

    number: int
    job: JobId
    event: EventId
    type: str
    state: DeliveryState
    attempts: int
    created_at: datetime
    last_status: int | None = None
    last_detail: str | None = None
    tried_at: datetime | None = None
    next_at: datetime | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that the store itself brought about, such as the end of a batch."""

    number: int
    event: EventType
    subject: str
    account: AccountId
    at: datetime
