"""The flows of work and their turns, in the transaction of whoever lines up."""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from emissary.backends.embedded import statements as sql
from emissary.backends.embedded.lists import as_list, one, reader
from emissary.model.fairness import PARKED, Turns, is_parked, rank_of, turns_for
from emissary.model.jobs import NewJob, Priority

__all__ = ["Blocked", "Flow", "Line", "flow_key", "flows_of", "has_ended", "open_flows", "parked"]


class Blocked(IntEnum):
    """What keeps a flow from being handed out."""

    NOT = 0
    PAUSED = 1
    CANCELLED = 2


class Flow(NamedTuple):
    """A flow with all that its next turns depend on."""

    key: str
    id: int
    batch_state: str | None
    blocked: int
    submitted: int
    last: int
    clock: int
    weight: float
    sharing: int
    account: str
    most_queued: int | None
    has_balance: int  # of credits

    @property
    def turns(self) -> Turns:
        return turns_for(self.last, self.clock, self.weight, self.sharing)


_read_flows = reader(Flow)


def flow_key(job: NewJob) -> str:
    """A batch is a flow; so are an account's single jobs of one priority."""
    return job.batch or f"{job.account}|{job.priority.value}"


def flows_of(connection: sqlite3.Connection, keys: Collection[str]) -> dict[str, Flow]:
    """Those of the flows that are there."""
    rows = _read_flows(one(connection, sql.FLOWS, {"keys": as_list(list(keys))}))
    return {flow.key: flow for flow in rows}


def open_flows(connection: sqlite3.Connection, jobs: Mapping[str, NewJob]) -> dict[str, Flow]:
    """The flows with these keys, of a job each, that take in more: single ones always do, a batch until it ends."""
    found = flows_of(connection, jobs)
    new = [(key, job.account) for key, job in jobs.items() if job.batch is None and key not in found]
    if new:
        connection.execute(sql.MAKE_TENANTS, {"flows": as_list(new)})
        connection.execute(sql.MAKE_FLOWS, {"flows": as_list(new)})
        found |= flows_of(connection, [key for key, _ in new])
    return {key: flow for key, flow in found.items() if not has_ended(flow.batch_state)}


def has_ended(batch_state: str | None) -> bool:
    """Whether it is the state of a batch in which nothing more happens; None is that of single jobs."""
    return batch_state in ("completed", "cancelled")


def parked(rank: int) -> int:
    """The rank while the flow is paused."""
    return rank if is_parked(rank) else rank + PARKED


class Line:
    """Hands out the next ranks of flows, in the order in which they are asked for."""

    def __init__(self, flows: Iterable[Flow]) -> None:
        self._flows = {flow.key: (flow, flow.turns) for flow in flows}
        self._given = dict.fromkeys(self._flows, 0)

    def next_turn(self, key: str, priority: Priority) -> tuple[int, int]:
        """The rank of the flow's next job; and its position, should it be new."""
        flow, turns = self._flows[key]
        index = self._given[key]
        self._given[key] = index + 1
        rank = rank_of(turns.tag(index), priority)
        return parked(rank) if flow.blocked == Blocked.PAUSED else rank, flow.submitted + index

    def advance(self, connection: sqlite3.Connection, *, are_new: bool = True) -> None:
        """Write how far the flows have come; where the jobs are new, count them."""
        rows = [
            (flow.id, turns.after(self._given[key]), self._given[key] if are_new else 0)
            for key, (flow, turns) in self._flows.items()
            if self._given[key]
        ]
        connection.execute(sql.ADVANCE_FLOWS, {"flows": as_list(rows)})
