"""Writes what became of items and gives lanes back, in the transaction of a report."""

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from emissary.backends.embedded import settling_statements as sql
from emissary.backends.embedded.ending import End, Place, end, happen, places_of
from emissary.backends.embedded.flows import Blocked, parked
from emissary.backends.embedded.lining_up import ItemRow, lanes_of, line_up, place, submit
from emissary.backends.embedded.lists import as_list, one, reader
from emissary.backends.embedded.usage import note_usage
from emissary.backends.usage_notes import Used
from emissary.model.ids import JobId, WorkerId
from emissary.model.jobs import FINAL_STATES, JobState, StoredResult
from emissary.model.lanes import Grip, Release, Report, Settlement, Trial
from emissary.model.moments import rest_ms, to_ms
from emissary.model.webhooks import EventType

__all__ = ["cancel", "forsake", "settle"]

_DEADLY = 3
_POISON = StoredResult(
    msgspec.json.encode(
        {"kind": "invalid", "code": "poison", "detail": f"{_DEADLY} workers died while they handled this job"}
    )
)
_MILLISECOND = timedelta(milliseconds=1)

_Lanes = dict[tuple[str, int], int]  # the numbers of lanes, by their key and fence
_Told = tuple[Settlement, Place]

_read_lanes = reader(tuple[str, int, int])
_read_names = reader(JobId)
_read_keys = reader(tuple[int, str])


def settle(connection: sqlite3.Connection, report: Report, now: datetime) -> frozenset[JobId]:
    """Write a report, but for what is told too late; returns the jobs whose settlement was written."""
    parts = (report.settlements, report.releases, report.trials)
    ours = _not_in_other_hands(connection, (each.grip for part in parts for each in part))
    _try_out(connection, report.trials, ours)
    told = _still_in_line(connection, report.settlements, ours)
    # Before anything ends: a batch whose last job leads to further ones does not end with it.
    follow_ups = [job for settlement, _ in told for job in settlement.follow_ups]
    if follow_ups:
        submit(connection, follow_ups, now)
    final = [each for each in told if each[0].state in FINAL_STATES]
    end(connection, [_end_of(*each) for each in final], now)
    note_usage(connection, [_used(*each) for each in final], now)
    _postpone(connection, [each for each in told if each[0].state is JobState.DELAYED], now)
    _move(connection, [each for each in told if each[0].state is JobState.WAITING], now)
    released = _release(connection, report.releases, ours, now)
    place(connection, released | {stood.lane for _, stood in told}, now)
    return frozenset(settlement.job for settlement, _ in told)


def cancel(connection: sqlite3.Connection, jobs: Sequence[JobId], now: datetime) -> frozenset[JobId]:
    """End those of the jobs that have not ended."""
    places = places_of(connection, jobs)
    end(connection, [End(stood, JobState.CANCELLED) for stood in places.values()], now)
    place(connection, {stood.lane for stood in places.values()}, now)
    return frozenset(places)


