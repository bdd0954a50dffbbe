"""Retention on PostgreSQL: whole days are dropped where they have partitions, rows a portion at a time where not."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from emissary.backends.cluster.database import Database
from emissary.backends.cluster.lining_up import lock_ids, place, raw
from emissary.backends.cluster.partitions import Partitions, first_job
from emissary.backends.cluster.settling import job_of
from emissary.backends.cluster.statements import BLOCKED
from emissary.model.fairness import PARKED
from emissary.model.ids import JobId
from emissary.model.moments import to_ms
from emissary.model.scaling import Load
from emissary.model.usage import USAGE_KEPT_LONGER

__all__ = ["PostgresRetention", "PostgresWorkload"]

_LEAST = -(2**63)  # below which nothing can stand

_BODIES = "SELECT job, blob FROM results WHERE blob IS NOT NULL AND job < $1 ORDER BY job LIMIT $2"
_FORGET_BODIES = "UPDATE results SET blob = NULL WHERE job = ANY ($1::uuid[])"

_DROP_RESULTS = """
DELETE FROM results_rest WHERE job IN (
    SELECT job FROM results_rest WHERE job < $1 AND blob IS NULL ORDER BY job LIMIT $2)
"""

# Jobs that have ended, but for those whose results still have objects.
_DROP_JOBS = """
DELETE FROM jobs_rest WHERE id IN (
    SELECT id FROM jobs_rest WHERE id < $1 AND state <> 0
        AND NOT EXISTS (SELECT 1 FROM results WHERE job = id AND blob IS NOT NULL)
    ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)
"""

_DROP_USAGE = "DELETE FROM usage_rest WHERE day < $1"

_OLD_BATCHES = """
SELECT flow FROM batches WHERE finished_at < $1 AND tidied_to IS NULL
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.flow = batches.flow AND jobs.position >= 0)
ORDER BY id LIMIT $2
"""

# What a batch has seen may be far more than one portion, so the batch itself goes last.
_DROP_MARKS = """
DELETE FROM marks WHERE (flow, mark) IN (SELECT flow, mark FROM marks WHERE flow = ANY ($1::integer[]) LIMIT $2)
"""

_DROP_BATCHES = """
WITH counts AS (DELETE FROM tallies WHERE flow = ANY ($1::integer[])),
    codes AS (DELETE FROM outcomes WHERE flow = ANY ($1::integer[])),
    gone AS (DELETE FROM batches WHERE flow = ANY ($1::integer[]) RETURNING flow)
DELETE FROM flows WHERE id IN (SELECT flow FROM gone)
"""

_DROP_FIRINGS = """
DELETE FROM firings WHERE (schedule, fire_at) IN (
    SELECT schedule, fire_at FROM firings WHERE fire_at < $1 ORDER BY fire_at LIMIT $2)
"""

_DROP_ALERTS = """
DELETE FROM alerts WHERE (event, subject) IN (
    SELECT event, subject FROM alerts WHERE at < $1 ORDER BY at LIMIT $2)
"""

_DROP_DELIVERIES = """
DELETE FROM deliveries WHERE number IN (
    SELECT number FROM deliveries WHERE created_at < $1
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = deliveries.job)
    ORDER BY created_at LIMIT $2)
"""

# Lanes that somebody is just about to use are passed over; so are those in which a paused batch waits.
_DROP_LANES = """
DELETE FROM lanes WHERE id IN (
    SELECT id FROM lanes WHERE state = 0 AND holder IS NULL AND ready_at < $1
        AND NOT EXISTS (SELECT 1 FROM items WHERE items.lane = lanes.id)
    LIMIT $2 FOR UPDATE SKIP LOCKED)
"""

# Whatever bounds say: they could be what is wrong. What is parked belongs to a batch that has yet to be tidied up.
_STRANDED = f"""
SELECT id FROM lanes WHERE state = 0 AND holder IS NULL
    AND EXISTS (SELECT 1 FROM items WHERE items.lane = lanes.id AND items.rank < {PARKED}
        AND items.flow NOT IN {BLOCKED})
ORDER BY id LIMIT 1000
"""  # noqa: S608

_LOAD = """
SELECT (SELECT count(*) FROM lanes WHERE holder IS NOT NULL) AS held, count(*) AS ready, min(ready_at) AS since
FROM (SELECT ready_at FROM lanes WHERE state = 1 LIMIT 100000) AS ready_lanes
"""


class PostgresRetention:
    """Keeps the promise of `ports.upkeep.Retention`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._partitions = Partitions(database)

    async def make_room(self, now: datetime) -> None:
        await self._partitions.make(now.astimezone(UTC).date())

    async def bodies_before(self, when: datetime, *, most: int) -> dict[JobId, str]:
        rows = await self._database.read(_BODIES, first_job(when), most)
        return {job_of(job): blob for job, blob in rows}

    async def forget_bodies(self, jobs: Collection[JobId]) -> None:
        await self._database.write(_FORGET_BODIES, [raw(job) for job in jobs])

    async def drop_before(self, when: datetime, *, most: int) -> int:
        day = when.astimezone(UTC).date()
        days = await self._partitions.drop("results", day) + await self._partitions.drop("jobs", day)
        rows = [await self._database.write(each, first_job(when), most) for each in (_DROP_RESULTS, _DROP_JOBS)]
        return days + sum(rows) or await self._drop_what_else(when, most)

    async def drop_lanes(self, before: datetime, *, most: int) -> int:
        return await self._database.write(_DROP_LANES, to_ms(before), most)

    async def _drop_what_else(self, when: datetime, most: int) -> int:
        day = (when - USAGE_KEPT_LONGER).astimezone(UTC).date()
        dropped = await self._partitions.drop("usage", day) + await self._database.write(_DROP_USAGE, day)
        dropped += await self._drop_batches(when, most)
        for statement in (_DROP_FIRINGS, _DROP_ALERTS, _DROP_DELIVERIES):
            dropped += await self._database.write(statement, to_ms(when), most)
        return dropped

    async def _drop_batches(self, when: datetime, most: int) -> int:
        async with self._database.transaction() as connection:
            flows = [row[0] for row in await connection.fetch(_OLD_BATCHES, to_ms(when), most)]
            if not flows:
                return 0
            marks = await connection.fetch(f"{_DROP_MARKS} RETURNING 1", flows, most)
            if not marks:
                await connection.execute(_DROP_BATCHES, flows)
            return len(marks) or len(flows)


class PostgresWorkload:
    """Keeps the promise of `ports.upkeep.Workload`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, now: datetime) -> Load:
        row = await self._database.read_one(_LOAD)
        assert row is not None
        waited = max(to_ms(now) - row["since"], 0) if row["ready"] else 0
        return Load(row["ready"], row["held"], timedelta(milliseconds=waited))

    async def mend(self, now: datetime) -> int:
        async with self._database.transaction() as connection:
            lanes = await lock_ids(connection, [row["id"] for row in await connection.fetch(_STRANDED)])
            stranded = [replace(lane, low_rank=_LEAST) for lane in lanes.values() if lane.state == 0]
            await place(connection, stranded, now)
            return len(stranded)
