"""The shapes of requests and answers, in the API's own names."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from emissary.engine.events import Hook, is_secret
from emissary.model.ids import WebhookId
from emissary.model.jobs import Priority
from emissary.model.pages import Format
from emissary.model.webhooks import EventType
from emissary.products.scrape.order import PageOfBatch, ScrapeOptions, ScrapeOrder, order_of
from emissary.reading.urls import parse

__all__ = [
    "BY_NAME",
    "BY_OBJECT",
    "JobAnswer",
    "OutcomeAnswer",
    "PageOptions",
    "ScrapeAnswer",
    "ScrapeRequest",
    "Secret",
    "Shape",
    "WaitingAnswer",
    "Whole",
    "is_too_deep",
]

_ATTEMPTS = 3
_PATIENCE_MS = 24 * 3600 * 1000
_DEEPEST = 20
# How pydantic tells them apart; in its pointers, too, out of which the problem document takes them.
BY_OBJECT, BY_NAME = "webhook by object", "webhook by name"
_URI: dict[str, Any] = {"format": "uri"}
_WEBHOOK = re.compile(r"whk_[0-7][0-9A-HJKMNP-TV-Z]{25}")


class Shape(BaseModel):
    """Something in a request or an answer: named in camelCase, with no fields but those it has."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


def _only_a_number(value: object) -> object:
    """JSON has numbers, strings and truths, and none stands for another."""
    if isinstance(value, bool | str):
        raise PydanticCustomError("whole_number", "Input should be a whole number")
    return value


def _only_a_secret(value: str) -> str:
    """What cannot be signed with is refused now, and not when the event is due."""
    if not is_secret(value):
        raise PydanticCustomError("secret", "Input should be `whsec_` and the base64 of 24 to 64 bytes")
    return value


def _not_too_deep(value: object) -> object:
    """Metadata is kept as JSON in the store, which reads no endless nesting."""
    if is_too_deep(value):
        raise PydanticCustomError("too_deep", "Input should be nested no deeper than {deepest}", {"deepest": _DEEPEST})
    return value


def is_too_deep(value: object) -> bool:
    """Whether it is nested deeper than we keep."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _only_a_webhook(value: object) -> object:
    if isinstance(value, str) and _WEBHOOK.fullmatch(value):
        return value
    raise PydanticCustomError(
        "webhook", "Input should be the id of one of your webhooks (`whk_…`), or an object with `url` and `secret`"
    )


Whole = Annotated[int, BeforeValidator(_only_a_number)]
Secret = Annotated[str, AfterValidator(_only_a_secret), Field(pattern=r"^whsec_[A-Za-z0-9+/]{32,86}={0,2}$")]
_WebhookName = Annotated[
    str, BeforeValidator(_only_a_webhook), Field(json_schema_extra={"pattern": f"^{_WEBHOOK.pattern}$"})
]
_Metadata = Annotated[dict[str, Any], Field(max_length=50), AfterValidator(_not_too_deep)]


class WebhookRequest(Shape):
    """Who is to be told when the job ends."""

    url: str = Field(description="Where events are posted.", max_length=8192, json_schema_extra=_URI)
    secret: Secret = Field(
        description="A Standard Webhooks secret of 24 to 64 bytes: `whsec_` and base64. Events are signed with it."
    )
    events: list[EventType] = Field([], max_length=20, description="Of what it is told; of everything if left out.")

    def to_hook(self) -> Hook:
        return Hook(parse(self.url), self.secret, tuple(dict.fromkeys(self.events)))


def _kind_of_webhook(value: object) -> str:
    """What was meant, so that only its own faults are told."""
    return BY_OBJECT if isinstance(value, dict | WebhookRequest) else BY_NAME


_Webhook = Annotated[
    Annotated[WebhookRequest, Tag(BY_OBJECT)] | Annotated[_WebhookName, Tag(BY_NAME)], Discriminator(_kind_of_webhook)
]


class PageOptions(Shape):
    """What is wanted of a page, whichever it is."""

    formats: list[Format] = Field(
        [Format.MARKDOWN], min_length=1, max_length=20, description="The forms in which the page is wanted."
    )
    fields: dict[str, Any] | None = Field(
        None,
        description="A schema of CSS or XPath selectors; see docs/fields.md.",
        examples=[{"price": {"css": [".price"], "type": "number", "required": True}}],
    )
    engine: Literal["auto", "http", "browser"] = Field("auto", description="How the page is read.")
    only_main_content: bool = Field(True, strict=True, description="Leave out navigation, footers and the like.")
    max_age: Whole = Field(
        0, ge=0, le=2_592_000, description="How old, in seconds, a copy may be that is given instead of the page."
    )
    session: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9._-]{1,64}$",
        description="A name of yours: cookies are kept under it for a day, sealed, and sent where they belong.",
    )
    timeout_ms: Whole = Field(30_000, ge=100, le=300_000, description="How long to wait for the answer.")
    webhook: _Webhook | None = Field(
        None, description="Who is to be told of the end: one of your webhooks by its id, or a receiver."
    )

    def to_options(self) -> ScrapeOptions:
        """The options of a job that nobody waits for; raises BadRequest where the webhook's URL cannot be read."""
        return ScrapeOptions(
            formats=tuple(dict.fromkeys([*self.formats, *([Format.FIELDS] if self.fields is not None else [])])),
            fields=None if self.fields is None else msgspec.json.encode(self.fields).decode(),
            engine=self.engine,
            only_main_content=self.only_main_content,
            max_age=self.max_age,
            keep_copy=True,
            session=self.session,
            timeout_ms=self.timeout_ms,
            attempts=_ATTEMPTS,
            patience_ms=_PATIENCE_MS,
            hook=self.webhook.to_hook() if isinstance(self.webhook, WebhookRequest) else None,
            webhook=WebhookId(self.webhook) if isinstance(self.webhook, str) else None,
        )


