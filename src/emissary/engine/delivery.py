"""Station 7 of 7: tells. The outbox is a lane: an event is put there by the transaction that settles its job."""

import base64
import binascii
from datetime import datetime
from typing import Any

import msgspec
from standardwebhooks import Webhook

from emissary.engine.backoff import next_try
from emissary.engine.handlers import Done, Result, Retry, Turn, Verdict, Work
from emissary.model.ids import AccountId, JobId
from emissary.model.jobs import JobState, Kind, NewJob
from emissary.model.lanes import hook_lane
from emissary.model.pages import Code, Outcome, Reply, Unreachable, WebUrl
from emissary.ports.clock import Clock
from emissary.ports.web import Ask, Web

__all__ = ["DELIVER", "DeliveryHandler", "Hook", "delivery_of", "is_secret"]

DELIVER = Kind("deliver")
_ATTEMPTS = 8
_TIMEOUT = 20.0
_ANSWER_BYTES = 64 * 1024
_LEAST_SECRET, _MOST_SECRET = 24, 64

_encode = msgspec.json.Encoder().encode


class Hook(msgspec.Struct, frozen=True):
    """Who is to be told, and the secret with which the word is signed."""

    url: WebUrl
    secret: str


class _Event(msgspec.Struct, frozen=True):
    hook: Hook
    payload: str


_decode = msgspec.json.Decoder(_Event).decode


def delivery_of(
    hook: Hook, event: str, data: dict[str, Any], *, job: JobId, account: AccountId, now: datetime
) -> NewJob:
    """The job that tells the hook of the event: settled with what it speaks of, it is never lost and never doubled."""
    payload = _encode({"type": event, "timestamp": now, "data": data}).decode()
    return NewJob(job, account, DELIVER, hook_lane(hook.url.authority), _encode(_Event(hook, payload)), price=0)


def is_secret(text: str) -> bool:
    """Whether events can be signed with it: `whsec_` and the base64 of 24 to 64 bytes."""
    try:
        spelled = text.removeprefix("whsec_").rstrip("=")
        secret = base64.b64decode(spelled + "=" * (-len(spelled) % 4), validate=True)
    except binascii.Error:
        return False
    return _LEAST_SECRET <= len(secret) <= _MOST_SECRET


class DeliveryHandler:
    """Sends signed events. The id stays the same over all tries, so that a receiver can tell a repeat."""

    def __init__(self, web: Web, clock: Clock) -> None:
        self._web = web
        self._clock = clock

    async def handle(self, work: Work, turn: Turn) -> Verdict:
        event = _decode(work.item.order)
        async with turn():
            headers = self._signed(work.item.job, event)
            body = event.payload.encode()
            answer = await self._web.ask(Ask(event.hook.url, _TIMEOUT, _ANSWER_BYTES, headers, body, truncate=True))
        if isinstance(answer, Reply) and 200 <= answer.status < 300:
            return Done(JobState.COMPLETED, _result(Outcome("page", Code.OK, answer.status)))
        gone = isinstance(answer, Reply) and answer.status == 410
        at = next_try(work.item.failures + 1, _ATTEMPTS, self._clock.now())
        if at is None or gone:
            return Done(JobState.FAILED, _result(_failure(answer)))
        return Retry(at)

    def broken(self, work: Work, reason: str) -> Done:
        return Done(JobState.FAILED, _result(Outcome("invalid", Code.INTERNAL, detail=f"{work.item.job}: {reason}")))

    def given_up(self, work: Work) -> Done:
        detail = f"the receiver could not be reached for long, and {work.item.job} was not sent"
        return Done(JobState.FAILED, _result(Outcome("unreachable", Code.CONNECT, detail=detail)))

    def _signed(self, job: JobId, event: _Event) -> dict[str, str]:
        now = self._clock.now()
        return {
            "Content-Type": "application/json",
            "webhook-id": job,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(event.hook.secret).sign(job, now, event.payload),
        }


def _failure(answer: Reply | Unreachable) -> Outcome:
    if isinstance(answer, Unreachable):
        return Outcome("unreachable", answer.code, detail=answer.detail)
    return Outcome("unreachable", Code.BAD_RESPONSE, answer.status, detail=f"the receiver answered {answer.status}")


def _result(outcome: Outcome) -> Result:
    return Result(_encode(outcome))
