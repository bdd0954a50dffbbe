"""Visits the page of a scrape, takes from it what was asked for, and says how the job ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import msgspec
from prometheus_client import Counter

from emissary.engine.backoff import next_try
from emissary.engine.handlers import Done, Onward, Result, Retry, Turn, Verdict, Work
from emissary.model.cache import CachedPage
from emissary.model.errors import BadRequest
from emissary.model.extraction import Unextractable
from emissary.model.ids import DocumentId
from emissary.model.jobs import JobState, NewJob
from emissary.model.lanes import NO_ADVICE, LaneAdvice, Reason, host_lane
from emissary.model.pages import (
    Code,
    Document,
    Elsewhere,
    Format,
    Outcome,
    OutcomeKind,
    Page,
    Receipt,
    Refusal,
    RobotsNote,
    Ruled,
    Unchanged,
    Unreachable,
)
from emissary.model.sessions import SessionKey
from emissary.ports.clock import Chance, Clock
from emissary.ports.extraction import Extraction
from emissary.products.scrape.frontier import Frontier
from emissary.products.scrape.listings import Listed, Listings
from emissary.products.scrape.memory import Memory, extracted_before, page_of
from emissary.products.scrape.misses import miss_of
from emissary.products.scrape.order import ScrapeOrder, ScrapeResult, Trail, wanted_of
from emissary.products.scrape.receipts import receipt_of
from emissary.products.scrape.telling import Crier
from emissary.products.scrape.templates import Templates
from emissary.reading.caching import conditions, is_fresh_enough
from emissary.reading.credentials import Credentials
from emissary.reading.identity import PRODUCT_TOKEN
from emissary.reading.owners import OwnersBook
from emissary.reading.pacing import StrainWatch
from emissary.reading.sessions import SessionBook
from emissary.reading.sitemaps import MAX_SITEMAP_BYTES
from emissary.reading.visit import Errand, Visit, Visitor
from emissary.reading.wishes import NO_WISHES, Wishes, wishes_of
from emissary.telemetry.metrics import Metrics

__all__ = ["ScrapeHandler", "ScrapeTools"]

_MAX_BYTES = 16 * 1024 * 1024
_ASKED_AGAIN = 3
_NOBODY = frozenset({Code.DNS, Code.CONNECT, Code.TLS, Code.TIMEOUT})
_INVALID = frozenset({Code.TOO_LARGE, Code.BAD_CONTENT, Code.TOO_MANY_REDIRECTS, Code.GUARD})


_decode_trail = msgspec.json.Decoder(Trail).decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ScrapeTools:
    """What reading a page takes."""

    visitor: Visitor
    extraction: Extraction
    credentials: Credentials
    memory: Memory
    templates: Templates
    frontier: Frontier
    crier: Crier
    sessions: SessionBook
    owners: OwnersBook
    clock: Clock
    chance: Chance
    metrics: Metrics


class ScrapeHandler:
    """Keeps the promise of `engine.handlers.Handler` for single pages over HTTP."""

    def __init__(self, tools: ScrapeTools) -> None:
        self._tools = tools
        self._clock = tools.clock
        self._strain = StrainWatch()
        self._listings = Listings(tools.frontier)
        self._counters: dict[Code, Counter] = {}

    async def handle(self, work: Work, turn: Turn) -> Verdict:
        order = await self._tools.templates.order_for(work)
        await self._tools.crier.learn(order, work)
        if order.part == "lines":
            return await self._list(order, work, self._listings.of_lines(order, work))
        if not await self._tools.frontier.admits(order, work):
            outcome = Outcome("invalid", Code.LIMIT, detail="the crawl has begun as many pages as it may read")
            return self._end(order, work, Done(JobState.CANCELLED, _packed(outcome, ScrapeResult())), outcome)
        trail = _trail_of(order, work)
        if work.item.trail is not None and not trail.hops:
            item = msgspec.structs.replace(work.item, trail=None)  # house rules apart, it has not left its place
            work = msgspec.structs.replace(work, item=item)
        away = self._tools.owners.refusal(order.url)
        copy = None if away else await self._tools.memory.recall(order, work)
        if copy is not None and is_fresh_enough(copy, timedelta(seconds=order.max_age), self._clock.now()):
            return await self._from_copy(order, work, copy)
        visit = await self._visit(order, work, copy, turn, trail=trail)
        if isinstance(visit.outcome, Elsewhere):
            on = visit.outcome
            trail = Trail(on.url, on.hops, on.rules, on.detours)
            return Onward(host_lane(on.place.authority), _encode(trail), self._advice(visit, work))
        return await self._judge(order, visit, work, copy)

    async def _judge(self, order: ScrapeOrder, visit: Visit, work: Work, copy: CachedPage | None) -> Verdict:
        match visit.outcome:
            case (Page() | Ruled()) as found if order.part != "page":
                return await self._list(order, work, await self._listings.of_answer(order, work, found), visit)
            case Page() as page:
                return await self._read(order, visit, page, work)
            case Unchanged(_, reply, _, usage) if copy is not None:
                copy = msgspec.structs.replace(copy, usage=dict(usage))
                again = await self._tools.memory.renew(order, work, copy, reply)
                return await self._from_copy(order, work, again, visit)
            case Refusal() as refusal:
                return await self._refused(order, visit, refusal, work)
            case Unreachable() as unreachable:
                return self._unreached(order, visit, unreachable, work)
            case Elsewhere(url) | Unchanged(url) | Ruled(url):
                odd = Unreachable(url, Code.BAD_RESPONSE, "the site answered what was not asked", passing=False)
                return self._unreached(order, visit, odd, work)

    def broken(self, work: Work, reason: str) -> Done:
        outcome = Outcome("invalid", Code.INTERNAL, detail=f"reading the page failed on our side ({reason})")
        done = Done(JobState.FAILED, _packed(outcome, ScrapeResult()))
        try:
            order = self._tools.templates.known_order(work)
        except (msgspec.MsgspecError, BadRequest):
            return done  # it may be the order itself that broke the handler
        return self._end(order, work, done, outcome)

    def given_up(self, work: Work) -> Done:
        detail = "the site could not be reached for long, and was not asked for this page"
        outcome = Outcome("unreachable", Code.CONNECT, detail=detail)
        done = Done(JobState.FAILED, _packed(outcome, ScrapeResult()))
        return self._end(self._tools.templates.known_order(work), work, done, outcome)

    async def _visit(
        self, order: ScrapeOrder, work: Work, copy: CachedPage | None, turn: Turn, *, trail: Trail
    ) -> Visit:
        began = self._clock.monotonic()
        known = {} if copy is None else conditions(copy)
        errand = Errand(
            trail.url,
            order.timeout_ms / 1000,
            _MAX_BYTES if order.part == "page" else MAX_SITEMAP_BYTES,
            trail.hops,
            known,
            rules=trail.rules,
            detours=trail.detours,
            any_content=order.part == "sitemap",
        )
        if order.part == "robots":
            visit = await self._tools.visitor.learn(errand, turn)
        elif order.session is None or trail.rules is not None:
            visit = await self._tools.visitor.visit(errand, turn)
        else:
            visit = await self._visit_in_session(SessionKey(work.item.account, order.session), errand, turn)
        self._tools.metrics.visit_seconds.observe(self._clock.monotonic() - began)
        return visit

    async def _visit_in_session(self, key: SessionKey, errand: Errand, turn: Turn) -> Visit:
        session = await self._tools.sessions.open(key)
        errand = msgspec.structs.replace(errand, cookies=session.cookies, session=key.place, kept_egress=session.egress)
        visit = await self._tools.visitor.visit(errand, turn)
        egress = None if visit.reply is None else visit.reply.egress
        await self._tools.sessions.keep(key, session, visit.set_cookies, egress)
        return visit

    async def _read(self, order: ScrapeOrder, visit: Visit, page: Page, work: Work) -> Done:
        outcome, state, document = await self._take(order, page, work)
        wishes = wishes_of(page, PRODUCT_TOKEN)
        found: Sequence[NewJob] = ()
        if document is not None:
            found = self._tools.frontier.found_on(order, work, page, document=document, wishes=wishes)
            document = _as_asked(document, order)
            await self._tools.memory.keep(order, work, page, document, noarchive=wishes.noarchive)
        receipt = await self._receipt(order, visit, work, wishes)
        done = Done(state, _packed(outcome, ScrapeResult(document, receipt)), self._advice(visit, work), tuple(found))
        return self._end(order, work, done, outcome)

    async def _list(self, order: ScrapeOrder, work: Work, listed: Listed, visit: Visit | None = None) -> Done:
        """A list of pages has been read: what it leads to is accepted with it."""
        page = None if visit is None else visit.outcome
        wishes = wishes_of(page, PRODUCT_TOKEN) if isinstance(page, Page) else NO_WISHES
        receipt = None if visit is None else await self._receipt(order, visit, work, wishes)
        advice = NO_ADVICE if visit is None else self._advice(visit, work)
        packed = _packed(listed.outcome, ScrapeResult(None, receipt, listed.pages))
        found = () if wishes.nofollow else listed.jobs
        return self._end(order, work, Done(JobState.COMPLETED, packed, advice, found), listed.outcome)

    async def _take(self, order: ScrapeOrder, page: Page, work: Work) -> tuple[Outcome, JobState, Document | None]:
        """What was taken from the page. One that breaks its reader is not read again: it would break the next one."""
        taken = await self._tools.extraction.extract(page, wanted_of(order))
        if isinstance(taken, Unextractable):
            failed = Outcome("invalid", Code.EXTRACTION_FAILED, page.reply.status, detail=taken.detail)
            return failed, JobState.FAILED, None
        document = taken.to_document(_document_id(work), order.source_url)
        outcome, state = _outcome_of(page, document.missing)
        return outcome, state, document

    async def _from_copy(self, order: ScrapeOrder, work: Work, copy: CachedPage, visit: Visit | None = None) -> Done:
        """The page from its copy. If the same was asked for the last time, nothing is even read again."""
        page = page_of(copy, order, RobotsNote(None, None, copy.fetched_at))
        document = extracted_before(copy, order) if order.crawl is None else None
        wishes = wishes_of(page, PRODUCT_TOKEN)
        found: tuple[NewJob, ...] = ()
        if document is None:
            outcome, state, document = await self._take(order, page, work)
            if document is not None:
                found = tuple(self._tools.frontier.found_on(order, work, page, document=document, wishes=wishes))
                document = _as_asked(document, order)
        else:
            document = msgspec.structs.replace(document, id=_document_id(work), source_url=order.source_url)
            outcome, state = _outcome_of(page, document.missing)
        receipt = receipt_of(visit, work, self._tools.credentials, self._clock.now(), copy=copy)
        receipt = _with_wishes(receipt, wishes)
        advice = NO_ADVICE if visit is None else self._advice(visit, work)
        done = Done(state, _packed(outcome, ScrapeResult(document, receipt)), advice, found, cached=visit is None)
        return self._end(order, work, done, outcome)

    async def _refused(self, order: ScrapeOrder, visit: Visit, refusal: Refusal, work: Work) -> Verdict:
        """A refusal is an answer. Only where the site itself says when to come back is it asked again, and then."""
        later, advice = refusal.retry_at, self._advice(visit, work)
        if refusal.rest_until is not None:
            advice = msgspec.structs.replace(advice, rest_until=refusal.rest_until, reason=Reason.RETRY_AFTER)
        if later is not None and refusal.code in (Code.RATE_LIMITED, Code.UNAVAILABLE):
            advice = msgspec.structs.replace(advice, rest_until=later, reason=Reason.RETRY_AFTER)
            patient = later <= work.item.created_at + timedelta(milliseconds=order.patience_ms)
            if patient and work.item.failures + 1 < _ASKED_AGAIN:
                return Retry(later, advice)
        evidence = list(refusal.evidence) or msgspec.UNSET
        outcome = Outcome("refusal", refusal.code, refusal.http_status, later, refusal.detail, evidence)
        result = ScrapeResult(receipt=await self._receipt(order, visit, work, NO_WISHES))
        return self._end(order, work, Done(JobState.REFUSED, _packed(outcome, result), advice), outcome)

    def _unreached(self, order: ScrapeOrder, visit: Visit, unreachable: Unreachable, work: Work) -> Verdict:
        if unreachable.back_at is not None and order.attempts > 1:
            # Nobody was asked, so this was no attempt; and until then nobody can be asked for another page either.
            rest = LaneAdvice(gap=visit.gap, rest_until=unreachable.back_at, reason=Reason.EGRESS)
            return Retry(unreachable.back_at, rest, counts=False)
        advice = self._advice(visit, work)
        if unreachable.passing:
            chance = self._tools.chance.draw(1)[0] / 255
            at = next_try(work.item.failures + 1, order.attempts, self._clock.now(), chance)
            if at is not None:
                return Retry(at, advice)
        kind: OutcomeKind = "invalid" if unreachable.code in _INVALID else "unreachable"
        outcome = Outcome(kind, unreachable.code, unreachable.http_status, None, unreachable.detail)
        result = ScrapeResult(receipt=receipt_of(visit, work, self._tools.credentials, self._clock.now()))
        return self._end(order, work, Done(JobState.FAILED, _packed(outcome, result), advice), outcome)

    async def _receipt(self, order: ScrapeOrder, visit: Visit, work: Work, wishes: Wishes) -> Receipt:
        capture = None if wishes.noarchive else await self._tools.memory.capture(order, visit)
        receipt = receipt_of(visit, work, self._tools.credentials, self._clock.now(), capture=capture)
        return _with_wishes(receipt, wishes)

    def _end(self, order: ScrapeOrder, work: Work, done: Done, outcome: Outcome) -> Done:
        """The job has ended; whoever wanted to be told is told by a job of the same transaction."""
        self._counted(outcome).inc()
        if done.state is JobState.COMPLETED and order.part == "page":
            done = msgspec.structs.replace(done, credits=1)
        if (miss := miss_of(order, outcome)) is not None:
            done = msgspec.structs.replace(done, miss=miss)
        told = self._tools.crier.of_end(order, work, done.state, outcome)
        return msgspec.structs.replace(done, follow_ups=(*done.follow_ups, *told)) if told else done

    def _counted(self, outcome: Outcome) -> Counter:
        """The counter of such outcomes; finding it anew each time would cost more than counting."""
        found = self._counters.get(outcome.code)
        if found is None:
            found = self._counters[outcome.code] = self._tools.metrics.visits.labels(outcome.kind, outcome.code.value)
        return found

    def _advice(self, visit: Visit, work: Work) -> LaneAdvice:
        """What the site asks for now, and how it bears us; where we were not let in, nothing new is known."""
        took = None if visit.reply is None else visit.reply.timings.first_byte_ms
        asked = visit.reply is not None or isinstance(visit.outcome, Unreachable)
        strain = self._strain.note(visit.outcome.url.host, visit.outcome, took) if asked else None
        found = _found(visit)
        if found is False and work.item.batch is None:
            found = None  # whoever asks for one page gets an answer each time; the breaker is for long lists
        return LaneAdvice(gap=visit.gap, strain=strain, found=found)


def _with_wishes(receipt: Receipt, wishes: Wishes) -> Receipt:
    if wishes is NO_WISHES:
        return receipt
    return msgspec.structs.replace(receipt, directives=wishes.directives, usage_preferences=wishes.usage)


def _found(visit: Visit) -> bool | None:
    """Whether anybody was there; what was answered, or that it could not be used, is another matter."""
    match visit.outcome:
        case Unreachable(_, code) if code in _NOBODY:
            return False
        case Unreachable():
            return None
        case _:
            return None if visit.reply is None else True


def _as_asked(document: Document, order: ScrapeOrder) -> Document:
    """A crawl looks for links wherever it goes; they are given out only where they were asked for."""
    if order.crawl is None or Format.LINKS in order.formats:
        return document
    return msgspec.structs.replace(document, links=None)


def _trail_of(order: ScrapeOrder, work: Work) -> Trail:
    return Trail(order.url, ()) if work.item.trail is None else _decode_trail(work.item.trail)


def _document_id(work: Work) -> DocumentId:
    """A document bears the name of its job, so that one leads to the other."""
    return DocumentId("doc_" + work.item.job.removeprefix("job_"))


def _outcome_of(page: Page, missing: list[str] | None) -> tuple[Outcome, JobState]:
    status = page.reply.status
    if page.code is not Code.OK:
        evidence = list(page.evidence) or msgspec.UNSET
        detail = f"the site answered {status}, and says that the page is not there"
        return Outcome("page", page.code, status, None, detail, evidence), JobState.COMPLETED
    if missing:
        detail = f"the page has no value for {', '.join(missing)}"
        return Outcome("invalid", Code.MISSING_FIELD, status, detail=detail), JobState.FAILED
    return Outcome("page", Code.OK, status), JobState.COMPLETED


def _packed(outcome: Outcome, result: ScrapeResult) -> Result:
    return Result(_encode(outcome), _encode(result))