def forsake(connection: sqlite3.Connection, workers: Sequence[WorkerId], now: datetime, gap: timedelta) -> int:
    """Give back the lanes of dead workers, and note what may have killed them."""
    lanes: list[int] = msgspec.json.decode(one(connection, sql.HELD_BY, {"workers": as_list(list(workers))}))
    if not lanes:
        return 0
    values = {"lanes": as_list(lanes)}
    connection.execute(sql.BLAME_SUSPECTS, values)
    connection.execute(sql.BLAME, values)
    deadly = places_of(connection, _read_names(one(connection, sql.POISON, {**values, "deadly": _DEADLY})))
    end(connection, [End(stood, JobState.FAILED, _POISON) for stood in deadly.values()], now)
    accounts = _accounts(connection, {stood.tenant for stood in deadly.values()})
    poisoned = [(stood.id, accounts[stood.tenant], to_ms(now)) for stood in deadly.values()]
    happen(connection, EventType.JOB_FAILED, poisoned)
    keys = dict(_read_keys(one(connection, sql.LANE_KEYS, values)))
    killers = [(stood.tenant, stood.kind, keys[stood.lane]) for stood in deadly.values()]
    note_usage(connection, [(*killer, JobState.FAILED, 0, False) for killer in killers], now)
    connection.execute(sql.FORSAKE, {**values, "now": to_ms(now), "gap_ms": gap // _MILLISECOND})
    place(connection, lanes, now)
    return len(lanes)


def _accounts(connection: sqlite3.Connection, tenants: set[int]) -> dict[int, str]:
    return dict(_read_keys(one(connection, sql.ACCOUNTS, {"ids": as_list(list(tenants))})))


def _not_in_other_hands(connection: sqlite3.Connection, grips: Iterable[Grip]) -> _Lanes:
    """Lanes that nobody else has had since; whether the lease itself still holds does not matter."""
    pairs = {(grip.lane, grip.fence) for grip in grips}
    rows = _read_lanes(one(connection, sql.NOT_IN_OTHER_HANDS, {"grips": as_list(list(pairs))}))
    return {(key, fence): lane for key, fence, lane in rows}


def _lane_of(told: Settlement | Release | Trial, ours: _Lanes) -> int | None:
    return ours.get((told.grip.lane, told.grip.fence))


def _try_out(connection: sqlite3.Connection, trials: Sequence[Trial], ours: _Lanes) -> None:
    rows = [(trial.job, lane, trial.grip.fence) for trial in trials if (lane := _lane_of(trial, ours)) is not None]
    if rows:
        connection.execute(sql.TRY_OUT, {"trials": as_list(rows)})


def _still_in_line(connection: sqlite3.Connection, settlements: Sequence[Settlement], ours: _Lanes) -> list[_Told]:
    """What may be written: the lane's fence has not moved, and the job still stands there and has not ended."""
    if not settlements:
        return []
    places = places_of(connection, [settlement.job for settlement in settlements])
    told = []
    for settlement in settlements:
        stood = places.get(settlement.job)
        if stood is not None and stood.lane == _lane_of(settlement, ours):
            del places[settlement.job]  # of two alike, the first is the one
            told.append((settlement, stood))
    return told


def _end_of(settlement: Settlement, stood: Place) -> End:
    return End(
        stood,
        settlement.state,
        settlement.result,
        to_ms(settlement.started_at),
        settlement.failures,
        settlement.credits,
        settlement.cached,
        settlement.miss,
    )


def _used(settlement: Settlement, stood: Place) -> Used:
    lane, state = settlement.grip.lane, settlement.state
    return stood.tenant, stood.kind, lane, state, settlement.credits, settlement.cached


def _rank_in_line(stood: Place) -> int:
    """Whatever of a paused flow goes back into line is parked there."""
    return parked(stood.rank) if stood.blocked == Blocked.PAUSED else stood.rank


def _postpone(connection: sqlite3.Connection, told: list[_Told], now: datetime) -> None:
    if not told:
        return
    rows = [
        (stood.lane, stood.rank, stood.number, to_ms(each.retry_at or now), _rank_in_line(stood), each.failures)
        for each, stood in told
    ]
    connection.execute(sql.POSTPONE_ITEMS, {"items": as_list(rows)})
    connection.execute(sql.POSTPONE_JOBS, {"items": as_list(rows)})


def _move(connection: sqlite3.Connection, told: list[_Told], now: datetime) -> None:
    if not told:
        return
    old = [(stood.lane, stood.rank, stood.number) for _, stood in told]
    connection.execute(sql.REMOVE_ITEMS, {"items": as_list(old)})
    lanes = lanes_of(connection, dict.fromkeys(_onward(each) for each, _ in told))
    items = [
        ItemRow(lanes[_onward(each)].id, _rank_in_line(stood), stood.number, stood.flow, to_ms(now))
        for each, stood in told
    ]
    trails = [msgspec.Raw(each.trail or b"null") for each, _ in told]
    moved = [(item.lane, item.rank, item.job, trail) for item, trail in zip(items, trails, strict=True)]
    connection.execute(sql.MOVE_JOBS, {"jobs": as_list(moved)})
    line_up(connection, items, lanes.values(), now)


def _onward(settlement: Settlement) -> str:
    if settlement.onward is None:
        raise ValueError(f"{settlement.job} is to go on, and it is not said where")
    return settlement.onward


def _release(connection: sqlite3.Connection, releases: Sequence[Release], ours: _Lanes, now: datetime) -> set[int]:
    rows = [
        (lane, rest_ms(each.rest_until, now), each.reason, _gap_ms(each), each.stretch, each.strikes)
        for each in releases
        if (lane := _lane_of(each, ours)) is not None
    ]
    if rows:
        connection.execute(sql.RELEASE, {"releases": as_list(rows)})
    return {row[0] for row in rows}


def _gap_ms(release: Release) -> int | None:
    return None if release.gap is None else release.gap // _MILLISECOND
