"""The records: what is known of jobs, accounts and house rules."""

from datetime import datetime
from typing import Protocol

from emissary.model.accounts import Account
from emissary.model.ids import AccountId, JobId, WorkerId
from emissary.model.job_list import JobPage, JobWish
from emissary.model.jobs import Job
from emissary.model.lanes import WhyWaiting
from emissary.model.robots import RobotsFile
from emissary.model.waiting import PLAIN_TERMS, Terms

__all__ = ["Accounts", "HouseRules", "JobRecords", "WorkerRecords"]


class JobRecords(Protocol):
    """What became of jobs."""

    async def job(self, job: JobId, now: datetime) -> Job | None:
        """The job with its state at this moment and its result, or None."""
        ...

    async def why_waiting(self, job: JobId, now: datetime, terms: Terms = PLAIN_TERMS) -> WhyWaiting | None:
        """Why the job has not started, by `model.waiting`; None if it has, or has ended."""
        ...

    async def listed(self, wish: JobWish, now: datetime, *, before: JobId | None, most: int) -> JobPage:
        """Up to `most` of those jobs with their states at this moment, the newest first, those before this one.

        It looks at no more than `LOOKED_AT` jobs. Whoever follows `next` sees every job that was there when he began
        and still is as he wished it when it is looked at. Jobs of one batch come by their positions, the last first.
        """
        ...

    async def depth(self) -> int:
        """How many jobs have not ended."""
        ...


class Accounts(Protocol):
    """Accounts and their names."""

    async def open_account(self, account: Account) -> None:
        """Keep the account; nothing happens if it is there."""
        ...

    async def account(self, account: AccountId) -> Account | None:
        """The account, or None."""
        ...

    async def accounts(self, *, after: str = "", most: int = 1_000) -> list[Account]:
        """All accounts by their ids, those behind this one."""
        ...

    async def rename(self, account: AccountId, name: str) -> bool:
        """Call the account so from now on; False if there is none."""
        ...


class HouseRules(Protocol):
    """The robots.txt files that were read, shared by all workers; one that is not an origin's own goes by its URL."""

    async def rules_of(self, origin: str) -> RobotsFile | None:
        """The file kept for the origin, however old."""
        ...

    async def keep_rules(self, origin: str, file: RobotsFile) -> None:
        """Keep the file for the origin in place of the one before."""
        ...

    async def forget_rules(self, before: datetime) -> int:
        """Drop files that were fetched before that; returns how many there were."""
        ...


class WorkerRecords(Protocol):
    """Who works here, and who only seems to."""

    async def enlist(self, worker: WorkerId) -> None:
        """Say that the worker is there; from now until it leaves or dies it is not among the dead."""
        ...

    async def beat(self, worker: WorkerId) -> None:
        """Say that the worker is still there. Whoever has not said so for half a minute may be taken for dead."""
        ...

    async def leave(self, worker: WorkerId) -> None:
        """Say that the worker goes."""
        ...

    async def living(self) -> list[WorkerId]:
        """Workers that are there now."""
        ...

    async def dead(self) -> list[WorkerId]:
        """Workers that hold lanes but are not there any more."""
        ...
