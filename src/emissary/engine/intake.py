"""Jobs that come one by one are written together: whatever came in while the last were being written."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from emissary.model.errors import InsufficientCredits, QueueFull
from emissary.model.ids import AccountId, JobId
from emissary.model.jobs import NewJob

__all__ = ["Intake"]

_MOST_AT_ONCE = 256

_Write = Callable[[Sequence[NewJob]], Awaitable[frozenset[JobId]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Coming:
    """A job, and who waits for it to be on disk."""

    job: NewJob
    written: asyncio.Future[frozenset[JobId]]


class Intake:
    """Whoever is alone is written at once; beside others, a job costs a fraction of a transaction.

    Jobs of different accounts are not put together: what one may not have is no other's trouble.
    """

    def __init__(self, write: _Write) -> None:
        self._write = write
        self._coming: dict[AccountId, list[_Coming]] = {}  # of each account for which something is being written
        self._serving: set[asyncio.Task[None]] = set()

    async def accept(self, job: NewJob) -> frozenset[JobId]:
        """What `write` answers for this job."""
        if job.account in self._coming:
            coming = _Coming(job, asyncio.get_running_loop().create_future())
            self._coming[job.account].append(coming)
            return await coming.written & {job.id}
        self._coming[job.account] = []
        try:
            return await self._write([job])
        finally:
            self._go_on(job.account)

    def _go_on(self, account: AccountId) -> None:
        """A task of its own writes for those who came meanwhile: each of them may stop waiting before the others."""
        if self._coming[account]:
            serving = asyncio.create_task(self._serve(account))
            self._serving.add(serving)
            serving.add_done_callback(self._serving.discard)
        else:
            del self._coming[account]

    async def _serve(self, account: AccountId) -> None:
        while together := self._coming[account][:_MOST_AT_ONCE]:
            del self._coming[account][:_MOST_AT_ONCE]
            await self._write_together(together)
        del self._coming[account]

    async def _write_together(self, together: list[_Coming]) -> None:
        try:
            accepted = await self._write([each.job for each in together])
        except (QueueFull, InsufficientCredits) as error:
            if len(together) == 1:
                _tell(together, error)
                return
            for each in together:  # as if each had come alone: there may be room for some of them
                await self._write_together([each])
        except Exception as error:  # noqa: BLE001 - it belongs to whoever asked, and is raised there
            _tell(together, error)
        else:
            _tell(together, accepted)


def _tell(together: list[_Coming], outcome: frozenset[JobId] | Exception) -> None:
    for each in together:
        if each.written.done():
            continue  # whoever asked has stopped waiting
        if isinstance(outcome, Exception):
            each.written.set_exception(outcome)
        else:
            each.written.set_result(outcome)
