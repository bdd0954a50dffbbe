"""The lanes on SQLite. One writer at a time makes every call here a step that nothing can come between."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from emissary.backends.embedded import statements as sql
from emissary.backends.embedded.database import Database, from_ms, to_ms
from emissary.model.ids import AccountId, JobId, WorkerId
from emissary.model.jobs import FINAL_STATES, JobState, Kind, NewJob
from emissary.model.lanes import (
    Claimed,
    Grip,
    Item,
    LaneKey,
    Lease,
    Release,
    Report,
    Settlement,
    Taken,
    rank_of,
)

__all__ = ["SqliteLanes"]

_encode = msgspec.json.Encoder().encode
_ROWS_AT_ONCE = 64
_ALMOST_A_MILLISECOND = timedelta(microseconds=999)


class _ItemRow(msgspec.Struct, array_like=True):
    lane: str
    rank: int
    job: str
    account: str
    kind: str
    order: msgspec.Raw
    failures: int
    created_at: int
    trail: msgspec.Raw  # `null` where there is none: a Raw cannot be one of several types


_decode_items = msgspec.json.Decoder(list[_ItemRow]).decode
_decode_held = msgspec.json.Decoder(list[tuple[int, str, int]]).decode
_decode_names = msgspec.json.Decoder(list[str]).decode


class SqliteLanes:
    """Keeps the promise of `ports.lanes.Lanes`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def submit(self, jobs: Sequence[NewJob], now: datetime) -> None:
        await self._database.write(lambda connection: _submit(connection, jobs, now))

    async def claim(self, worker: WorkerId, until: datetime, now: datetime, *, lanes: int, items: int) -> Claimed:
        def work(connection: sqlite3.Connection) -> Claimed:
            connection.execute(sql.WAKE, {"now": to_ms(now)})
            wanted = {"until": to_ms(until), "worker": worker, "most": lanes}
            held = connection.execute(sql.HOLD_READY_LANES, wanted).fetchall()
            taken = _take(connection, [row[:3] for row in held], items, now) if held else {}
            next_ready = connection.execute(sql.NEXT_READY_AT).fetchone()[0]
            leases = tuple(
                Lease(
                    Grip(LaneKey(key), fence),
                    taken.get(LaneKey(key), ()),
                    None if gap is None else timedelta(milliseconds=gap),
                    stretch,
                )
                for _, key, fence, gap, stretch in held
            )
            return Claimed(leases, None if next_ready is None else from_ms(next_ready))

        return await self._database.write(work)

    async def take(self, grips: Sequence[Grip], items: int, now: datetime) -> Taken:
        def work(connection: sqlite3.Connection) -> Taken:
            held = _still_held(connection, grips)
            keys = {LaneKey(key) for _, key, _ in held}
            lost = frozenset(grip.lane for grip in grips if grip.lane not in keys)
            return Taken(_take(connection, held, items, now), lost)

        return await self._database.write(work)

    async def renew(self, grips: Sequence[Grip], until: datetime) -> frozenset[LaneKey]:
        def work(connection: sqlite3.Connection) -> frozenset[LaneKey]:
            held = _still_held(connection, grips)
            connection.execute(sql.RENEW, {"until": to_ms(until), "held": _json(held)})
            keys = {key for _, key, _ in held}
            return frozenset(grip.lane for grip in grips if grip.lane not in keys)

        return await self._database.write(work)

    async def settle(self, report: Report, now: datetime) -> frozenset[JobId]:
        return await self._database.write(lambda connection: _settle(connection, report, now))

    async def wake(self, now: datetime) -> int:
        return await self._count(sql.WAKE, {"now": to_ms(now)})

    async def forsake(self, workers: Sequence[WorkerId], now: datetime, gap: timedelta) -> int:
        values = {"workers": _json(list(workers)), "now": to_ms(now), "gap_ms": gap // timedelta(milliseconds=1)}
        return await self._count(sql.FORSAKE, values)

    async def cancel(self, jobs: Sequence[JobId], now: datetime) -> frozenset[JobId]:
        def work(connection: sqlite3.Connection) -> frozenset[JobId]:
            rows = connection.execute(sql.CANCEL_JOBS, {"jobs": _json(list(jobs)), "now": to_ms(now)}).fetchall()
            ended = [row[0] for row in rows]
            connection.execute(sql.DROP_CANCELLED, {"jobs": _json(ended)})
            keys = connection.execute(sql.LANES_OF_CANCELLED, {"jobs": _json(ended)}).fetchone()[0]
            connection.execute(sql.PLACE_LANES, {"keys": keys, "now": to_ms(now)})
            return frozenset(JobId(job) for job in ended)

        return await self._database.write(work)

    async def _count(self, statement: str, values: dict[str, Any]) -> int:
        return await self._database.write(lambda connection: connection.execute(statement, values).rowcount)


def _json(value: object) -> str:
    return _encode(value).decode()


def _submit(connection: sqlite3.Connection, jobs: Sequence[NewJob], now: datetime) -> None:
    rows = [(job.id, job.account, job.kind, job.lane, msgspec.Raw(job.order)) for job in jobs]
    connection.execute(sql.ACCEPT_JOBS, {"jobs": _json(rows), "now": to_ms(now)})
    places = [(job.lane, rank_of(job.priority, now), job.id, to_ms(job.not_before or now)) for job in jobs]
    _line_up(connection, places, now)


def _line_up(connection: sqlite3.Connection, items: list[tuple[Any, ...]], now: datetime) -> None:
    lines = {"items": _json(items)}
    connection.execute(sql.MAKE_LANES, lines)
    connection.execute(sql.LINE_UP, lines)
    connection.execute(sql.PLACE_LANES, {"keys": _json([item[0] for item in items]), "now": to_ms(now)})


def _still_held(connection: sqlite3.Connection, grips: Sequence[Grip]) -> list[tuple[int, str, int]]:
    pairs = _json([(grip.lane, grip.fence) for grip in grips])
    return _decode_held(connection.execute(sql.STILL_HELD, {"grips": pairs}).fetchone()[0])


def _take(
    connection: sqlite3.Connection, held: Sequence[tuple[int, str, int]], most: int, now: datetime
) -> dict[LaneKey, tuple[Item, ...]]:
    values = {"held": _json(held), "now": to_ms(now), "most": most}
    rows = _decode_items(connection.execute(sql.NEXT_ITEMS, values).fetchone()[0])
    if not rows:
        return {}
    connection.execute(sql.MARK_TAKEN, {"taken": _json([(row.lane, row.rank, row.job) for row in rows])})
    taken: defaultdict[LaneKey, list[Item]] = defaultdict(list)
    for row in rows:
        taken[LaneKey(row.lane)].append(_item(row))
    return {lane: tuple(items) for lane, items in taken.items()}


def _item(row: _ItemRow) -> Item:
    return Item(
        job=JobId(row.job),
        account=AccountId(row.account),
        kind=Kind(row.kind),
        rank=row.rank,
        order=bytes(row.order),
        failures=row.failures,
        created_at=from_ms(row.created_at),
        trail=None if bytes(row.trail) == b"null" else bytes(row.trail),
    )


def _settle(connection: sqlite3.Connection, report: Report, now: datetime) -> frozenset[JobId]:
    written = _still_in_hand(connection, report.settlements)
    kept = [settlement for settlement in report.settlements if settlement.job in written]
    _each(connection, _finish, [s for s in kept if s.state in FINAL_STATES], now)
    _each(connection, _postpone, [s for s in kept if s.state is JobState.DELAYED], now)
    _each(connection, _move, [s for s in kept if s.state is JobState.WAITING], now)
    follow_ups = [job for settlement in kept for job in settlement.follow_ups]
    if follow_ups:
        _submit(connection, follow_ups, now)
    if report.releases:
        _release(connection, report.releases, now)
    return written


_Write = Callable[[sqlite3.Connection, list[Settlement], datetime], None]


def _each(connection: sqlite3.Connection, write: _Write, settlements: list[Settlement], now: datetime) -> None:
    if settlements:
        write(connection, settlements, now)


def _still_in_hand(connection: sqlite3.Connection, settlements: Sequence[Settlement]) -> frozenset[JobId]:
    if not settlements:
        return frozenset()
    rows = _json([(s.grip.lane, s.grip.fence, s.rank, s.job) for s in settlements])
    names = _decode_names(connection.execute(sql.STILL_IN_HAND, {"settled": rows}).fetchone()[0])
    return frozenset(JobId(name) for name in names)


def _finish(connection: sqlite3.Connection, settlements: list[Settlement], now: datetime) -> None:
    connection.execute(sql.REMOVE_ITEMS, {"items": _json([(s.grip.lane, s.rank, s.job) for s in settlements])})
    rows = [(s.job, s.state, to_ms(s.started_at), s.failures, _outcome(s)) for s in settlements]
    connection.execute(sql.SETTLE_JOBS, {"jobs": _json(rows), "now": to_ms(now)})
    results = [(s.job, s.result.body, s.result.blob) for s in settlements if s.result is not None]
    for start in range(0, len(results), _ROWS_AT_ONCE):
        _keep_results(connection, results[start : start + _ROWS_AT_ONCE])


def _keep_results(connection: sqlite3.Connection, results: list[tuple[JobId, bytes | None, str | None]]) -> None:
    statement = sql.KEEP_RESULT.format(rows=", ".join(["(?, ?, ?)"] * len(results)))
    connection.execute(statement, [value for row in results for value in row])


def _outcome(settlement: Settlement) -> msgspec.Raw | None:
    return None if settlement.result is None else msgspec.Raw(settlement.result.outcome)


def _postpone(connection: sqlite3.Connection, settlements: list[Settlement], now: datetime) -> None:
    rows = [(s.grip.lane, s.rank, s.job, to_ms(s.retry_at or now), s.failures) for s in settlements]
    connection.execute(sql.POSTPONE_ITEMS, {"items": _json(rows)})
    connection.execute(sql.POSTPONE_JOBS, {"items": _json(rows)})


def _move(connection: sqlite3.Connection, settlements: list[Settlement], now: datetime) -> None:
    connection.execute(sql.REMOVE_ITEMS, {"items": _json([(s.grip.lane, s.rank, s.job) for s in settlements])})
    rows = [(s.onward, s.rank, s.job, 0, msgspec.Raw(s.trail or b"null")) for s in settlements]
    connection.execute(sql.MOVE_JOBS, {"items": _json(rows)})
    _line_up(connection, rows, now)


def _release(connection: sqlite3.Connection, releases: Sequence[Release], now: datetime) -> None:
    rows = [(r.grip.lane, r.grip.fence, _rest_ms(r, now), r.reason, _gap_ms(r), r.stretch) for r in releases]
    connection.execute(sql.RELEASE_LANES, {"releases": _json(rows)})
    keys = _json([release.grip.lane for release in releases])
    connection.execute(sql.PLACE_LANES, {"keys": keys, "now": to_ms(now)})


def _rest_ms(release: Release, now: datetime) -> int:
    """Moments are kept rounded down; a rest is rounded up, since it may be longer than asked and never shorter."""
    over = release.rest_until <= now
    return to_ms(release.rest_until if over else release.rest_until + _ALMOST_A_MILLISECOND)


def _gap_ms(release: Release) -> int | None:
    return None if release.gap is None else release.gap // timedelta(milliseconds=1)
