"""Station 7 of 7: tells. The outbox is a lane: an event is put there by the transaction that settles its job."""

from dataclasses import dataclass
from datetime import timedelta

import msgspec
import structlog
from standardwebhooks import Webhook as Signer

from emissary.engine.backoff import next_delivery
from emissary.engine.events import Hook, Telling, read_telling
from emissary.engine.handlers import Done, Onward, Result, Retry, Turn, Verdict, Work
from emissary.model.jobs import JobState
from emissary.model.lanes import hook_lane
from emissary.model.pages import Code, Outcome, Reply, Unreachable
from emissary.model.webhooks import Try, Webhook
from emissary.ports.clock import Chance, Clock
from emissary.ports.vault import Vault
from emissary.ports.web import Ask, Web
from emissary.ports.webhooks import Deliveries, Webhooks

__all__ = ["DeliveryHandler", "DeliveryTools", "place_of_secret"]

_TIMEOUT = 20.0
_ANSWER_BYTES = 64 * 1024
_GONE = 410
# How soon whoever waits for an earlier event looks again, at first and at last.
_IN_LINE, _LONGEST_IN_LINE = timedelta(seconds=1), timedelta(minutes=1)
_MOST_DETAIL = 300

_encode = msgspec.json.Encoder().encode

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DeliveryTools:
    """What telling takes."""

    web: Web
    webhooks: Webhooks
    deliveries: Deliveries
    vault: Vault
    clock: Clock
    chance: Chance


def place_of_secret(webhook: Webhook) -> str:
    """What a webhook's secret is sealed to."""
    return f"webhook {webhook.id}"


class DeliveryHandler:
    """Sends signed events. The id stays the same over all tries, so that a receiver can tell a repeat."""

    def __init__(self, tools: DeliveryTools) -> None:
        self._tools = tools
        self._clock = tools.clock

    async def handle(self, work: Work, turn: Turn) -> Verdict:
        telling = read_telling(work.item.order)
        hook = await self._receiver(telling)
        if isinstance(hook, Outcome):
            unsent = Try(self._clock.now(), None, hook.detail, sent=False)
            await self._tools.deliveries.note(work.item.job, unsent)
            return Done(JobState.FAILED, _result(hook))
        lane = hook_lane(hook.url.authority)
        if work.lane != lane:
            return Onward(lane, b"{}")  # the receiver has moved since
        standing = await self._tools.deliveries.standing(work.item.job)
        if standing.behind:
            soon = self._clock.now() + min(_IN_LINE * (1 << min(work.item.failures, 10)), _LONGEST_IN_LINE)
            return Retry(max(soon, standing.behind_until or soon))
        async with turn():
            headers = self._signed(work, telling, hook.secret)
            ask = Ask(hook.url, _TIMEOUT, _ANSWER_BYTES, headers, telling.payload.encode(), truncate=True)
            answer = await self._tools.web.ask(ask)
        return await self._judge(work, telling, answer, standing.attempts + 1)

    def broken(self, work: Work, reason: str) -> Done:
        return Done(JobState.FAILED, _result(Outcome("invalid", Code.INTERNAL, detail=f"{work.item.job}: {reason}")))

    def given_up(self, work: Work) -> Done:
        detail = f"the receiver could not be reached for long, and {work.item.job} was not sent"
        return Done(JobState.FAILED, _result(Outcome("unreachable", Code.CONNECT, detail=detail)))

    async def _receiver(self, telling: Telling) -> Hook | Outcome:
        """Who is told, as it is kept now: an address or a secret that was changed holds for what waits as well."""
        if telling.hook is not None:
            return telling.hook
        found = None if telling.webhook is None else await self._tools.webhooks.find(telling.webhook)
        if found is None:
            return Outcome("invalid", Code.NOT_FOUND, detail="the webhook was removed")
        if not found.active and not telling.test:
            return Outcome("invalid", Code.NOT_FOUND, detail="the webhook is not active: replay this once it is")
        return Hook(found.url, self._tools.vault.open(found.sealed, place_of_secret(found)).decode())

    async def _judge(self, work: Work, telling: Telling, answer: Reply | Unreachable, tries: int) -> Verdict:
        """Only a 2xx is a receipt. A redirect is not followed: what it leads to was not named to us."""
        now, status = self._clock.now(), answer.status if isinstance(answer, Reply) else None
        taken = status is not None and 200 <= status < 300
        over = taken or telling.test or status == _GONE
        at = None if over else next_delivery(tries, work.item.created_at, now, self._tools.chance.draw(1)[0] / 255)
        outcome = Outcome("page", Code.OK, status) if taken else _failure(answer)
        await self._tools.deliveries.note(work.item.job, Try(now, status, _short(outcome.detail), at))
        if status == _GONE and telling.webhook is not None and not telling.test:
            await self._tools.webhooks.disable(telling.webhook, "the receiver answered 410: it is gone for good")
            log.warning("a webhook was disabled by its receiver", webhook=telling.webhook)
        if at is not None:
            return Retry(at)
        return Done(JobState.COMPLETED if taken else JobState.FAILED, _result(outcome))

    def _signed(self, work: Work, telling: Telling, secret: str) -> dict[str, str]:
        now, event = self._clock.now(), telling.event or work.item.job
        return {
            "Content-Type": "application/json",
            "webhook-id": event,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Signer(secret).sign(event, now, telling.payload),
        }


def _failure(answer: Reply | Unreachable) -> Outcome:
    if isinstance(answer, Unreachable):
        return Outcome("unreachable", answer.code, detail=answer.detail)
    moved = ", and redirects are not followed" if 300 <= answer.status < 400 else ""
    detail = f"the receiver answered {answer.status}{moved}"
    return Outcome("unreachable", Code.BAD_RESPONSE, answer.status, detail=detail)


def _short(detail: str | None) -> str | None:
    return None if detail is None else detail[:_MOST_DETAIL]


def _result(outcome: Outcome) -> Result:
    return Result(_encode(outcome))
