"""Leases lanes and hands out their items, in the transaction of a claim."""

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from emissary.backends.bands import bands_of, competing_bands, most_on_top
from emissary.backends.embedded import settling_statements as ends
from emissary.backends.embedded import statements as sql
from emissary.backends.embedded.lining_up import place
from emissary.backends.embedded.lists import as_list, one, reader
from emissary.model.fairness import Service, window_from
from emissary.model.ids import AccountId, BatchId, JobId, WorkerId
from emissary.model.jobs import Kind
from emissary.model.lanes import Claim, Claimed, Grip, Holding, Item, LaneKey, Lease, Taken, Wish
from emissary.model.moments import from_ms, to_ms

__all__ = ["claim", "still_held", "take", "wake"]

_WOKEN_AT_ONCE = 1_000
_FIRST, _LAST = -(1 << 62), 1 << 62  # before and behind all ranks


class _Chain(NamedTuple):
    """The ready lanes of one priority and one flow: the first of them, and how many more its account may have."""

    rank: int
    lane: int
    band: int
    flow: int
    tenant: int
    room: int | None
    is_batch: int  # SQLite has no truth but 0 and 1


class _Picked(NamedTuple):
    id: int
    key: str
    fence: int
    gap_ms: int | None
    stretch: float
    strikes: int
    rank: int
    flow: int
    tenant: int
    band: int


class _Front(NamedTuple):
    """What competes with the further items of a lane: the first ready lane that is in nobody's hands."""

    rank: int
    flow: int


class _ItemRow(msgspec.Struct, array_like=True):
    lane: int
    rank: int
    job: str
    flow: int
    kind: str
    order: msgspec.Raw
    failures: int
    created_at: int
    trail: msgspec.Raw  # `null` where there is none: a Raw cannot be one of several types
    deaths: int


class _Owner(NamedTuple):
    flow: int
    account: str
    batch: str | None


_read_chains = reader(_Chain)
_read_picked = reader(_Picked)
_read_items = reader(_ItemRow)
_read_owners = reader(_Owner)
_read_numbers = reader(int)
_read_held = reader(tuple[str, int])


def claim(connection: sqlite3.Connection, asked: Claim, now: datetime) -> Claimed:
    """Lease the first ready lanes, with their first items."""
    if asked.holding is not None:
        _give_back(connection, asked.worker, asked.holding, now)
    wake(connection, now)
    picked, front = _pick(connection, asked)
    items: dict[int, tuple[Item, ...]] = {}
    if asked.items:
        items = _next_items(connection, {lane.id: lane.rank for lane in picked}, asked.items, now, front=front)
        # What stood there was put off or blocked since the lane was placed.
        place(connection, [lane.id for lane in picked if lane.id not in items], now)
        picked = [lane for lane in picked if lane.id in items]
    if picked:
        _hold(connection, picked, items, asked, now=now)
    soon = one(connection, sql.NEXT_READY_AT)
    leases = tuple(_lease(lane, items.get(lane.id, ())) for lane in picked)
    return Claimed(leases, None if soon is None else from_ms(soon))


def take(connection: sqlite3.Connection, wishes: Sequence[Wish], now: datetime) -> Taken:
    """Hand out further items of lanes that are held, as long as no ready lane comes before them."""
    held = still_held(connection, [wish.grip for wish in wishes])
    lost = frozenset(wish.grip.lane for wish in wishes if wish.grip.lane not in held)
    granted = [(wish, held[wish.grip.lane]) for wish in wishes if wish.grip.lane in held]
    if not granted:
        return Taken({}, lost)
    most = max(wish.items + len(wish.in_hand) for wish, _ in granted)
    competing = _chains(connection, competing_bands(wishes))
    front = min((_Front(chain.rank, chain.flow) for chain in competing), default=None)
    found = _next_items(connection, {lane: _FIRST for _, lane in granted}, most, now, front=front)
    taken: dict[LaneKey, tuple[Item, ...]] = {}
    for wish, lane in granted:
        fresh = tuple(item for item in found.get(lane, ()) if item.job not in wish.in_hand)[: wish.items]
        if fresh:
            taken[wish.grip.lane] = fresh
    reached = [(held[key], items[-1].rank) for key, items in taken.items()]
    if reached:
        connection.execute(sql.NOTE_TAKEN, {"lanes": as_list(reached), "now": to_ms(now)})
        _move_clock(connection, taken.values())
    return Taken(taken, lost)


