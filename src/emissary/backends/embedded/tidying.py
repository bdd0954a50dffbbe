"""What a change of a batch's state means for its jobs, some of them at a time, in a transaction each."""

import sqlite3
from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from emissary.backends.embedded import batch_statements as sql
from emissary.backends.embedded.ending import End, Place, count, count_outcomes, end
from emissary.backends.embedded.flows import Blocked, Flow, Line, flows_of, parked
from emissary.backends.embedded.lining_up import ItemRow, place
from emissary.backends.embedded.lists import as_list, one, reader
from emissary.backends.embedded.statements import LINE_UP
from emissary.model.batches import BatchState
from emissary.model.fairness import is_parked
from emissary.model.ids import BatchId
from emissary.model.jobs import JobState, Priority
from emissary.model.moments import from_ms, to_ms

__all__ = ["put_back", "tidy_some"]

_REPEATABLE = frozenset({JobState.FAILED, JobState.REFUSED, JobState.CANCELLED})


class _Untidy(NamedTuple):
    id: BatchId
    flow: int
    state: str
    priority: str
    finished_at: int | None
    position: int


class _JobRow(NamedTuple):
    number: int
    lane: int
    rank: int
    position: int
    is_open: int
    in_hand: int | None


class _Ended(NamedTuple):
    number: int
    lane: int
    state: str
    code: str | None


_read_jobs = reader(_JobRow)
_read_ended = reader(_Ended)
_read_numbers = reader(int)


def tidy_some(connection: sqlite3.Connection, now: datetime, most: int) -> int:
    """Look at up to `most` jobs of the first batch that is untidy; how many it were, and 0 if there is none."""
    while (row := connection.execute(sql.UNTIDY).fetchone()) is not None:
        batch = _Untidy(*row)
        asked = {"flow": batch.flow, "after": batch.position, "most": most}
        jobs = _read_jobs(one(connection, sql.NEXT_JOBS, asked))
        _tidy(connection, batch, [job for job in jobs if job.is_open], now)
        position = jobs[-1].position if len(jobs) == most else None
        connection.execute(sql.TIDIED_UP_TO, {"batch": batch.id, "position": position})
        if jobs:
            return len(jobs)
    return 0


def _tidy(connection: sqlite3.Connection, batch: _Untidy, jobs: list[_JobRow], now: datetime) -> None:
    if not jobs:
        return
    match BatchState(batch.state):
        case BatchState.CANCELLED:
            places = [Place(job.number, job.lane, job.rank, batch.flow, 1, Blocked.CANCELLED) for job in jobs]
            ended_at = now if batch.finished_at is None else from_ms(batch.finished_at)
            end(connection, [End(stood, JobState.CANCELLED) for stood in places], ended_at)
            _place_those_of(connection, batch, jobs, now)
        case BatchState.PAUSED:
            loose = [job for job in jobs if not job.in_hand and not is_parked(job.rank)]
            _rerank(connection, [(job, parked(job.rank)) for job in loose])
            _place_those_of(connection, batch, jobs, now)
        case _:
            _bring_back(connection, batch, jobs, now)


def _place_those_of(connection: sqlite3.Connection, batch: _Untidy, jobs: list[_JobRow], now: datetime) -> None:
    """Lanes in which something else comes first stay where they are."""
    lanes = as_list(list({job.lane for job in jobs}))
    place(connection, _read_numbers(one(connection, sql.STANDING_WITH, {"lanes": lanes, "flow": batch.flow})), now)


def _bring_back(connection: sqlite3.Connection, batch: _Untidy, jobs: list[_JobRow], now: datetime) -> None:
    """The flow has been away: its jobs get new turns, from the clock on."""
    line = Line(flows_of(connection, [batch.id]).values())
    priority = Priority(batch.priority)
    _rerank(connection, [(job, line.next_turn(batch.id, priority)[0]) for job in jobs if not job.in_hand])
    line.advance(connection, are_new=False)
    place(connection, {job.lane for job in jobs}, now)


def _rerank(connection: sqlite3.Connection, ranks: list[tuple[_JobRow, int]]) -> None:
    items = {"items": as_list([(job.lane, job.rank, job.number, rank) for job, rank in ranks])}
    connection.execute(sql.RERANK_ITEMS, items)
    connection.execute(sql.RERANK_JOBS, items)


def put_back(
    connection: sqlite3.Connection, batch: BatchId, states: Collection[JobState], now: datetime, *, most: int
) -> int:
    """Jobs of a batch that ended so go back into line, behind whatever of it stands there."""
    if not _REPEATABLE.issuperset(states):
        raise ValueError("only jobs that failed, were refused or were cancelled can be done again")
    (flow,) = flows_of(connection, [batch]).values()
    statement = sql.ENDED_BADLY if JobState.CANCELLED not in states else sql.ENDED_SO
    asked = {"flow": flow.id, "states": as_list(list(states)), "most": most}
    ended = _read_ended(one(connection, statement, asked))
    if not ended:
        return 0
    if flow.batch_state == BatchState.COMPLETED:  # it may have been paused before the last of it ended
        connection.execute(sql.BLOCK, {"flow": flow.id, "blocked": Blocked.NOT})
        flow = flow._replace(blocked=Blocked.NOT)
    connection.execute(sql.REOPEN, {"batch": batch})
    _make_new(connection, flow, ended, now)
    tally = Counter[str]()
    tally.subtract(job.state for job in ended)
    count(connection, {flow.id: tally}, now)
    codes = Counter((flow.id, job.code) for job in ended)
    count_outcomes(connection, {code: -number for code, number in codes.items()})
    return len(ended)


def _make_new(connection: sqlite3.Connection, flow: Flow, jobs: list[_Ended], now: datetime) -> None:
    line, priority = Line([flow]), Priority(one(connection, sql.PRIORITY, {"batch": flow.key}))
    items = [ItemRow(job.lane, line.next_turn(flow.key, priority)[0], job.number, flow.id, to_ms(now)) for job in jobs]
    connection.execute(sql.FORGET_RESULTS, {"jobs": as_list([item.job for item in items])})
    connection.execute(sql.MAKE_NEW, {"jobs": as_list([(item.job, item.rank) for item in items])})
    connection.execute(LINE_UP, {"items": as_list(items)})
    line.advance(connection, are_new=False)
    place(connection, {item.lane for item in items}, now)
