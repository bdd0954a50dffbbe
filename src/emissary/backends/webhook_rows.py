"""Webhooks and their log as both stores read them, column by column."""

from datetime import datetime
from typing import Any

import msgspec

from emissary.model.ids import AccountId, EventId, JobId, WebhookId
from emissary.model.moments import from_ms, to_ms
from emissary.model.pages import WebUrl
from emissary.model.webhooks import Delivery, DeliveryState, EventType, Happening, Standing, Try, Webhook

__all__ = [
    "UNTOLD",
    "WEBHOOK_COLUMNS",
    "delivery_of_row",
    "happening_of_row",
    "log_of",
    "standing_in",
    "standing_of_row",
    "try_columns",
    "webhook_columns",
    "webhook_of_row",
]

_read_url = msgspec.json.Decoder(WebUrl).decode

WEBHOOK_COLUMNS = "id, account, url, events, description, active, disabled, sealed, created_at"

UNTOLD = "SELECT number, event, subject, account, at FROM happenings ORDER BY number"

# How often it was tried, and what of its line and of the parts of it was made before and has not ended. The character
# behind the slash is 0.
_STANDING = """
SELECT deliveries.attempts, count(earlier.number), max(earlier.next_at) FROM deliveries
LEFT JOIN deliveries AS earlier ON earlier.line >= deliveries.line AND earlier.line < deliveries.line || '0'
    AND earlier.number < deliveries.number
    AND EXISTS (SELECT 1 FROM jobs WHERE jobs.id = earlier.job AND jobs.state = {waiting})
WHERE deliveries.job = {job} GROUP BY deliveries.number
"""

# A line of the log: what became of it is what became of its job.
_LOG = """
SELECT * FROM (
    SELECT deliveries.number, deliveries.job, deliveries.event, deliveries.type,
        CASE jobs.state WHEN {waiting} THEN 'pending' WHEN {completed} THEN 'delivered' ELSE 'dead' END AS state,
        deliveries.attempts, deliveries.status, deliveries.detail, deliveries.tried_at, deliveries.next_at,
        deliveries.replayed, deliveries.created_at
    FROM deliveries {join} jobs ON jobs.id = deliveries.job WHERE deliveries.webhook = {webhook}) AS log
"""


def standing_in(*, waiting: str, job: str) -> str:
    """The statement that `standing_of_row` reads, as a store writes the state and the parameter."""
    return _STANDING.format(waiting=waiting, job=job)


def log_of(webhook: str, *, waiting: str, completed: str, join: str = "JOIN") -> str:
    """The log of a webhook, for a statement to choose from: what `delivery_of_row` reads."""
    return _LOG.format(waiting=waiting, completed=completed, join=join, webhook=webhook)


def webhook_columns(webhook: Webhook) -> tuple[Any, ...]:
    """The values of `WEBHOOK_COLUMNS`."""
    return (
        webhook.id,
        webhook.account,
        msgspec.json.encode(webhook.url).decode(),
        " ".join(sorted(webhook.events)),
        webhook.description,
        webhook.active,
        webhook.disabled,
        webhook.sealed,
        to_ms(webhook.created_at),
    )


def webhook_of_row(row: Any) -> Webhook:
    """Of `WEBHOOK_COLUMNS`."""
    name, account, url, events, description, active, disabled, sealed, created_at = row
    return Webhook(
        WebhookId(name),
        AccountId(account),
        _read_url(url),
        frozenset(EventType(event) for event in events.split()),
        bytes(sealed),
        from_ms(created_at),
        description,
        bool(active),
        disabled,
    )


def delivery_of_row(row: Any, job: JobId) -> Delivery:
    """Of a line of the log, with the job under its name."""
    number, _, event, kind, state, attempts, status, detail, tried_at, next_at, replayed, created_at = row
    shown = DeliveryState(state)
    return Delivery(
        number,
        job,
        EventId(event),
        kind,
        shown,
        attempts,
        from_ms(created_at),
        status,
        detail,
        _moment(tried_at),
        _moment(next_at) if shown is DeliveryState.PENDING else None,
        bool(replayed),
    )


def standing_of_row(row: Any) -> Standing:
    """Of the tries so far, how many of the line are before it, and when the last of those is due."""
    attempts, before, until = row
    return Standing(attempts, before > 0, _moment(until))


def try_columns(tried: Try) -> tuple[Any, ...]:
    """Status, detail, when it was, when the next is due, and by how much the tries grow."""
    following = None if tried.next_at is None else to_ms(tried.next_at)
    return tried.status, tried.detail, to_ms(tried.at), following, int(tried.sent)


def happening_of_row(row: Any) -> Happening:
    """Of number, event, subject, account and moment."""
    number, event, subject, account, at = row
    return Happening(number, EventType(event), subject, AccountId(account), from_ms(at))


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else from_ms(ms)
