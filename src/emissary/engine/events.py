"""Events: what is told, to whom, and the job that does it."""

import base64
import binascii
import hashlib
from datetime import datetime
from typing import Any

import msgspec

from emissary.model.ids import AccountId, EventId, JobId, WebhookId, ulid
from emissary.model.jobs import Job, Kind, NewJob, Priority
from emissary.model.lanes import hook_lane
from emissary.model.pages import WebUrl
from emissary.model.webhooks import Delivery, EventType, Notice, Webhook
from emissary.ports.clock import Chance, Clock

__all__ = [
    "DELIVER",
    "Event",
    "Hook",
    "Telling",
    "delivery_of",
    "is_secret",
    "new_secret",
    "read_telling",
    "told_again",
]

DELIVER = Kind("deliver")
_LEAST_SECRET, _MOST_SECRET = 24, 64

_encode = msgspec.json.Encoder().encode


class Hook(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who is to be told, the secret with which the word is signed, and of what: of everything, if nothing is named."""

    url: WebUrl
    secret: str
    events: tuple[EventType, ...] = ()

    def wants(self, event: str) -> bool:
        return not self.events or event in self.events


class Event(msgspec.Struct, frozen=True):
    """Something to be told, after what happened before to what it is `about`, or to a part of it (`whole/part`)."""

    id: EventId
    type: str
    at: datetime
    data: dict[str, Any]
    about: str

    @classmethod
    def new(cls, kind: str, data: dict[str, Any], about: str, *, clock: Clock, chance: Chance) -> "Event":
        """An event of this moment, with a name of its own."""
        now = clock.now()
        return cls(EventId(f"evt_{ulid(now, chance.draw(10))}"), kind, now, data, about)


class Telling(msgspec.Struct, frozen=True, omit_defaults=True):
    """The order of a delivery: a receiver, given as such or by the name of a webhook, and the body that it gets."""

    payload: str
    hook: Hook | None = None
    webhook: WebhookId | None = None
    event: EventId | None = None  # there from before events had names: then it is the job's
    test: bool = False


read_telling = msgspec.json.Decoder(Telling).decode


def delivery_of(to: Hook | Webhook, event: Event, *, job: JobId, account: AccountId, test: bool = False) -> NewJob:
    """The job that tells of the event: settled with what it speaks of, it is never lost and never doubled."""
    payload = _encode({"type": event.type, "timestamp": event.at, "data": event.data}).decode()
    if isinstance(to, Hook):
        telling, webhook, receiver = Telling(payload, to, None, event.id), None, _digest(to)
    else:
        telling, webhook, receiver = Telling(payload, None, to.id, event.id, test), to.id, to.id
    notice = Notice(webhook, event.id, event.type, f"{receiver} {event.about}")
    priority = Priority.HIGH if test else Priority.NORMAL
    lane = hook_lane(to.url.authority)
    return NewJob(job, account, DELIVER, lane, _encode(telling), priority, price=0, notice=notice)


def told_again(old: Job, to: Webhook, delivery: Delivery, *, job: JobId) -> NewJob:
    """The same event once more, under the same name; it waits for nothing."""
    notice = Notice(to.id, delivery.event, delivery.type, f"{to.id} {job}")
    lane = hook_lane(to.url.authority)
    return NewJob(job, old.account, DELIVER, lane, old.order, price=0, notice=notice)


def is_secret(text: str) -> bool:
    """Whether events can be signed with it: `whsec_` and the base64 of 24 to 64 bytes."""
    try:
        spelled = text.removeprefix("whsec_").rstrip("=")
        secret = base64.b64decode(spelled + "=" * (-len(spelled) % 4), validate=True)
    except binascii.Error:
        return False
    return _LEAST_SECRET <= len(secret) <= _MOST_SECRET


def new_secret(chance: Chance) -> str:
    """A secret that nobody can guess."""
    return "whsec_" + base64.b64encode(chance.draw(32)).decode()


def _digest(hook: Hook) -> str:
    """By which a receiver is known again that has no name of its own."""
    return hashlib.blake2b(f"{hook.url.href} {hook.secret}".encode(), digest_size=16).hexdigest()
