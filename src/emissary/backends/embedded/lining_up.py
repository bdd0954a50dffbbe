"""Puts jobs into their lanes, in the transaction of whoever submits or settles."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from emissary.backends.embedded import statements as sql
from emissary.backends.embedded.allowances import QueueRoom
from emissary.backends.embedded.flows import Flow, Line, flow_key, open_flows
from emissary.backends.embedded.lists import as_list, one, reader
from emissary.model.fairness import PARKED
from emissary.model.ids import JobId
from emissary.model.jobs import NewJob
from emissary.model.moments import to_ms

__all__ = ["ItemRow", "LaneRow", "lanes_of", "line_up", "place", "submit"]

_MARK_BYTES = 16


class LaneRow(NamedTuple):
    """A lane as it is found."""

    key: str
    id: int
    is_ready: int | None
    rank: int


class ItemRow(NamedTuple):
    """A place in line."""

    lane: int
    rank: int
    job: int
    flow: int
    not_before: int


_read_lanes = reader(LaneRow)
_read_numbers = reader(int)


def submit(
    connection: sqlite3.Connection, jobs: Sequence[NewJob], now: datetime, *, room: QueueRoom | None = None
) -> frozenset[JobId]:
    """Write the jobs and their items; returns those that were accepted. Without `room`, there is room for all."""
    keys = [flow_key(job) for job in jobs]
    flows = open_flows(connection, dict(zip(keys, jobs, strict=True)))
    accepted = [(flows[key], job) for key, job in zip(keys, jobs, strict=True) if key in flows]
    accepted = _unseen(connection, accepted)
    if not accepted:
        return frozenset()
    if room is not None:
        room.check(connection, accepted)
    line, lanes = Line(flows.values()), lanes_of(connection, dict.fromkeys(job.lane for _, job in accepted))
    last, at_once = one(connection, sql.LAST_JOB), to_ms(now)
    written, items = [], []
    for number, (flow, job) in enumerate(accepted, last + 1):
        (rank, position), lane = line.next_turn(flow.key, job.priority), lanes[job.lane].id
        place_in_batch = -1 if job.batch is None else position
        written.append((number, job.id, lane, rank, flow.id, place_in_batch, job.kind, msgspec.Raw(job.order)))
        due = at_once if job.not_before is None else to_ms(job.not_before)
        items.append(ItemRow(lane, rank, number, flow.id, due))
    connection.execute(sql.ACCEPT_JOBS, {"jobs": as_list(written), "now": at_once})
    notices = [(job.id, *msgspec.structs.astuple(job.notice)) for _, job in accepted if job.notice is not None]
    if notices:
        connection.execute(sql.LOG_DELIVERIES, {"notices": as_list(notices), "now": at_once})
    line.advance(connection)
    line_up(connection, items, lanes.values(), now)
    return frozenset(job.id for _, job in accepted)


def lanes_of(connection: sqlite3.Connection, keys: Collection[str]) -> dict[str, LaneRow]:
    """The lanes of these keys, made where they are missing."""
    values = {"keys": as_list(list(keys))}
    found = _read_lanes(one(connection, sql.LANES_BY_KEY, values))
    if len(found) < len(keys):
        connection.execute(sql.MAKE_LANES, values)
        found = _read_lanes(one(connection, sql.LANES_BY_KEY, values))
    return {lane.key: lane for lane in found}


def line_up(connection: sqlite3.Connection, items: Sequence[ItemRow], lanes: Iterable[LaneRow], now: datetime) -> None:
    """Put items at their places; `lanes` are those in which the places are, as they were before."""
    connection.execute(sql.LINE_UP, {"items": as_list(items)})
    first: dict[int, int] = {}
    for item in items:
        first[item.lane] = min(item.rank, first.get(item.lane, item.rank))
    # Behind the front of a lane that is ready, nothing changes where that lane stands.
    place(connection, [lane.id for lane in lanes if not lane.is_ready or first[lane.id] < lane.rank], now)


def place(connection: sqlite3.Connection, lanes: Collection[int], now: datetime) -> None:
    """Lanes that nobody holds take the state that follows from what stands in them."""
    if lanes:
        connection.execute(sql.PLACE, {"lanes": as_list(list(lanes)), "now": to_ms(now), "parked": PARKED // 2})


def _unseen(connection: sqlite3.Connection, jobs: list[tuple[Flow, NewJob]]) -> list[tuple[Flow, NewJob]]:
    """Without the jobs whose mark their batch has seen, before or earlier in this very call."""
    first: dict[tuple[int, bytes], int] = {}
    repeated = set()
    for index, (flow, job) in enumerate(jobs):
        if job.batch is None or job.mark is None:
            continue
        if len(job.mark) != _MARK_BYTES:
            raise ValueError(f"a mark takes {_MARK_BYTES} bytes, and that of {job.id} has {len(job.mark)}")
        if first.setdefault((flow.id, job.mark), index) != index:
            repeated.add(index)
    if not first:
        return jobs
    marks = b"".join(mark for _, mark in first)
    places = [(place, flow) for place, (flow, _) in enumerate(first)]
    seen = set(_read_numbers(one(connection, sql.SEEN_MARKS, {"places": as_list(places), "marks": marks})))
    fresh = [each for each in places if each[0] not in seen]
    connection.execute(sql.MAKE_MARKS, {"places": as_list(fresh), "marks": marks})
    repeated.update(index for place, index in enumerate(first.values()) if place in seen)
    return [each for index, each in enumerate(jobs) if index not in repeated]