class ScrapeRequest(PageOptions):
    """One page, wanted in some formats."""

    url: str = Field(
        description="The page, absolute, http or https.",
        max_length=8192,
        json_schema_extra=_URI,
        examples=["https://example.org/"],
    )
    asynchronous: bool = Field(
        False, alias="async", strict=True, description="Answer at once with the job, and do not wait."
    )
    priority: Literal["low", "normal", "high"] = Field("normal", description="A head start in line.")
    metadata: _Metadata | None = Field(
        None, description="Whatever you want to find again in the event: up to 50 names, nested no deeper than 20."
    )

    def to_order(self) -> ScrapeOrder:
        """The order as it is kept; raises BadRequest where the URLs cannot be read."""
        options = self.to_options()
        if not self.asynchronous:
            options = msgspec.structs.replace(options, attempts=1, patience_ms=self.timeout_ms)
        return order_of(options, PageOfBatch(self.url, self.metadata))

    def to_priority(self) -> Priority:
        return Priority(self.priority)


class WhyWaitingAnswer(Shape):
    """Why a job has not started yet."""

    lane: str
    reason: str
    until: datetime | None
    ahead: int


class OutcomeAnswer(Shape):
    """What came back, in one word and in one sentence."""

    kind: Literal["page", "refusal", "unreachable", "invalid"]
    code: str
    http_status: int | None = None
    retry_at: datetime | None = None
    detail: str | None = None
    evidence: list[str] | None = None


class ScrapeAnswer(Shape):
    """A scrape that has ended."""

    id: str
    status: Literal["completed", "failed", "refused", "cancelled"]
    outcome: OutcomeAnswer | None
    document: dict[str, Any] | None = Field(description="The page in the formats that were asked for.")
    receipt: dict[str, Any] | None = Field(description="Who asked, under which rule, what came and when.")
    credits_used: int


class WaitingAnswer(Shape):
    """A scrape that has not ended yet: ask for the job later."""

    id: str
    status: Literal["waiting", "active", "delayed"]
    why_waiting: WhyWaitingAnswer | None


class JobAnswer(Shape):
    """A job as it is now."""

    id: str
    kind: str
    status: Literal["created", "waiting", "active", "delayed", "completed", "failed", "cancelled", "refused"]
    attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    why_waiting: WhyWaitingAnswer | None
    outcome: OutcomeAnswer | None
    document: dict[str, Any] | None
    receipt: dict[str, Any] | None
