"""Puts jobs into their lanes, in the transaction of whoever submits or settles."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from emissary.backends.cluster import statements as sql
from emissary.backends.cluster.allowances import QueueRoom
from emissary.backends.cluster.database import Connection
from emissary.backends.cluster.flows import FlowBook, flow_key
from emissary.backends.cluster.whereabouts import Place
from emissary.model.fairness import ONE, Turns, rank_of
from emissary.model.ids import JobId, ulid_of
from emissary.model.jobs import NewJob
from emissary.model.moments import to_ms
from emissary.model.webhooks import Notice

__all__ = [
    "LaneRow",
    "LinedUp",
    "Standing",
    "line_up",
    "lock_ids",
    "lock_lanes",
    "lower",
    "place",
    "put_in_line",
    "raw",
    "submit",
]

K = TypeVar("K")

_READY = 1
_NO_BATCH = -1


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A lane as it was when it was locked."""

    id: int
    fence: int
    held: bool
    state: int
    rank: int
    place: Place
    low_rank: int  # nothing that stands in it has a lower one

    def stands_before(self, rank: int) -> bool:
        """Whether the lane is found in line no later than an item of this rank asks for."""
        return self.state == _READY and self.rank <= rank


def raw(job: JobId) -> bytes:
    """The id as it is kept."""
    found = ulid_of(job)
    if found is None:
        raise ValueError(f"{job} is not the name of a job")
    return found


async def lock_lanes(
    connection: Connection, keys: Iterable[str], *, new: Iterable[str] = (), places: Mapping[str, Place] | None = None
) -> dict[str, LaneRow]:
    """Lock the lanes, in the one order in which everybody does; `new` ones are made where they are missing.

    Where all are said to be known by their `places`, they are looked for there first.
    """
    to_make = sorted(set(new))
    rows = await connection.fetch(sql.MAKE_LANES, to_make) if to_make else []
    wanted = {*keys, *to_make} - {row["key"] for row in rows}  # nobody else knows of what we have made
    if places and wanted <= places.keys():  # some by place and some by key would be locked in two orders
        found = await connection.fetch(sql.LOCK_LANES_AT, list(places), list(places.values()))
        wanted -= {row["key"] for row in found}
        rows += found
    if wanted:
        rows += await connection.fetch(sql.LOCK_LANES, list(wanted))
    locked = {key: LaneRow(*rest) for key, *rest in rows}
    # One that was empty for weeks may have been dropped in between; made anew, it comes last in the order.
    gone = [key for key in to_make if key not in locked]
    return locked | await lock_lanes(connection, (), new=gone) if gone else locked


async def lock_ids(connection: Connection, lanes: Collection[int]) -> dict[int, LaneRow]:
    """Lock lanes by their numbers."""
    rows = await connection.fetch(sql.LOCK_LANES_BY_ID, sorted(lanes))
    return {row["id"]: LaneRow(*row) for row in rows}


@dataclass(frozen=True, slots=True)
class _FlowTurns:
    """A flow, the place in it of the next job, and the turns that were given out to what comes now."""

    id: int
    position: int
    turns: Turns
    most_queued: int | None  # of its account, where it has a limit of its own


@dataclass(frozen=True, slots=True)
class LinedUp:
    """The jobs that were accepted, and the lanes that are to be placed since something has come into them."""

    jobs: list[NewJob]
    lanes: list[LaneRow]


async def submit(
    connection: Connection, jobs: Sequence[NewJob], now: datetime, book: FlowBook, *, room: QueueRoom | None = None
) -> frozenset[JobId]:
    """Write the jobs and their items; returns those that were accepted. Without `room`, there is room for all."""
    await book.make(connection, jobs)
    lanes = await lock_lanes(connection, (), new=[job.lane for job in jobs])
    lined_up = await line_up(connection, jobs, lanes, now, room=room)
    await place(connection, lined_up.lanes, now)
    return frozenset(job.id for job in lined_up.jobs)


async def line_up(
    connection: Connection,
    jobs: Sequence[NewJob],
    lanes: dict[str, LaneRow],
    now: datetime,
    *,
    room: QueueRoom | None = None,
) -> LinedUp:
    """Write the jobs and their items. Their lanes are still to be placed.

    Whoever submits brings `room`. What follows from a settlement does not: it has room, and the batch that its own job
    has just ended goes on with it.
    """
    shares = await _shares(connection, jobs, follow=room is None)
    wanted = [job for job in jobs if job.batch is None or job.batch in shares]
    wanted = await _unseen(connection, wanted)
    turns = await _turns(connection, wanted, shares)
    accepted = [job for job in wanted if flow_key(job) in turns]
    if not accepted:
        return LinedUp([], [])
    if room is not None and any(room.is_limited(flow.most_queued) for flow in turns.values()):
        await room.check(connection, accepted)
    places = _Places(accepted, turns, now)
    await _accept(connection, places, lanes, now)
    fronts = await put_in_line(connection, lanes, places.standing)
    await _log(connection, [(raw(job.id), job.notice) for job in accepted if job.notice is not None], now)
    return LinedUp(accepted, [lanes[key] for key, front in fronts.items() if not lanes[key].stands_before(front)])


@dataclass(frozen=True, slots=True)
class Standing(Generic[K]):
    """The columns of items: in which lanes, of which flows, at which ranks, not before when, and of which jobs."""

    lanes: Sequence[K]
    flows: Sequence[int]
    ranks: Sequence[int]
    not_before: Sequence[int]
    jobs: Sequence[bytes]


async def put_in_line(connection: Connection, lanes: dict[K, LaneRow], items: Standing[K]) -> dict[K, int]:
    """Put items into lanes, which are locked; returns the least rank that came into each."""
    where = [lanes[key].id for key in items.lanes]
    await connection.execute(sql.LINE_UP, where, items.flows, items.ranks, items.not_before, items.jobs)
    return await lower(connection, lanes, zip(items.lanes, items.ranks, strict=True))


