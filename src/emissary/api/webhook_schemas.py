"""The shapes of webhooks and of what was told there, in the API's own names."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Self

import msgspec
from pydantic import AfterValidator, AwareDatetime, Field, model_validator
from pydantic_core import PydanticCustomError

from emissary.api.schemas import Secret, Shape
from emissary.engine.webhook_book import WebhookWish
from emissary.model.jobs import FINAL_STATES, Job, JobState
from emissary.model.pages import Outcome
from emissary.model.webhooks import Delivery, DeliveryState, EventType, Webhook
from emissary.reading.urls import parse

__all__ = [
    "DeliveriesAnswer",
    "NewWebhookAnswer",
    "ReplayAnswer",
    "ReplayRequest",
    "TrialAnswer",
    "WebhookAnswer",
    "WebhookChange",
    "WebhookMaking",
    "WebhooksAnswer",
    "delivery_answer",
    "trial_answer",
    "webhook_answer",
]

_decode_outcome = msgspec.json.Decoder(Outcome).decode


def _printable(value: str) -> str:
    if not value.isprintable():
        raise PydanticCustomError("printable", "Input should have no control characters")
    return value


_Url = Annotated[str, Field(max_length=8192, json_schema_extra={"format": "uri"})]
_Description = Annotated[str, Field(max_length=200), AfterValidator(_printable)]
_Events = Annotated[list[EventType], Field(max_length=20)]


class WebhookMaking(Shape):
    """A webhook that is to be made."""

    url: _Url = Field(description="Where events are posted.", examples=["https://hooks.example/emissary"])
    events: _Events = Field(
        [], description="Of what it is told, for all of your account; with none, it is told of what refers to it."
    )
    secret: Secret | None = Field(
        None, description="A Standard Webhooks secret of 24 to 64 bytes: `whsec_` and base64; made if left out."
    )
    description: _Description | None = Field(None, description="What it is for.")
    active: bool = Field(default=True, strict=True, description="Whether anything is told there.")

    def to_wish(self) -> WebhookWish:
        """The wish; raises BadRequest where the URL cannot be read."""
        return WebhookWish(parse(self.url), frozenset(self.events), self.secret, self.description, self.active)


class WebhookChange(Shape):
    """What is to change of a webhook; what is left out stays."""

    url: _Url | None = Field(None, description="Where events are posted, those that wait as well.")
    events: _Events | None = Field(None, description="Of what it is told.")
    secret: Secret | None = Field(None, description="Another secret, from now on.")
    description: _Description | None = Field(None, description="What it is for; null is nothing.")
    active: bool | None = Field(default=None, strict=True, description="Whether anything is told there.")

    def applied_to(self, webhook: Webhook) -> Webhook:
        """The webhook with what was said of it."""
        changed = webhook
        if self.url is not None:
            changed = replace(changed, url=parse(self.url))
        if self.events is not None:
            changed = replace(changed, events=frozenset(self.events))
        if "description" in self.model_fields_set:
            changed = replace(changed, description=self.description)
        return changed if self.active is None else replace(changed, active=self.active)


class WebhookAnswer(Shape):
    """A webhook, without its secret."""

    id: str
    url: str
    events: list[EventType]
    description: str | None
    active: bool
    disabled_reason: str | None = Field(description="Why it is not active, where that was not your doing.")
    created_at: datetime


class NewWebhookAnswer(WebhookAnswer):
    """A webhook with its secret, which is shown this once."""

    secret: str = Field(description="Events are signed with it, by Standard Webhooks.")


class WebhooksAnswer(Shape):
    """Webhooks by their ids, and where to go on."""

    data: list[WebhookAnswer]
    next: str | None


class DeliveryAnswer(Shape):
    """An event on its way."""

    id: str = Field(description="Its job.")
    event: str = Field(description="The `webhook-id`: the same over all tries and replays.")
    type: str
    state: DeliveryState
    attempts: int
    last_status: int | None = Field(description="What the receiver answered last; null where it did not.")
    last_error: str | None
    last_attempt_at: datetime | None
    next_attempt_at: datetime | None
    replayed: bool
    created_at: datetime


class DeliveriesAnswer(Shape):
    """What was told, the latest first, and where to go on."""

    data: list[DeliveryAnswer]
    next: str | None


class ReplayRequest(Shape):
    """What is to be told once more: one delivery, or all dead ones since a time."""

    delivery: str | None = Field(None, max_length=100, description="The id of a delivery that has ended.")
    since: AwareDatetime | None = Field(None, description="All that died of what was made since then.")

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.delivery is None) == (self.since is None):
            raise PydanticCustomError("one_of", "Input should have either `delivery` or `since`")
        return self


class ReplayAnswer(Shape):
    """How much is told once more."""

    replayed: int


class TrialAnswer(Shape):
    """What came of a test."""

    delivery: str
    state: DeliveryState = Field(description="`pending` where nobody has sent it within 25 seconds.")
    status: int | None = Field(description="What the receiver answered.")
    detail: str | None


def webhook_answer(webhook: Webhook) -> dict[str, Any]:
    """A webhook as it is told."""
    return {
        "id": webhook.id,
        "url": webhook.url.href,
        "events": sorted(webhook.events),
        "description": webhook.description,
        "active": webhook.active,
        "disabledReason": webhook.disabled,
        "createdAt": webhook.created_at,
    }


def delivery_answer(delivery: Delivery) -> dict[str, Any]:
    """A line of the log as it is told."""
    return {
        "id": delivery.job,
        "event": delivery.event,
        "type": delivery.type,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "lastStatus": delivery.last_status,
        "lastError": delivery.last_detail,
        "lastAttemptAt": delivery.tried_at,
        "nextAttemptAt": delivery.next_at,
        "replayed": delivery.replayed,
        "createdAt": delivery.created_at,
    }


def trial_answer(job: Job) -> dict[str, Any]:
    """What came of a test, as its job has it."""
    if job.state not in FINAL_STATES or job.result is None:
        return {"delivery": job.id, "state": DeliveryState.PENDING, "status": None, "detail": None}
    outcome = _decode_outcome(job.result.outcome)
    state = DeliveryState.DELIVERED if job.state is JobState.COMPLETED else DeliveryState.DEAD
    return {"delivery": job.id, "state": state, "status": outcome.http_status, "detail": outcome.detail}
