"""Tells of what became of pages, batches and crawls, to whoever wants to hear of it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from emissary.engine.events import Event, delivery_of
from emissary.engine.handlers import Work
from emissary.engine.hearers import Hearers
from emissary.engine.jobs import new_job_id
from emissary.model.batches import Batch
from emissary.model.ids import AccountId, BatchId, JobId
from emissary.model.jobs import Job, JobState, NewJob
from emissary.model.pages import Outcome
from emissary.model.webhooks import EventType, Happening
from emissary.ports.batches import Batches
from emissary.ports.clock import Chance, Clock
from emissary.ports.records import JobRecords
from emissary.products.scrape.order import PageOfBatch, ScrapeOptions, ScrapeOrder

__all__ = ["Crier", "HappeningCrier"]

_ENDS = {
    JobState.COMPLETED: EventType.JOB_COMPLETED,
    JobState.FAILED: EventType.JOB_FAILED,
    JobState.REFUSED: EventType.JOB_REFUSED,
}
_CRAWL_PREFIX = "crl_"
_PAGES = "scrape."

_decode_options = msgspec.json.Decoder(ScrapeOptions).decode
_decode_order = msgspec.json.Decoder(ScrapeOrder).decode
_decode_page = msgspec.json.Decoder(PageOfBatch).decode


class Crier:
    """Makes the jobs by which others are told of an end."""

    def __init__(self, hearers: Hearers, clock: Clock, chance: Chance) -> None:
        self.hearers = hearers
        self._clock = clock
        self._chance = chance

    async def learn(self, order: ScrapeOptions, work: Work) -> None:
        """Look up who may want to hear of this piece of work."""
        await self.hearers.learn(work.item.account, order.webhook)

    def of_end(self, order: ScrapeOrder, work: Work, state: JobState, outcome: Outcome) -> tuple[NewJob, ...]:
        """Of a page that has come to its end. Of lists of pages nobody is told, nor of what was called off."""
        if order.part != "page" or state not in _ENDS:
            return ()
        item = work.item
        told = {"id": item.job, "status": state, "url": order.source_url, "outcome": outcome}
        data = {**told, "batch": item.batch, "metadata": order.metadata}
        return self.of(_ENDS[state], data, _about(item.job, item.batch), account=item.account, options=order)

    def of(
        self, event: EventType, data: dict[str, Any], about: str, *, account: AccountId, options: ScrapeOptions
    ) -> tuple[NewJob, ...]:
        """Of what happened to a thing that was asked for with these options."""
        in_batch = event in _ENDS.values() and data.get("batch") is not None
        to = self.hearers.of(account, event, hook=options.hook, named=options.webhook, in_batch=in_batch)
        if not to:
            return ()
        told = Event.new(event, data, about, clock=self._clock, chance=self._chance)
        return tuple(delivery_of(each, told, job=new_job_id(self._clock, self._chance), account=account) for each in to)


class HappeningCrier:
    """Makes the same of what the store itself brought about."""

    def __init__(self, crier: Crier, batches: Batches, jobs: JobRecords, clock: Clock) -> None:
        self._crier = crier
        self._batches = batches
        self._jobs = jobs
        self._clock = clock

    async def deliveries(self, happening: Happening) -> Sequence[NewJob]:
        """Who is told of it; nobody, if it is gone by now."""
        if happening.event is EventType.JOB_FAILED:
            return await self._of_job(happening)
        batch = await self._batches.find(BatchId(happening.subject))
        if batch is None or not batch.kind.startswith(_PAGES):
            return ()
        return await self._of_batch(happening, batch, _decode_options(batch.order))

    async def _of_batch(self, happening: Happening, batch: Batch, options: ScrapeOptions) -> Sequence[NewJob]:
        event = happening.event
        if options.crawl is not None and options.crawl.lists:
            return ()  # a map: whoever asked for it has waited for it
        if event is EventType.BATCH_CANCELLED and not batch.total:
            return ()  # nothing was accepted, and its caller was told so
        if batch.id.startswith(_CRAWL_PREFIX) and event is EventType.BATCH_COMPLETED:
            event = EventType.CRAWL_COMPLETED
        await self._crier.hearers.learn(batch.account, options.webhook)
        data = _told_of_batch(batch, happening)
        return self._crier.of(event, data, batch.id, account=batch.account, options=options)

    async def _of_job(self, happening: Happening) -> Sequence[NewJob]:
        job = await self._jobs.job(JobId(happening.subject), self._clock.now())
        if job is None or not job.kind.startswith(_PAGES):
            return ()
        options, page = await self._order_of(job)
        await self._crier.hearers.learn(job.account, options.webhook)
        outcome = None if job.result is None else msgspec.Raw(job.result.outcome)
        told = {"id": job.id, "status": job.state, "url": page.url, "outcome": outcome}
        data = {**told, "batch": job.batch, "metadata": page.metadata}
        about = _about(job.id, job.batch)
        return self._crier.of(happening.event, data, about, account=job.account, options=options)

    async def _order_of(self, job: Job) -> tuple[ScrapeOptions, PageOfBatch]:
        if job.batch is None:
            order = _decode_order(job.order)
            return order, PageOfBatch(order.source_url, order.metadata)
        batch = await self._batches.find(job.batch)
        return ScrapeOptions() if batch is None else _decode_options(batch.order), _decode_page(job.order)


def _about(job: JobId, batch: BatchId | None) -> str:
    """A page of a batch is a part of it: the end of the batch is told after it."""
    return job if batch is None else f"{batch}/{job}"


def _told_of_batch(batch: Batch, happening: Happening) -> dict[str, Any]:
    counts = batch.counts
    ended = {"completed": counts.completed, "refused": counts.refused, "failed": counts.failed}
    cancelled = batch.total - sum(ended.values())
    return {
        "id": batch.id,
        "name": batch.name,
        "status": happening.event.value.rpartition(".")[2],
        "total": batch.total,
        "counts": {**ended, "cancelled": cancelled, "cached": counts.cached},
        "outcomes": batch.outcomes,
        "reason": batch.reason,
        "creditsUsed": counts.credits,
        "createdAt": batch.created_at,
        "finishedAt": happening.at,
    }