async def lower(connection: Connection, lanes: dict[K, LaneRow], came: Iterable[tuple[K, int]]) -> dict[K, int]:
    """Items of these ranks came into the lanes: from now on, whoever looks for what stands there finds them.

    Where one came below all others, the lane's row has moved, and `lanes` say where to. Returns the least of each lane.
    """
    fronts: dict[K, int] = {}
    for key, rank in came:
        fronts[key] = min(rank, fronts.get(key, rank))
    below = {lanes[key].id: key for key, rank in fronts.items() if rank < lanes[key].low_rank}
    if below:
        ranks = [fronts[key] for key in below.values()]
        rows = await connection.fetch(sql.LOWER, list(below), ranks, [lanes[key].place for key in below.values()])
        moved = {row["id"]: row["ctid"] for row in rows}
        for number, key in below.items():
            lanes[key] = replace(lanes[key], low_rank=fronts[key], place=moved[number])
    return fronts


async def place(connection: Connection, lanes: Iterable[LaneRow], now: datetime) -> None:
    """Place lanes that nobody holds, by what stands in them now. They have not been changed since they were locked."""
    idle = {lane.id: lane for lane in lanes if not lane.held}
    if idle:
        where = ([lane.place for lane in idle.values()], [lane.low_rank for lane in idle.values()])
        await connection.execute(sql.PLACE, list(idle), to_ms(now), *where)


async def _shares(connection: Connection, jobs: Sequence[NewJob], *, follow: bool) -> dict[str, int]:
    """Among how many batches an account divides its part; batches that have ended are not among them."""
    batches = {job.batch for job in jobs if job.batch is not None}
    if not batches:
        return {}
    rows = await connection.fetch(sql.BATCHES_OF_FLOWS, list(batches))
    shares = {name: mine if others else 1 for name, state, mine, others, _ in rows if state in ("running", "paused")}
    sealed = [row["id"] for row in rows if row["sealed"] and row["id"] in shares]
    for name in [] if follow else await _ended(connection, sealed):
        del shares[name]
    return shares


async def _ended(connection: Connection, sealed: list[str]) -> list[str]:
    """Those of the sealed batches in which all has ended, noted or not; none of the others ends until we commit."""
    if not sealed:
        return []
    await connection.execute(sql.HOLD_OFF_ENDS, sealed)
    return [row["id"] for row in await connection.fetch(sql.ENDED_BATCHES, sealed)]


async def _unseen(connection: Connection, jobs: list[NewJob]) -> list[NewJob]:
    marked = [job for job in jobs if job.mark is not None]
    if not marked:
        return jobs
    keys = [flow_key(job) for job in marked]
    rows = await connection.fetch(sql.MARK, keys, [job.mark for job in marked])
    fresh = {(key, mark) for key, mark in rows}
    kept = []
    for job in jobs:
        place_in_batch = (flow_key(job), job.mark)
        if job.mark is None or place_in_batch in fresh:
            fresh.discard(place_in_batch)  # of two alike in one call, the first is the one
            kept.append(job)
    return kept


async def _turns(connection: Connection, jobs: list[NewJob], shares: dict[str, int]) -> dict[str, _FlowTurns]:
    counts: dict[str, int] = {}
    for job in jobs:
        key = flow_key(job)
        counts[key] = counts.get(key, 0) + 1
    if not counts:
        return {}
    sharing = [shares.get(key, 1) for key in counts]
    rows = await connection.fetch(sql.ADVANCE_FLOWS, list(counts), list(counts.values()), ONE, sharing)
    return {
        key: _FlowTurns(flow, position, Turns(first, step), most_queued)
        for key, flow, first, step, position, most_queued in rows
    }


class _Places:
    """The columns of jobs and items, in the order of the jobs."""

    def __init__(self, jobs: list[NewJob], turns: dict[str, _FlowTurns], now: datetime) -> None:
        given: dict[str, int] = {}
        self.flows: list[int] = []
        self.ranks: list[int] = []
        self.positions: list[int] = []
        for job in jobs:
            key = flow_key(job)
            flow = turns[key]
            index = given.get(key, 0)
            given[key] = index + 1
            self.flows.append(flow.id)
            self.ranks.append(rank_of(flow.turns.tag(index), job.priority))
            self.positions.append(_NO_BATCH if job.batch is None else flow.position + index)
        at_once = to_ms(now)
        self.ids = [raw(job.id) for job in jobs]
        self.lanes = [job.lane for job in jobs]
        self.kinds = [job.kind for job in jobs]
        self.orders = [job.order for job in jobs]
        self.not_before = [at_once if job.not_before is None else to_ms(job.not_before) for job in jobs]

    @property
    def standing(self) -> Standing[str]:
        return Standing(self.lanes, self.flows, self.ranks, self.not_before, self.ids)


async def _accept(connection: Connection, new: _Places, lanes: dict[str, LaneRow], now: datetime) -> None:
    where = [lanes[key].id for key in new.lanes]
    await connection.execute(
        sql.ACCEPT_JOBS, new.ids, new.ranks, where, new.flows, new.positions, new.kinds, new.orders, to_ms(now)
    )


async def _log(connection: Connection, told: list[tuple[bytes, Notice]], now: datetime) -> None:
    """Of jobs that deliver events, the log says what they tell whom."""
    if told:
        notices = [notice for _, notice in told]
        columns = [[getattr(notice, name) for notice in notices] for name in ("webhook", "event", "type", "line")]
        await connection.execute(sql.LOG_DELIVERIES, [job for job, _ in told], *columns, to_ms(now))
