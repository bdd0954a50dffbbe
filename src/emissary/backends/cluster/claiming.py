"""Leases lanes and hands out their items, in the transaction of a claim."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from emissary.backends.cluster import statements as sql
from emissary.backends.cluster.database import Connection, Record
from emissary.backends.cluster.flows import FlowBook
from emissary.model.fairness import tag_of, window_from
from emissary.model.ids import JobId, ulid_text
from emissary.model.jobs import Kind
from emissary.model.lanes import Claim, Claimed, Grip, Item, LaneKey, Lease, Taken, Wish
from emissary.model.moments import from_ms, to_ms

__all__ = ["claim", "take"]

_ALL_BANDS = (0, 1, 2, 3)
_URGENT_BANDS = (0, 1)
_NOTHING_TAKEN = -(1 << 62)


@dataclass(frozen=True, slots=True)
class _Front:
    """The first ready lane that is not in these hands: what competes with the further items of those that are."""

    rank: int
    flow: int


async def claim(connection: Connection, asked: Claim, now: datetime, book: FlowBook) -> Claimed:
    """Lease what is ready, and hand out the first items of each lane."""
    await connection.execute(sql.WAKE, to_ms(now))
    most = await _room(connection, asked)
    picked = await _pick(connection, most, urgent=asked.urgent) if most > 0 else []
    wanted = {row["id"]: asked.items for row in picked}
    has_others = len(picked) == most or asked.urgent
    front = await _front(connection, list(wanted)) if has_others else None
    items = await _next_items(connection, wanted, now, front=front, book=book, first_is_free=True)
    leases = await _hold(connection, wanted, items, asked, now=now)
    idle = [lane for lane in wanted if asked.items and lane not in items]
    if idle:  # what stood there has been paused, cancelled or put off since the lane was placed
        await connection.execute(sql.PLACE, sorted(idle), to_ms(now))
    if len(leases) == asked.lanes:
        return Claimed(leases, None)
    soon = await connection.fetchval(sql.NEXT_READY_AT)
    return Claimed(leases, None if soon is None else from_ms(soon))


async def take(connection: Connection, wishes: Sequence[Wish], now: datetime, book: FlowBook) -> Taken:
    """Hand out further items of lanes that are held."""
    keys, fences = [wish.grip.lane for wish in wishes], [wish.grip.fence for wish in wishes]
    held = {row["key"]: row["id"] for row in await connection.fetch(sql.STILL_HELD, keys, fences)}
    lost = frozenset(wish.grip.lane for wish in wishes if wish.grip.lane not in held)
    front = await _front(connection, [])
    granted = {held[wish.grip.lane]: wish for wish in wishes if wish.grip.lane in held}
    wanted = {lane: wish.items + len(wish.in_hand) for lane, wish in granted.items()}
    found = await _next_items(connection, wanted, now, front=front, book=book, first_is_free=False)
    taken: dict[LaneKey, tuple[Item, ...]] = {}
    for lane, items in found.items():
        wish = granted[lane]
        fresh = tuple(item for item in items if item.job not in wish.in_hand)[: wish.items]
        if fresh:
            taken[wish.grip.lane] = fresh
    if taken:
        reached = {held[key]: items[-1].rank for key, items in taken.items()}
        await connection.execute(sql.NOTE_TAKEN, list(reached), list(reached.values()), to_ms(now))
        await _move_clock(connection, [item.rank for items in taken.values() for item in items])
    return Taken(taken, lost)


async def _room(connection: Connection, asked: Claim) -> int:
    if asked.most_held is None:
        return asked.lanes
    held: int = await connection.fetchval(sql.HELD_LANES)
    return min(asked.lanes, asked.most_held - held)


async def _pick(connection: Connection, most: int, *, urgent: bool) -> list[Record]:
    return await connection.fetch(sql.PICK_READY, most, _URGENT_BANDS if urgent else _ALL_BANDS)


async def _front(connection: Connection, ours: list[int]) -> _Front | None:
    first = await connection.fetchrow(sql.FRONT, ours)
    return None if first is None else _Front(first["rank"], first["flow"])


async def _next_items(
    connection: Connection,
    wanted: dict[int, int],
    now: datetime,
    *,
    front: _Front | None,
    book: FlowBook,
    first_is_free: bool,
) -> dict[int, list[Item]]:
    most = sum(wanted.values())
    if not most:
        return {}
    limit, flow = (None, None) if front is None else (window_from(front.rank), front.flow)
    asked = (list(wanted), list(wanted.values()), to_ms(now))
    rows = await connection.fetch(sql.NEXT_ITEMS, *asked, limit, flow, first_is_free)
    owners = await book.owners(connection, {row["flow"] for row in rows})
    items: defaultdict[int, list[Item]] = defaultdict(list)
    for lane, rank, job, flow_id, kind, order, failures, deaths, created_at, trail in rows:
        owner = owners[flow_id]
        items[lane].append(
            Item(
                JobId("job_" + ulid_text(job)),
                owner.account,
                Kind(kind),
                rank,
                order,
                failures,
                from_ms(created_at),
                trail,
                owner.batch,
                deaths,
            )
        )
    return items


async def _hold(
    connection: Connection, wanted: dict[int, int], items: dict[int, list[Item]], asked: Claim, *, now: datetime
) -> tuple[Lease, ...]:
    lanes = [lane for lane in wanted if lane in items or not asked.items]
    if not lanes:
        return ()
    reached = [items[lane][-1].rank if lane in items else _NOTHING_TAKEN for lane in lanes]
    rows = await connection.fetch(sql.HOLD, lanes, reached, to_ms(asked.until), asked.worker, to_ms(now))
    await _move_clock(connection, [rank for rank in reached if rank != _NOTHING_TAKEN])
    rows.sort(key=lambda row: (row["rank"], row["id"]))
    return tuple(
        Lease(
            Grip(LaneKey(key), fence),
            tuple(items.get(identity, ())),
            None if gap_ms is None else timedelta(milliseconds=gap_ms),
            stretch,
            strikes,
        )
        for identity, key, fence, gap_ms, stretch, strikes, _ in rows
    )


async def _move_clock(connection: Connection, ranks: list[int]) -> None:
    if ranks:
        await connection.execute(sql.MOVE_CLOCK, max(tag_of(rank) for rank in ranks))
