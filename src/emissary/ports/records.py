"""The records: what is known of jobs, accounts and house rules."""

from datetime import datetime
from typing import Protocol

from emissary.model.accounts import Account, ApiKey
from emissary.model.ids import AccountId, JobId, WorkerId
from emissary.model.jobs import Job
from emissary.model.lanes import WhyWaiting
from emissary.model.robots import RobotsFile

__all__ = ["Accounts", "HouseRules", "JobRecords", "WorkerRecords"]


class JobRecords(Protocol):
    """What became of jobs."""

    async def job(self, job: JobId, now: datetime) -> Job | None:
        """The job with its state at this moment and its result, or None."""
        ...

    async def why_waiting(self, job: JobId, now: datetime) -> WhyWaiting | None:
        """Why the job has not started; None if it has, or has ended."""
        ...

    async def depth(self) -> int:
        """How many jobs have not ended."""
        ...


class Accounts(Protocol):
    """Accounts and their keys."""

    async def open_account(self, account: Account) -> None:
        """Keep the account; nothing happens if it is there."""
        ...

    async def add_key(self, key: ApiKey) -> None:
        """Keep the key; nothing happens if one with this digest is there."""
        ...

    async def account_by_key(self, digest: bytes) -> AccountId | None:
        """Whose key this is, or None."""
        ...

    async def has_keys(self) -> bool:
        """Whether any key opens anything."""
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