def wake(connection: sqlite3.Connection, now: datetime) -> int:
    """Lanes that waited and whose time has come are placed anew, a number of them that does not hold others up."""
    due = one(connection, sql.DUE_LANES, {"now": to_ms(now), "most": _WOKEN_AT_ONCE})
    lanes = _read_numbers(due)
    if lanes:
        connection.execute(sql.GIVE_UP, {"lanes": due})
        place(connection, lanes, now)
    return len(lanes)


def still_held(connection: sqlite3.Connection, grips: Sequence[Grip]) -> dict[LaneKey, int]:
    """The numbers of those lanes that are still held under the fence that goes with them."""
    pairs = as_list([(grip.lane, grip.fence) for grip in grips])
    return {LaneKey(key): lane for key, lane in _read_held(one(connection, sql.STILL_HELD, {"grips": pairs}))}


def _give_back(connection: sqlite3.Connection, worker: WorkerId, holding: Holding, now: datetime) -> None:
    """Whatever is in the worker's name without its knowledge goes back into line."""
    grips = as_list([(grip.lane, grip.fence) for grip in holding.grips])
    lanes = one(connection, sql.NOT_IN_HAND, {"worker": worker, "grips": grips})
    gap_ms = holding.gap // timedelta(milliseconds=1)
    connection.execute(ends.FORSAKE, {"lanes": lanes, "now": to_ms(now), "gap_ms": gap_ms})
    place(connection, _read_numbers(lanes), now)


def _pick(connection: sqlite3.Connection, asked: Claim) -> tuple[list[_Picked], _Front | None]:
    """The lanes to lease, and the first of those that are left."""
    most = asked.lanes + asked.urgent
    if asked.most_held is not None:
        most = min(most, asked.most_held - one(connection, sql.HELD_LANES))
    chains = _chains(connection, bands_of(asked.things), asked.most_of_account) if most > 0 else []
    if not chains:
        return [], None
    lanes = min(asked.lanes, most)
    found = _follow(connection, chains, chains, lanes + 1)
    picked = found[:lanes]
    if len(found) > lanes and most > lanes:
        picked += _on_top(connection, chains, picked, most - lanes)
    taken = {lane.id for lane in picked}
    left = [_Front(lane.rank, lane.flow) for lane in found[lanes:] if lane.id not in taken]
    left += [_Front(chain.rank, chain.flow) for chain in chains if chain.lane not in taken]
    return picked, min(left, default=None)


def _on_top(connection: sqlite3.Connection, chains: list[_Chain], picked: list[_Picked], most: int) -> list[_Picked]:
    """Of what is left: lanes in which somebody waits for an answer, and a few for whoever has just come."""
    taken = {lane.id for lane in picked}
    in_hand = {lane.flow for lane in picked}.union(_read_numbers(one(connection, sql.FLOWS_IN_HAND)))
    gone = Counter((lane.flow, lane.band) for lane in picked)
    wanted, followed = [], []
    for chain in chains:
        room = most_on_top(chain.band, most, is_batch=bool(chain.is_batch), is_new=chain.flow not in in_hand)
        if room > 0:
            wanted.append(chain)
            length = room + gone[chain.flow, chain.band]  # the chains still begin with what was picked
            followed.append(chain._replace(room=length if chain.room is None else min(length, chain.room)))
    found = _follow(connection, wanted, followed, most + len(picked)) if wanted else []
    return [lane for lane in found if lane.id not in taken][:most]


def _follow(connection: sqlite3.Connection, chains: list[_Chain], followed: list[_Chain], most: int) -> list[_Picked]:
    """The first lanes of these chains, within the limits of their accounts."""
    values = {"chains": as_list(followed), "most": most + _surplus(chains)}
    return _within_limits(_read_picked(one(connection, sql.PICK, values)), chains)[:most]


def _chains(connection: sqlite3.Connection, bands: Collection[int], most_of_account: int | None = None) -> list[_Chain]:
    """The chains of these bands, of accounts that may have more in hand."""
    chains = _read_chains(one(connection, sql.CHAINS, {"most_of_account": most_of_account}))
    return [chain for chain in chains if chain.band in bands and (chain.room is None or chain.room > 0)]


