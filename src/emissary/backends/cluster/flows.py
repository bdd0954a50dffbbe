"""Whose flows are: what never changes of a flow is read once and remembered."""

from collections.abc import Collection
from dataclasses import dataclass

from emissary.backends.cluster import statements as sql
from emissary.backends.cluster.database import Connection
from emissary.model.ids import AccountId, BatchId
from emissary.model.jobs import NewJob

__all__ = ["FlowBook", "Owner", "flow_key"]

_MOST_REMEMBERED = 100_000


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a flow is."""

    tenant: int
    account: AccountId
    batch: BatchId | None


def flow_key(job: NewJob) -> str:
    """A batch is a flow; so are an account's single jobs of one priority."""
    return job.batch or f"{job.account}|{job.priority.value}"


class FlowBook:
    """The owners of flows that were met before."""

    def __init__(self) -> None:
        self._owners: dict[int, Owner] = {}
        self._made: set[str] = set()

    async def owners(self, connection: Connection, flows: Collection[int]) -> dict[int, Owner]:
        """The owner of each of these flows."""
        unknown = [flow for flow in set(flows) if flow not in self._owners]
        if unknown:
            self._forget()
            for flow, key, tenant, account in await connection.fetch(sql.FLOWS_BY_ID, unknown):
                batch = None if "|" in key else BatchId(key)
                self._owners[flow] = Owner(tenant, AccountId(account), batch)
        return self._owners

    async def make(self, connection: Connection, jobs: Collection[NewJob]) -> None:
        """See to it that single jobs have a flow; those of a batch have it since the batch was opened."""
        new = {flow_key(job): job.account for job in jobs if job.batch is None and flow_key(job) not in self._made}
        if not new:
            return
        self._forget()
        await connection.execute(sql.MAKE_TENANTS, sorted(set(new.values())))
        await connection.execute(sql.MAKE_FLOWS, list(new), list(new.values()))

    def note_made(self, jobs: Collection[NewJob]) -> None:
        """What was made has been committed."""
        self._made.update(flow_key(job) for job in jobs if job.batch is None)

    def _forget(self) -> None:
        if len(self._owners) + len(self._made) > _MOST_REMEMBERED:
            self._owners.clear()
            self._made.clear()
