"""Visits the page of a scrape, takes from it what was asked for, and says how the job ends."""

import asyncio
import hashlib
from dataclasses import replace
from datetime import timedelta

import msgspec

from emissary.engine.backoff import next_try
from emissary.engine.delivery import delivery_of
from emissary.engine.handlers import Done, Onward, Result, Retry, Turn, Verdict, Work
from emissary.engine.jobs import new_job_id
from emissary.model.ids import DocumentId, ReceiptId, ulid
from emissary.model.jobs import JobState
from emissary.model.lanes import LaneAdvice, Reason, host_lane
from emissary.model.pages import Code, Elsewhere, Outcome, OutcomeKind, Page, Receipt, Refusal, Unreachable
from emissary.ports.clock import Chance, Clock
from emissary.products.scrape.order import ScrapeOrder, ScrapeResult, Trail, wanted_of
from emissary.reading.extract import Extracted, extract
from emissary.reading.identity import Identity
from emissary.reading.visit import Errand, Visit, Visitor
from emissary.telemetry.metrics import Metrics

__all__ = ["ScrapeHandler"]

_MAX_BYTES = 16 * 1024 * 1024
_LARGE = 256 * 1024
_ASKED_AGAIN = 3
_INVALID = frozenset({Code.TOO_LARGE, Code.BAD_CONTENT, Code.TOO_MANY_REDIRECTS, Code.GUARD})

_decode_order = msgspec.json.Decoder(ScrapeOrder).decode
_decode_trail = msgspec.json.Decoder(Trail).decode
_encode = msgspec.json.Encoder().encode


