"""Leases lanes and hands out their items, in the transaction of a claim."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from emissary.backends.bands import bands_of, competing_bands, is_of_batch, most_on_top
from emissary.backends.cluster import line_statements as line
from emissary.backends.cluster import statements as sql
from emissary.backends.cluster.database import Connection, Record
from emissary.backends.cluster.flows import FlowBook
from emissary.backends.cluster.lookout import Columns, Lookout, Sight, wake
from emissary.backends.cluster.settling import give_back
from emissary.backends.cluster.whereabouts import Whereabouts
from emissary.model.fairness import Service, window_from
from emissary.model.ids import JobId, ulid_text
from emissary.model.jobs import Kind
from emissary.model.lanes import Claim, Claimed, Grip, Item, LaneKey, Lease, Taken, Wish
from emissary.model.moments import from_ms, to_ms

__all__ = ["claim", "take"]

_NOTHING_TAKEN = -(1 << 62)


@dataclass(frozen=True, slots=True)
class _Front:
    """The first ready lane that is not in these hands: what competes with the further items of those that are."""

    rank: int
    flow: int


@dataclass(frozen=True, slots=True)
class _Part:
    """How many items of a lane are wanted, and the rank below which nothing stands in it."""

    most: int
    low_rank: int


async def claim(connection: Connection, asked: Claim, now: datetime, book: FlowBook, *, lookout: Lookout) -> Claimed:
    """Lease what is ready, and hand out the first items of each lane."""
    if asked.holding is not None:
        keys, fences = [grip.lane for grip in asked.holding.grips], [grip.fence for grip in asked.holding.grips]
        unheard_of = await connection.fetch(sql.NOT_IN_HAND, asked.worker, keys, fences)
        await give_back(connection, unheard_of, now, asked.holding.gap)
    sight, _ = await wake(connection, await lookout.look(connection), to_ms(now))
    most = await _room(connection, asked)
    picked = await _pick(connection, most, asked, sight) if most > 0 else []
    wanted = {row["id"]: _Part(asked.items, row["low_rank"]) for row in picked}
    has_others = len(picked) >= min(asked.lanes, most)
    front = await _front(connection, list(wanted), sight.columns(bands_of(asked.things))) if has_others else None
    items = await _next_items(connection, wanted, now, front=front, book=book, first_is_free=True)
    leases = await _hold(connection, picked, items, asked, now=now, whereabouts=lookout.whereabouts)
    idle = [row for row in picked if asked.items and row["id"] not in items]
    if idle:  # what stood there has been paused, cancelled or put off since the lane was placed
        ids, places, low_ranks = ([row[name] for row in idle] for name in ("id", "place", "low_rank"))
        await connection.execute(sql.PLACE, ids, to_ms(now), places, low_ranks)
    if len(leases) >= asked.lanes > 0:
        return Claimed(leases, None)
    soon = await connection.fetchval(line.NEXT_READY_AT, sight.wakes_at)
    return Claimed(leases, None if soon is None else from_ms(soon))


async def take(
    connection: Connection, wishes: Sequence[Wish], now: datetime, book: FlowBook, *, lookout: Lookout
) -> Taken:
    """Hand out further items of lanes that are held."""
    keys, fences = [wish.grip.lane for wish in wishes], [wish.grip.fence for wish in wishes]
    rows = await connection.fetch(sql.STILL_HELD, keys, fences)
    held, low_ranks = {row["key"]: row["id"] for row in rows}, {row["id"]: row["low_rank"] for row in rows}
    lost = frozenset(wish.grip.lane for wish in wishes if wish.grip.lane not in held)
    sight = await lookout.look(connection)
    front = await _front(connection, [], sight.columns(competing_bands(wishes)))
    granted = {held[wish.grip.lane]: wish for wish in wishes if wish.grip.lane in held}
    wanted = {lane: _Part(wish.items + len(wish.in_hand), low_ranks[lane]) for lane, wish in granted.items()}
    found = await _next_items(connection, wanted, now, front=front, book=book, first_is_free=False)
    taken: dict[LaneKey, tuple[Item, ...]] = {}
    for lane, items in found.items():
        wish = granted[lane]
        fresh = tuple(item for item in items if item.job not in wish.in_hand)[: wish.items]
        if fresh:
            taken[wish.grip.lane] = fresh
    if taken:
        reached = {held[key]: items[-1].rank for key, items in taken.items()}
        moved = await connection.fetch(sql.NOTE_TAKEN, list(reached), list(reached.values()), to_ms(now))
        lookout.whereabouts.note((row["key"], row["ctid"]) for row in moved)
        await _move_clock(connection, taken.values())
    return Taken(taken, lost)


async def _room(connection: Connection, asked: Claim) -> int:
    most = asked.lanes + asked.urgent
    is_limited = asked.most_held is not None or asked.most_of_account is not None
    await connection.execute(line.ONE_AT_A_TIME, is_limited)
    if asked.most_held is None:
        return most
    held: int = await connection.fetchval(sql.HELD_LANES)
    return min(most, asked.most_held - held)


async def _pick(connection: Connection, most: int, asked: Claim, sight: Sight) -> list[Record]:
    bands, lanes = bands_of(asked.things), min(asked.lanes, most)
    picked = await _first(connection, sight.columns(bands), lanes, asked) if lanes else []
    if len(picked) < lanes:
        return picked
    rooms: defaultdict[int, list[int]] = defaultdict(list)
    for band in bands:
        rooms[most_on_top(band, most - lanes, is_batch=is_of_batch(band), is_new=False)].append(band)
    for room, alike in sorted(rooms.items(), reverse=True):
        left, chains = min(room, most - len(picked)), sight.columns(alike)
        if left > 0 and chains[0]:
            taken = {row["id"] for row in picked}  # the chains still begin with these
            found = await _first(connection, chains, left + len(taken), asked)
            picked += [row for row in found if row["id"] not in taken][:left]
    return picked


async def _first(connection: Connection, chains: Columns, most: int, asked: Claim) -> list[Record]:
    return await connection.fetch(line.PICK_READY, *chains, most, asked.most_of_account)


async def _front(connection: Connection, ours: list[int], chains: Columns) -> _Front | None:
    first = await connection.fetchrow(line.FRONT, *chains, ours)
    return None if first is None else _Front(first["rank"], first["flow"])


async def _next_items(
    connection: Connection,
    wanted: dict[int, _Part],
    now: datetime,
    *,
    front: _Front | None,
    book: FlowBook,
    first_is_free: bool,
) -> dict[int, list[Item]]:
    most, low_ranks = [part.most for part in wanted.values()], [part.low_rank for part in wanted.values()]
    if not any(most):
        return {}
    limit, flow = (None, None) if front is None else (window_from(front.rank), front.flow)
    asked = (list(wanted), most, to_ms(now), limit, flow, first_is_free, low_ranks)
    rows = await connection.fetch(sql.NEXT_ITEMS, *asked)
    owners = await book.owners(connection, {row["flow"] for row in rows})
    items: defaultdict[int, list[Item]] = defaultdict(list)
    moments: dict[int, datetime] = {}  # those that were submitted together have one
    for lane, rank, job, flow_id, kind, order, failures, deaths, created_at, trail in rows:
        owner = owners[flow_id]
        if created_at not in moments:
            moments[created_at] = from_ms(created_at)
        items[lane].append(
            Item(
                JobId("job_" + ulid_text(job)),
                owner.account,
                Kind(kind),
                rank,
                order,
                failures,
                moments[created_at],
                trail,
                owner.batch,
                deaths,
            )
        )
    return items


async def _hold(
    connection: Connection,
    picked: list[Record],
    items: dict[int, list[Item]],
    asked: Claim,
    *,
    now: datetime,
    whereabouts: Whereabouts,
) -> tuple[Lease, ...]:
    places = {row["id"]: row["place"] for row in picked if row["id"] in items or not asked.items}
    if not places:
        return ()
    lanes = list(places)
    reached = [items[lane][-1].rank if lane in items else _NOTHING_TAKEN for lane in lanes]
    given = (lanes, list(places.values()), reached)
    rows = await connection.fetch(line.HOLD, *given, to_ms(asked.until), asked.worker, to_ms(now))
    whereabouts.note((row["key"], row["ctid"]) for row in rows)
    await _move_clock(connection, items.values())
    rows.sort(key=lambda row: (row["rank"], row["id"]))
    return tuple(
        Lease(
            Grip(LaneKey(key), fence),
            tuple(items.get(identity, ())),
            None if gap_ms is None else timedelta(milliseconds=gap_ms),
            stretch,
            strikes,
        )
        for identity, key, fence, gap_ms, stretch, strikes, *_ in rows
    )


async def _move_clock(connection: Connection, handed_out: Iterable[Sequence[Item]]) -> None:
    service = Service.of(handed_out)
    if service is not None:
        await connection.execute(sql.MOVE_CLOCK, service.first, service.last, service.turns)
