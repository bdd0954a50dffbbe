"""Ends jobs: out of the line, into the ledger with their results, and counted, all in the caller's transaction."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from emissary.backends.embedded import settling_statements as sql
from emissary.backends.embedded.lists import as_list, one, reader
from emissary.model.batches import MISS_KEPT
from emissary.model.ids import JobId
from emissary.model.jobs import JobState, StoredResult
from emissary.model.moments import to_ms
from emissary.model.webhooks import EventType

__all__ = ["End", "Place", "complete", "count", "count_outcomes", "end", "happen", "places_of"]

_ROWS_AT_ONCE = 64
_COLUMNS = ("completed", "refused", "failed", "cancelled", "cached", "credits")


class Place(NamedTuple):
    """Where a job stands that has not ended."""

    number: int
    lane: int
    rank: int
    flow: int
    in_batch: int
    blocked: int
    id: JobId = JobId("")  # where it was asked for, and what it is
    kind: str = ""
    tenant: int = 0


class End(NamedTuple):
    """How a job ends that stood there. Without `failures`, they stay as they were."""

    stood: Place
    state: JobState
    result: StoredResult | None = None
    started_at: int | None = None
    failures: int | None = None
    credits: int = 0
    cached: bool = False
    miss: bytes | None = None


_read_places = reader(Place)


def places_of(connection: sqlite3.Connection, jobs: Collection[JobId]) -> dict[JobId, Place]:
    """Where those of the jobs stand that have not ended, alone or with their batch."""
    rows = _read_places(one(connection, sql.JOBS_IN_LINE, {"jobs": as_list(list(jobs))}))
    return {row.id: row for row in rows}


def end(connection: sqlite3.Connection, ends: Sequence[End], now: datetime) -> None:
    """Jobs leave the line with what became of them; their lanes are still to be placed."""
    if not ends:
        return
    items = [(each.stood.lane, each.stood.rank, each.stood.number) for each in ends]
    connection.execute(sql.REMOVE_ITEMS, {"items": as_list(items)})
    rows = [(each.stood.number, each.state, each.started_at, each.failures, _outcome(each)) for each in ends]
    connection.execute(sql.END_JOBS, {"jobs": as_list(rows), "now": to_ms(now)})
    _keep_results(connection, ends)
    batched = ((each.stood.flow, each.result.code) for each in ends if each.stood.in_batch and each.result is not None)
    count_outcomes(connection, Counter(batched))
    _keep_misses(connection, [each for each in ends if each.miss is not None], now)
    count(connection, _tallies(ends), now)


def count(connection: sqlite3.Connection, tallies: Mapping[int, Counter[str]], now: datetime) -> None:
    """Add to the counts of flows; a batch of which everything has ended by now is completed."""
    rows = [(flow, *(tally[column] for column in _COLUMNS)) for flow, tally in tallies.items()]
    connection.execute(sql.TALLY, {"tallies": as_list(rows), "now": to_ms(now)})
    complete(connection, list(tallies))


def count_outcomes(connection: sqlite3.Connection, outcomes: Mapping[tuple[int, str | None], int]) -> None:
    """Add to what jobs of batches came to, by flow and code."""
    rows = [(flow, code, number) for (flow, code), number in outcomes.items() if code is not None]
    if rows:
        connection.execute(sql.COUNT_OUTCOMES, {"outcomes": as_list(rows)})


def complete(connection: sqlite3.Connection, flows: list[int]) -> None:
    """Those of the flows that are sealed batches, and of which everything has ended, are completed."""
    ended = connection.execute(sql.COMPLETE, {"flows": as_list(flows)}).fetchall()
    if ended:
        happen(connection, EventType.BATCH_COMPLETED, ended)


def happen(connection: sqlite3.Connection, event: EventType, what: Iterable[tuple[str, str, int]]) -> None:
    """Note what has come about (its subject, whose it is, when): somebody may want to be told."""
    connection.executemany(sql.HAPPEN, [(event.value, *each) for each in what])


def _outcome(each: End) -> msgspec.Raw | None:
    return None if each.result is None else msgspec.Raw(each.result.outcome)


def _keep_results(connection: sqlite3.Connection, ends: Sequence[End]) -> None:
    kept = [
        (each.stood.number, each.stood.flow if each.stood.in_batch else None, each.result.body, each.result.blob)
        for each in ends
        if each.result is not None
    ]
    for start in range(0, len(kept), _ROWS_AT_ONCE):
        rows = kept[start : start + _ROWS_AT_ONCE]
        statement = sql.KEEP_RESULT.format(rows=", ".join(["(?, ?, ?, ?)"] * len(rows)))
        connection.execute(statement, [value for row in rows for value in row])


def _keep_misses(connection: sqlite3.Connection, ends: Sequence[End], now: datetime) -> None:
    if ends:
        rows = [(place, each.stood.flow, (each.result and each.result.code) or "") for place, each in enumerate(ends)]
        marks = b"".join(each.miss or b"" for each in ends)
        values = {"misses": as_list(rows), "marks": marks, "until": to_ms(now + MISS_KEPT)}
        connection.execute(sql.KEEP_MISSES, values)


def _tallies(ends: Sequence[End]) -> dict[int, Counter[str]]:
    tallies: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for each in ends:
        tally = tallies[each.stood.flow]
        tally[each.state.value] += 1
        tally["cached"] += each.cached
        tally["credits"] += each.credits
    return tallies