class ScrapeHandler:
    """Keeps the promise of `engine.handlers.Handler` for single pages over HTTP."""

    def __init__(self, visitor: Visitor, identity: Identity, *, clock: Clock, chance: Chance, metrics: Metrics) -> None:
        self._visitor = visitor
        self._identity = identity
        self._clock = clock
        self._chance = chance
        self._metrics = metrics

    async def handle(self, work: Work, turn: Turn) -> Verdict:
        order = _decode_order(work.item.order)
        trail = Trail(order.url, ()) if work.item.trail is None else _decode_trail(work.item.trail)
        began = self._clock.monotonic()
        visit = await self._visitor.visit(Errand(trail.url, order.timeout_ms / 1000, _MAX_BYTES, trail.hops), turn)
        self._metrics.visit_seconds.observe(self._clock.monotonic() - began)
        return await self._judge(order, visit, work)

    def broken(self, work: Work, reason: str) -> Done:
        outcome = Outcome("invalid", Code.INTERNAL, detail=f"reading the page failed on our side ({reason})")
        done = Done(JobState.FAILED, _packed(outcome, ScrapeResult()))
        try:
            order = _decode_order(work.item.order)
        except msgspec.MsgspecError:
            return done  # it may be the order itself that broke the handler
        return self._end(order, work, done, outcome)

    async def _judge(self, order: ScrapeOrder, visit: Visit, work: Work) -> Verdict:
        match visit.outcome:
            case Elsewhere(url, hops):
                return Onward(host_lane(url.authority), _encode(Trail(url, hops)), _advice(visit))
            case Page() as page:
                return await self._read(order, visit, page, work)
            case Refusal() as refusal:
                return self._refused(order, visit, refusal, work)
            case Unreachable() as unreachable:
                return self._unreached(order, visit, unreachable, work)

    async def _read(self, order: ScrapeOrder, visit: Visit, page: Page, work: Work) -> Done:
        wanted = wanted_of(order)
        # A large page would hold up everything else on the loop.
        taken = await asyncio.to_thread(extract, page, wanted) if len(page.body) > _LARGE else extract(page, wanted)
        outcome, state = _outcome_of(page, taken)
        document = taken.to_document(DocumentId(f"doc_{self._ulid()}"), order.source_url)
        result = ScrapeResult(document, self._receipt(visit, work))
        return self._end(order, work, Done(state, _packed(outcome, result), _advice(visit)), outcome)

    def _refused(self, order: ScrapeOrder, visit: Visit, refusal: Refusal, work: Work) -> Verdict:
        """A refusal is an answer. Only where the site itself says when to come back is it asked again, and then."""
        later, advice = refusal.retry_at, _advice(visit)
        if later is not None and refusal.code in (Code.RATE_LIMITED, Code.UNAVAILABLE):
            advice = LaneAdvice(advice.gap, later, Reason.RETRY_AFTER)
            patient = later <= work.item.created_at + timedelta(milliseconds=order.patience_ms)
            if patient and work.item.failures + 1 < _ASKED_AGAIN:
                return Retry(later, advice)
        outcome = Outcome("refusal", refusal.code, refusal.http_status, later, refusal.detail)
        result = ScrapeResult(receipt=self._receipt(visit, work))
        return self._end(order, work, Done(JobState.REFUSED, _packed(outcome, result), advice), outcome)

    def _unreached(self, order: ScrapeOrder, visit: Visit, unreachable: Unreachable, work: Work) -> Verdict:
        if unreachable.passing:
            at = next_try(work.item.failures + 1, order.attempts, self._clock.now())
            if at is not None:
                return Retry(at, _advice(visit))
        kind: OutcomeKind = "invalid" if unreachable.code in _INVALID else "unreachable"
        outcome = Outcome(kind, unreachable.code, unreachable.http_status, None, unreachable.detail)
        result = ScrapeResult(receipt=self._receipt(visit, work))
        return self._end(order, work, Done(JobState.FAILED, _packed(outcome, result), _advice(visit)), outcome)

    def _end(self, order: ScrapeOrder, work: Work, done: Done, outcome: Outcome) -> Done:
        """The job has ended; whoever wanted to be told is told by a job of the same transaction."""
        self._metrics.visits.labels(outcome.kind, outcome.code.value).inc()
        if order.hook is None:
            return done
        event = delivery_of(
            order.hook,
            f"job.{done.state.value}",
            {"id": work.item.job, "status": done.state, "url": order.source_url, "outcome": outcome,
             "metadata": order.metadata},
            job=new_job_id(self._clock, self._chance),
            account=work.item.account,
            now=self._clock.now(),
        )  # fmt: skip
        return replace(done, follow_ups=(event,))

    def _receipt(self, visit: Visit, work: Work) -> Receipt:
        page = visit.outcome if isinstance(visit.outcome, Page) else None
        reply = None if page is None else page.reply
        headers = {} if reply is None else reply.headers
        return Receipt(
            id=ReceiptId(f"rec_{self._ulid()}"),
            agent=self._identity.agent,
            fetched_at=self._clock.now(),
            robots=visit.outcome.robots if isinstance(visit.outcome, Page | Refusal) else None,
            lane_wait_ms=max(int((work.started_at - work.item.created_at) / timedelta(milliseconds=1)), 0),
            redirects=list(visit.hops),
            address=None if reply is None else reply.address,
            tls=None if reply is None else reply.tls,
            timings=None if reply is None else reply.timings,
            etag=headers.get("etag"),
            last_modified=headers.get("last-modified"),
            bytes=0 if reply is None else len(reply.body),
            sha256=None if reply is None else hashlib.sha256(reply.body).hexdigest(),
            engine="http",
            engine_reason="the only engine here",
        )

    def _ulid(self) -> str:
        return ulid(self._clock.now(), self._chance.draw(10))


def _advice(visit: Visit) -> LaneAdvice:
    """What the site asks for now; a Crawl-delay that it no longer states is forgotten."""
    return LaneAdvice(gap=visit.gap or timedelta())


def _outcome_of(page: Page, taken: Extracted) -> tuple[Outcome, JobState]:
    status = page.reply.status
    if status >= 400:
        return Outcome("page", Code.NOT_FOUND, status, detail=f"the site answered {status}"), JobState.COMPLETED
    if taken.missing:
        detail = f"the page has no value for {', '.join(taken.missing)}"
        return Outcome("invalid", Code.MISSING_FIELD, status, detail=detail), JobState.FAILED
    return Outcome("page", Code.OK, status), JobState.COMPLETED


def _packed(outcome: Outcome, result: ScrapeResult) -> Result:
    return Result(_encode(outcome), _encode(result))
