"""Writes what became of items and gives lanes back, in the transaction of a report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from emissary.backends.cluster import settling_statements as ends
from emissary.backends.cluster.database import Connection, Record
from emissary.backends.cluster.flows import FlowBook
from emissary.backends.cluster.lining_up import LaneRow, Standing, line_up, lock_lanes, place, put_in_line, raw
from emissary.backends.cluster.usage import note_usage
from emissary.backends.cluster.whereabouts import Whereabouts
from emissary.model.batches import MISS_KEPT
from emissary.model.ids import JobId, WorkerId, ulid_text
from emissary.model.jobs import FINAL_STATES, JobState, NewJob
from emissary.model.lanes import Release, Report, Settlement, Trial
from emissary.model.moments import rest_ms, to_ms
from emissary.model.webhooks import EventType

__all__ = ["STATES", "Overtaken", "Tally", "Written", "count", "forsake", "give_back", "happen", "job_of", "settle"]

STATES = {
    JobState.WAITING: 0,
    JobState.COMPLETED: 1,
    JobState.FAILED: 2,
    JobState.CANCELLED: 3,
    JobState.REFUSED: 4,
}
_DEADLY = 3
_POISON = msgspec.json.encode(
    {"kind": "invalid", "code": "poison", "detail": f"{_DEADLY} workers died while they handled this job"}
)


class Overtaken(Exception):
    """A batch was cancelled while some of it was being settled."""


@dataclass(frozen=True, slots=True)
class Written:
    """What of a report was written."""

    jobs: frozenset[JobId]
    follow_ups: tuple[NewJob, ...] = ()


@dataclass(slots=True)
class Tally:
    """How many jobs of one flow ended how."""

    ends: dict[JobState, int] = field(default_factory=dict)
    cached: int = 0
    credits: int = 0
    codes: dict[str, int] = field(default_factory=dict)  # of a batch: what its jobs came to

    def add(self, state: JobState, number: int = 1, *, code: str | None = None) -> None:
        self.ends[state] = self.ends.get(state, 0) + number
        if code is not None:
            self.codes[code] = self.codes.get(code, 0) + number


def job_of(identity: bytes) -> JobId:
    """The job that is kept under this id."""
    return JobId("job_" + ulid_text(identity))


async def settle(
    connection: Connection, report: Report, now: datetime, *, shard: int, book: FlowBook, whereabouts: Whereabouts
) -> Written:
    """Write all of the report that is told under the fences of now."""
    news = [job for told in report.settlements for job in told.follow_ups]
    onward = [told.onward for told in report.settlements if told.onward is not None]
    await book.make(connection, news)
    grips = [
        *(t.grip for t in report.settlements),
        *(r.grip for r in report.releases),
        *(t.grip for t in report.trials),
    ]
    held = {grip.lane for grip in grips}
    new = [*onward, *(job.lane for job in news)]
    lanes = await lock_lanes(connection, held, new=new, places=whereabouts.of(held))
    ours = list({told.job: told for told in reversed(report.settlements) if _holds(lanes, told)}.values())
    ours.reverse()  # of two ends that were told of one job, the first is the one
    ended = await _finish(connection, [t for t in ours if t.state in FINAL_STATES], lanes, now, shard=shard, book=book)
    later = await _postpone(connection, [t for t in ours if t.state is JobState.DELAYED], lanes, now)
    moved = await _move(connection, [t for t in ours if t.state is JobState.WAITING], lanes, now)
    written = ended | later | moved
    follow_ups = [job for told in ours if told.job in written for job in told.follow_ups]
    news_in = await line_up(connection, follow_ups, lanes, now)
    await _try_out(connection, [trial for trial in report.trials if _holds(lanes, trial)])
    given = [release for release in report.releases if _holds(lanes, release)]
    await _release(connection, given, lanes, now)
    released = {release.grip.lane for release in given}
    moved_to = {lanes[key] for key in onward if key not in released}
    await place(connection, [*moved_to, *news_in.lanes], now)
    return Written(written, tuple(news_in.jobs))


def _holds(lanes: dict[str, LaneRow], told: Settlement | Release | Trial) -> bool:
    lane = lanes.get(told.grip.lane)
    return lane is not None and lane.fence == told.grip.fence


async def _finish(
    connection: Connection,
    told: list[Settlement],
    lanes: dict[str, LaneRow],
    now: datetime,
    *,
    shard: int,
    book: FlowBook,
) -> frozenset[JobId]:
    if not told:
        return frozenset()
    flow_of: dict[bytes, int] = {row[0]: row[1] for row in await _on_items(connection, ends.REMOVE_ITEMS, told, lanes)}
    if not flow_of:
        return frozenset()
    pairs = [(job, each) for job, each in _by_job(told) if job in flow_of]
    ids, kept = [job for job, _ in pairs], [each for _, each in pairs]
    owners = await book.owners(connection, flow_of.values())
    await _with_their_batches([flow for flow in set(flow_of.values()) if owners[flow].batch is not None], connection)
    kinds = await connection.fetch(
        ends.SETTLE_JOBS,
        ids,
        [STATES[each.state] for each in kept],
        [to_ms(each.started_at) for each in kept],
        [each.failures for each in kept],
        [None if each.result is None else each.result.outcome for each in kept],
        to_ms(now),
    )
    results = [(job, each.result) for job, each in pairs if each.result is not None]
    if results:
        await connection.execute(
            ends.KEEP_RESULTS,
            [job for job, _ in results],
            [flow_of[job] for job, _ in results],
            [result.body for _, result in results],
            [result.blob for _, result in results],
            [owners[flow_of[job]].batch is not None for job, _ in results],
        )
    tallies: dict[int, Tally] = {}
    for job, each in pairs:
        tally = tallies.setdefault(flow_of[job], Tally())
        tally.add(each.state, code=each.result.code if each.result and owners[flow_of[job]].batch else None)
        tally.credits += each.credits
        tally.cached += each.cached
    await count(connection, tallies, shard)
    kind_of = await _kinds(connection, ids, kinds)
    tenant_of = {flow: owners[flow].tenant for flow in tallies}
    used = [
        (tenant_of[flow_of[job]], kind_of(job), each.grip.lane, each.state, each.credits, each.cached)
        for job, each in pairs
    ]
    await note_usage(connection, used, now)
    missed = {(owners[flow_of[job]].tenant, each.miss): each for job, each in pairs if each.miss is not None}
    if missed:
        codes = [(each.result and each.result.code) or "" for each in missed.values()]
        tenants, marks = zip(*missed, strict=True)
        await connection.execute(ends.KEEP_MISSES, tenants, marks, codes, to_ms(now + MISS_KEPT))
    return frozenset(each.job for each in kept)


async def _kinds(connection: Connection, jobs: list[bytes], kinds: list[Record]) -> Callable[[bytes], str]:
    """What tells the kind of each of these jobs, among which are those kinds; nearly always, that is one."""
    if len(kinds) == 1:
        only: str = kinds[0][0]
        return lambda _: only
    found: dict[bytes, str] = {row[0]: row[1] for row in await connection.fetch(ends.KINDS, jobs)}
    return found.__getitem__


async def _with_their_batches(flows: list[int], connection: Connection) -> None:
    """No batch of these is cancelled from here to the commit; raises Overtaken if one was just before."""
    if flows:
        await connection.execute(ends.SHARE_FLOWS, flows)
        if await connection.fetchval(ends.ANY_CANCELLED, flows):
            raise Overtaken


async def count(connection: Connection, tallies: dict[int, Tally], shard: int) -> None:
    """Add to the counts of flows, in the shard of this process."""
    if not tallies:
        return
    values = tallies.values()
    order = (JobState.COMPLETED, JobState.REFUSED, JobState.FAILED, JobState.CANCELLED)
    columns = [[tally.ends.get(state, 0) for tally in values] for state in order]
    columns += [[tally.cached for tally in values], [tally.credits for tally in values]]
    await connection.execute(ends.TALLY, list(tallies), shard, *columns)
    rows = [(flow, code, number) for flow, tally in tallies.items() for code, number in tally.codes.items()]
    if rows:
        flows, codes, numbers = zip(*rows, strict=True)
        await connection.execute(ends.COUNT_OUTCOMES, flows, shard, codes, numbers)


def _by_job(told: Sequence[Settlement]) -> list[tuple[bytes, Settlement]]:
    return [(raw(each.job), each) for each in told]


async def _on_items(
    connection: Connection, statement: str, told: list[Settlement], lanes: dict[str, LaneRow], *more: list[int]
) -> list[Record]:
    """Do this with the items of what is told, in lanes that are locked; `more` are further columns.

    A batch that goes on gives new ranks to what stands in line; what was being handed out then is found by its job.
    """
    where, jobs = [lanes[each.grip.lane].id for each in told], [job for job, _ in _by_job(told)]
    rows = await connection.fetch(statement, where, [each.rank for each in told], jobs, *more)
    if len(rows) == len(told):
        return rows
    done = {row["job"] for row in rows}
    left = [place for place, job in enumerate(jobs) if job not in done]
    found = await connection.fetch(ends.STANDING, [where[place] for place in left], [jobs[place] for place in left])
    rank_of = {row["id"]: row["rank"] for row in found}
    moved = [place for place in left if rank_of.get(jobs[place], told[place].rank) != told[place].rank]
    if not moved:
        return rows  # what is missing has ended, or is cancelled
    given: list[list[Any]] = [where, [rank_of.get(job) for job in jobs], jobs, *more]
    return rows + await connection.fetch(statement, *([column[place] for place in moved] for column in given))


async def _postpone(
    connection: Connection, told: list[Settlement], lanes: dict[str, LaneRow], now: datetime
) -> frozenset[JobId]:
    if not told:
        return frozenset()
    until = [to_ms(each.retry_at or now) for each in told]
    written = {row[0] for row in await _on_items(connection, ends.POSTPONE_ITEMS, told, lanes, until)}
    kept = [(job, each) for job, each in _by_job(told) if job in written]
    await connection.execute(ends.POSTPONE_JOBS, [job for job, _ in kept], [each.failures for _, each in kept])
    return frozenset(each.job for _, each in kept)


async def _move(
    connection: Connection, told: list[Settlement], lanes: dict[str, LaneRow], now: datetime
) -> frozenset[JobId]:
    if not told:
        return frozenset()
    taken_out = {row["job"]: row for row in await _on_items(connection, ends.REMOVE_ITEMS, told, lanes)}
    pairs = [(job, each) for job, each in _by_job(told) if job in taken_out]
    ids, kept = [job for job, _ in pairs], [each for _, each in pairs]
    targets = [each.onward or "" for each in kept]
    await connection.execute(ends.MOVE_JOBS, ids, [lanes[key].id for key in targets], [each.trail for each in kept])
    flows, ranks = ([taken_out[job][name] for job in ids] for name in ("flow", "rank"))
    await put_in_line(connection, lanes, Standing(targets, flows, ranks, [to_ms(now)] * len(kept), ids))
    return frozenset(each.job for each in kept)


async def _try_out(connection: Connection, trials: list[Trial]) -> None:
    if trials:
        ids, fences = [raw(trial.job) for trial in trials], [trial.grip.fence for trial in trials]
        await connection.execute(ends.TRY_OUT, ids, fences)


async def _release(connection: Connection, releases: list[Release], lanes: dict[str, LaneRow], now: datetime) -> None:
    if releases:
        await connection.execute(
            ends.RELEASE,
            [lanes[each.grip.lane].id for each in releases],
            [rest_ms(each.rest_until, now) for each in releases],
            [each.reason.value for each in releases],
            [None if each.gap is None else each.gap // timedelta(milliseconds=1) for each in releases],
            [each.stretch for each in releases],
            [min(each.strikes, 1_000) for each in releases],
            to_ms(now),
            [lanes[each.grip.lane].place for each in releases],
            [lanes[each.grip.lane].low_rank for each in releases],
        )


async def forsake(
    connection: Connection,
    workers: Sequence[WorkerId],
    now: datetime,
    gap: timedelta,
    *,
    shard: int,
    book: FlowBook,
) -> int:
    """Give back the lanes of dead workers, and note what may have killed them."""
    held = await connection.fetch(ends.FORSAKE, list(workers))
    if not held:
        return 0
    ids = [row["id"] for row in held]
    blamed = await connection.fetch(ends.BLAME_SUSPECTS, ids, [row["fence"] for row in held])
    await connection.execute(ends.BLAME, ids, [row["taken_rank"] for row in held], to_ms(now))
    deadly = [row for row in blamed if row["deaths"] >= _DEADLY]
    if deadly:
        keys = {row["id"]: row["key"] for row in held}
        await _end_poison(connection, deadly, now, shard=shard, book=book)
        owners = await book.owners(connection, [row["flow"] for row in deadly])
        killers = [(owners[row["flow"]].tenant, row["kind"], keys[row["lane"]]) for row in deadly]
        await note_usage(connection, [(*killer, JobState.FAILED, 0, False) for killer in killers], now)
        ended = [(job_of(row["id"]), owners[row["flow"]].account, to_ms(now)) for row in deadly]
        await happen(connection, EventType.JOB_FAILED, ended)
    await give_back(connection, held, now, gap)
    return len(held)


async def happen(connection: Connection, event: EventType, what: Sequence[tuple[str, str, int]]) -> None:
    """Note what has come about (its subject, whose it is, when): somebody may want to be told."""
    subjects, accounts, moments = zip(*what, strict=True)
    await connection.execute(ends.HAPPEN, event.value, subjects, accounts, moments)


async def give_back(connection: Connection, held: list[Record], now: datetime, gap: timedelta) -> None:
    """Put lanes back into line, locked ones whose last use is unknown: each rests for the gap, or its own if longer."""
    if held:
        ids, strikes, stretches = ([row[name] for row in held] for name in ("id", "strikes", "stretch"))
        rests = [to_ms(now) + max(row["gap_ms"], gap // timedelta(milliseconds=1)) for row in held]
        reasons, gaps = ["gap"] * len(held), [None] * len(held)
        where = ([row["ctid"] for row in held], [row["low_rank"] for row in held])
        await connection.execute(ends.RELEASE, ids, rests, reasons, gaps, stretches, strikes, to_ms(now), *where)


async def _end_poison(connection: Connection, rows: list[Record], now: datetime, *, shard: int, book: FlowBook) -> None:
    ids, flows = [row["id"] for row in rows], [row["flow"] for row in rows]
    owners = await book.owners(connection, flows)
    await connection.execute(ends.SHARE_FLOWS, list(set(flows)))
    await connection.execute(ends.END_POISON, ids, to_ms(now), _POISON)
    await connection.execute(ends.DROP_ITEMS, [row["lane"] for row in rows], [row["rank"] for row in rows], ids)
    nothing, of_batch = [None] * len(rows), [owners[flow].batch is not None for flow in flows]
    await connection.execute(ends.KEEP_RESULTS, ids, flows, nothing, nothing, of_batch)
    tallies: dict[int, Tally] = {}
    for row in rows:
        code = "poison" if owners[row["flow"]].batch else None
        tallies.setdefault(row["flow"], Tally()).add(JobState.FAILED, code=code)
    await count(connection, tallies, shard)