def _surplus(chains: list[_Chain]) -> int:
    """How many lanes are found beyond the limits of their accounts: each chain is followed up to the whole limit."""
    limited = Counter(chain.tenant for chain in chains if chain.room is not None)
    rooms = {chain.tenant: chain.room for chain in chains if chain.room is not None}
    return sum(rooms[tenant] * (count - 1) for tenant, count in limited.items())


def _within_limits(found: list[_Picked], chains: list[_Chain]) -> list[_Picked]:
    rooms = {chain.tenant: chain.room for chain in chains if chain.room is not None}
    kept = []
    for lane in found:
        if lane.tenant in rooms:
            if rooms[lane.tenant] == 0:
                continue
            rooms[lane.tenant] -= 1
        kept.append(lane)
    return kept


def _next_items(
    connection: sqlite3.Connection, lanes: dict[int, int], most: int, now: datetime, *, front: _Front | None
) -> dict[int, tuple[Item, ...]]:
    """The next items of lanes; the first of each is free to come up to the rank that goes with its lane."""
    if not lanes:
        return {}
    window, flow = (None, None) if front is None else (window_from(front.rank), front.flow)
    asked = {"lanes": as_list(list(lanes.items())), "most": most, "now": to_ms(now), "beyond": _LAST}
    rows = _read_items(one(connection, sql.NEXT_ITEMS, {**asked, "window": window, "front": flow}))
    found: dict[int, list[_ItemRow]] = {}
    for row in rows:
        found.setdefault(row.lane, []).append(row)
    if front is not None:
        found = {lane: _in_turn(each, front, free=lanes[lane]) for lane, each in found.items()}
    owners = _owners(connection, {row.flow for each in found.values() for row in each})
    return {lane: tuple(_item(row, owners[row.flow]) for row in each) for lane, each in found.items() if each}


def _in_turn(rows: list[_ItemRow], front: _Front, *, free: int) -> list[_ItemRow]:
    """Those before which nothing of another flow stands: the first, those within the window, those of the front's.

    The statement has seen to it already, but for what it did not look at, so as not to fetch all this in vain.
    """
    window, alone = window_from(front.rank), True
    for index, row in enumerate(rows):
        alone = alone and row.flow == front.flow
        if not (row.rank <= window or alone or (index == 0 and row.rank <= free)):
            return rows[:index]
    return rows


def _owners(connection: sqlite3.Connection, flows: set[int]) -> dict[int, _Owner]:
    rows = _read_owners(one(connection, sql.OWNERS, {"flows": as_list(list(flows))}))
    return {owner.flow: owner for owner in rows}


def _item(row: _ItemRow, owner: _Owner) -> Item:
    trail = bytes(row.trail)
    return Item(
        JobId(row.job),
        AccountId(owner.account),
        Kind(row.kind),
        row.rank,
        bytes(row.order),
        row.failures,
        from_ms(row.created_at),
        None if trail == b"null" else trail,
        None if owner.batch is None else BatchId(owner.batch),
        row.deaths,
    )


def _hold(
    connection: sqlite3.Connection,
    lanes: list[_Picked],
    items: dict[int, tuple[Item, ...]],
    asked: Claim,
    *,
    now: datetime,
) -> None:
    reached = {lane: each[-1].rank for lane, each in items.items()}
    rows = as_list([(lane.id, lane.tenant, reached.get(lane.id)) for lane in lanes])
    values = {"lanes": rows, "until": to_ms(asked.until), "worker": asked.worker, "now": to_ms(now)}
    connection.execute(sql.HOLD, values)
    _move_clock(connection, items.values())


def _lease(lane: _Picked, items: tuple[Item, ...]) -> Lease:
    gap = None if lane.gap_ms is None else timedelta(milliseconds=lane.gap_ms)
    return Lease(Grip(LaneKey(lane.key), lane.fence + 1), items, gap, lane.stretch, lane.strikes)


def _move_clock(connection: sqlite3.Connection, handed_out: Iterable[Sequence[Item]]) -> None:
    service = Service.of(handed_out)
    if service is not None:
        connection.execute(sql.MOVE_CLOCK, {"first": service.first, "last": service.last, "turns": service.turns})
