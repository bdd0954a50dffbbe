"""Station 2 of 7: accepts jobs and puts each into its lane. What was accepted is on disk before anyone is told."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from emissary.engine.intake import Intake
from emissary.engine.results import JOB_TOPIC, unpack
from emissary.engine.worker import LANES_TOPIC
from emissary.model.ids import AccountId, JobId, ulid
from emissary.model.job_list import JobPage, JobWish
from emissary.model.jobs import FINAL_STATES, Job, JobState, NewJob, StoredResult
from emissary.model.lanes import LEFT_ALONE, WhyWaiting
from emissary.model.waiting import PLAIN_TERMS, Terms
from emissary.ports.blobs import Blobs
from emissary.ports.bus import Bus, Ears
from emissary.ports.clock import Chance, Clock
from emissary.ports.lanes import Lanes
from emissary.ports.records import JobRecords
from emissary.telemetry.metrics import Metrics

__all__ = ["JobStores", "Jobs", "new_job_id"]

_LOOK_AGAIN_SECONDS = 0.5


def new_job_id(clock: Clock, chance: Chance) -> JobId:
    """A name for a job that nobody else has."""
    return JobId(f"job_{ulid(clock.now(), chance.draw(10))}")


@dataclass(frozen=True, slots=True)
class JobStores:
    """Where jobs stand, where one sees what became of them, and where their large results are."""

    lanes: Lanes
    records: JobRecords
    blobs: Blobs


class Jobs:
    """The jobs of all accounts, each shown to its own account only."""

    def __init__(
        self, stores: JobStores, bus: Bus, *, clock: Clock, metrics: Metrics, terms: Terms = PLAIN_TERMS
    ) -> None:
        self._lanes = stores.lanes
        self._records = stores.records
        self._blobs = stores.blobs
        self._bus = bus
        self._clock = clock
        self._metrics = metrics
        self._terms = terms
        self._intake = Intake(self._submit)
        self._is_stopped = False

    def stop(self) -> None:
        """This process goes: whoever waits for a job that has not begun is told so within a second."""
        self._is_stopped = True

    async def accept(self, jobs: Sequence[NewJob]) -> frozenset[JobId]:
        """Accept all of the jobs, or none; those that their batch has seen before are left out of what is returned.

        Raises QueueFull where their account has as many in line as it may, and InsufficientCredits where it cannot pay.
        """
        is_single = len(jobs) == 1 and jobs[0].batch is None
        accepted = await (self._intake.accept(jobs[0]) if is_single else self._submit(jobs))
        for kind, count in Counter(job.kind for job in jobs if job.id in accepted).items():
            self._metrics.accepted.labels(kind).inc(count)
        for lane in {job.lane for job in jobs if job.id in accepted}:
            self._bus.say(LANES_TOPIC, lane)
        return accepted

    async def _submit(self, jobs: Sequence[NewJob]) -> frozenset[JobId]:
        most_queued = self._terms.allowance.most_queued
        return await self._lanes.submit(jobs, self._clock.now(), most_queued=most_queued)

    async def accept_and_wait(self, job: NewJob, patience: timedelta) -> Job:
        """Accept the job and wait for its end; after so long, return it as it is."""
        async with self._bus.listen(JOB_TOPIC + job.id) as ears:
            accepting = asyncio.ensure_future(self.accept([job]))
            self._bus.say(LANES_TOPIC, job.lane)  # whoever has a hand free looks right behind it
            await accepting
            return await self._until_end(job.id, ears, patience)

    async def _until_end(self, job: JobId, ears: Ears, patience: timedelta) -> Job:
        until = self._clock.monotonic() + patience.total_seconds()
        while True:
            left = until - self._clock.monotonic()
            # The bus is a hint: another process may have settled the job, so look now and then all the same.
            await ears.hear(min(left, _LOOK_AGAIN_SECONDS))
            found = await self._records.job(job, self._clock.now())
            assert found is not None, "an accepted job is in the ledger"
            if found.state in FINAL_STATES or left <= 0 or self._is_put_off(found) or await self._is_left_alone(job):
                return found

    def _is_put_off(self, job: Job) -> bool:
        """Whether the job is for another process to begin; what has begun here comes to its end here."""
        return self._is_stopped and job.state is not JobState.ACTIVE

    async def _is_left_alone(self, job: JobId) -> bool:
        """Whether nobody will look for it for a while: that is better told than waited for."""
        why = await self._records.why_waiting(job, self._clock.now())
        return why is not None and why.reason in LEFT_ALONE

    async def find(self, job: JobId, account: AccountId) -> Job | None:
        """The job, if it is this account's."""
        found = await self._records.job(job, self._clock.now())
        return found if found is not None and found.account == account else None

    async def listed(self, wish: JobWish, *, before: JobId | None, most: int) -> JobPage:
        """Jobs of an account, the newest first, those before this one."""
        return await self._records.listed(wish, self._clock.now(), before=before, most=most)

    async def body_of(self, job: Job) -> bytes | None:
        """What the job left behind."""
        return None if job.result is None else await self.body_of_result(job.id, job.result)

    async def body_of_result(self, job: JobId, result: StoredResult) -> bytes | None:
        """The same, where the result was read without its job."""
        return await unpack(job, result, self._blobs)

    async def why_waiting(self, job: JobId) -> WhyWaiting | None:
        """Why the job has not started, and an estimate of when it may."""
        return await self._records.why_waiting(job, self._clock.now(), self._terms)

    async def cancel(self, job: JobId) -> bool:
        """End the job if it has not ended; tells whether this call did."""
        ended = await self._lanes.cancel([job], self._clock.now())
        for each in ended:
            self._bus.say(JOB_TOPIC + each, "cancelled")
        return job in ended

    async def depth(self) -> int:
        """How many jobs have not ended."""
        return await self._records.depth()
