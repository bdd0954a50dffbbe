"""The front for single pages: checks an order, has it done, and gives back what came of it."""

from dataclasses import dataclass
from datetime import timedelta

import msgspec

from emissary.engine.hearers import Hearers
from emissary.engine.jobs import Jobs, new_job_id
from emissary.model.errors import BadRequest, NotFound
from emissary.model.ids import AccountId, JobId
from emissary.model.jobs import FINAL_STATES, Job, JobState, NewJob, Priority
from emissary.model.lanes import WhyWaiting, host_lane
from emissary.ports.clock import Chance, Clock
from emissary.products.scrape.order import SCRAPE_HTTP, ScrapeOrder, check_options

__all__ = ["Scrapes", "Shown"]

# A page that is given up when the time is over should be told as that, and not as one that still waits.
_GRACE = timedelta(milliseconds=500)

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Shown:
    """A job as its owner sees it: either what came of it, or why it waits."""

    job: Job
    result: bytes | None
    why_waiting: WhyWaiting | None


class Scrapes:
    """Single scrapes, waited for or not."""

    def __init__(self, jobs: Jobs, hearers: Hearers, *, clock: Clock, chance: Chance) -> None:
        self._jobs = jobs
        self._hearers = hearers
        self._clock = clock
        self._chance = chance

    async def scrape(self, account: AccountId, order: ScrapeOrder, priority: Priority) -> Shown:
        """Have the page read, and wait for it as long as the order allows."""
        job = await self._new(account, order, Priority.HIGH if priority is Priority.HIGH else Priority.INTERACTIVE)
        patience = timedelta(milliseconds=order.timeout_ms) + _GRACE
        return await self._show(await self._jobs.accept_and_wait(job, patience))

    async def submit(self, account: AccountId, order: ScrapeOrder, priority: Priority) -> Shown:
        """Have the page read some time; the job is accepted when this returns."""
        job = await self._new(account, order, priority)
        await self._jobs.accept([job])
        why_waiting = await self._jobs.why_waiting(job.id)
        # One that does not wait is in hand by now, or has even ended: then the ledger knows more than we do.
        return await self.show(account, job.id) if why_waiting is None else Shown(self._fresh(job), None, why_waiting)

    async def show(self, account: AccountId, job: JobId) -> Shown:
        """The job as it is now. Another account's job answers exactly like one that never was."""
        found = await self._jobs.find(job, account)
        if found is None:
            raise NotFound(f"there is no job {job}")
        return await self._show(found)

    async def cancel(self, account: AccountId, job: JobId) -> Shown:
        """End the job if it has not ended."""
        shown = await self.show(account, job)
        if not await self._jobs.cancel(job):
            raise BadRequest(f"the job has ended: it is {shown.job.state.value}", "job_finished")
        return await self.show(account, job)

    async def _show(self, job: Job) -> Shown:
        if job.state in FINAL_STATES:
            return Shown(job, await self._jobs.body_of(job), None)
        return Shown(job, None, await self._jobs.why_waiting(job.id))

    def _fresh(self, job: NewJob) -> Job:
        """The job as it waits, without a look at what was written just now."""
        return Job(
            id=job.id,
            account=job.account,
            kind=job.kind,
            state=JobState.WAITING,
            lane=job.lane,
            order=job.order,
            failures=0,
            created_at=self._clock.now(),
            started_at=None,
            finished_at=None,
            result=None,
        )

    async def _new(self, account: AccountId, order: ScrapeOrder, priority: Priority) -> NewJob:
        check_options(order)
        await self._hearers.check(account, order.webhook)
        identity = new_job_id(self._clock, self._chance)
        return NewJob(identity, account, SCRAPE_HTTP, host_lane(order.url.authority), _encode(order), priority)
