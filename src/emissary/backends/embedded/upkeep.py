"""Retention on SQLite: rows are deleted a portion at a time. The file keeps its size, and its room is used again."""

import sqlite3
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lists import as_list, one, reader
from emissary.model.ids import JobId, ulid
from emissary.model.moments import to_ms
from emissary.model.scaling import Load
from emissary.model.usage import USAGE_KEPT_LONGER

__all__ = ["SqliteRetention", "SqliteWorkload"]

# Numbers follow the order of arrival: where the first that have objects are not old, none is.
_BODIES = """
SELECT jobs.id, first.blob FROM (
    SELECT job, blob FROM results WHERE blob IS NOT NULL ORDER BY job LIMIT :most) AS first
CROSS JOIN jobs ON jobs.number = first.job WHERE jobs.id < :before
"""

_FORGET_BODIES = """
UPDATE results SET blob = NULL
WHERE job IN (SELECT jobs.number FROM json_each(:jobs) CROSS JOIN jobs ON jobs.id = value)
"""

# Jobs that have ended, but for those whose results still have objects.
_OLD_JOBS = """
SELECT json_group_array(number) FROM (
    SELECT number FROM jobs WHERE id < :before AND state <> 'waiting'
        AND NOT EXISTS (SELECT 1 FROM results WHERE results.job = jobs.number AND results.blob IS NOT NULL)
    ORDER BY id LIMIT :most)
"""

_DROP_RESULTS = "DELETE FROM results WHERE job IN (SELECT value FROM json_each(:jobs))"
_DROP_JOBS = "DELETE FROM jobs WHERE number IN (SELECT value FROM json_each(:jobs))"

_OLD_FLOWS = """
SELECT json_group_array(flow) FROM (
    SELECT flow FROM batches WHERE finished_at < :when AND untidy IS NULL
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.flow = batches.flow AND jobs.position >= 0)
    LIMIT :most)
"""

# What a batch has seen may be far more than one portion, so the batch itself goes last.
_DROP_MARKS = """
DELETE FROM marks WHERE (flow, mark) IN (
    SELECT marks.flow, marks.mark FROM json_each(:flows) CROSS JOIN marks ON marks.flow = value LIMIT :most)
"""

_DROP_BATCHES = (
    "DELETE FROM batches WHERE flow IN (SELECT value FROM json_each(:flows))",
    "DELETE FROM outcomes WHERE flow IN (SELECT value FROM json_each(:flows))",
    "DELETE FROM tallies WHERE flow IN (SELECT value FROM json_each(:flows))",
    "DELETE FROM flows WHERE id IN (SELECT value FROM json_each(:flows))",
)

_DROP_FIRINGS = """
DELETE FROM firings WHERE (schedule, fire_at) IN (
    SELECT schedule, fire_at FROM firings WHERE fire_at < :when ORDER BY fire_at LIMIT :most)
"""

_DROP_ALERTS = """
DELETE FROM alerts WHERE (event, subject) IN (
    SELECT event, subject FROM alerts WHERE at < :when ORDER BY at LIMIT :most)
"""

_DROP_DELIVERIES = """
DELETE FROM deliveries WHERE number IN (
    SELECT number FROM deliveries WHERE created_at < :when
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = deliveries.job)
    ORDER BY created_at LIMIT :most)
"""

_DROP_USAGE = """
DELETE FROM usage WHERE (tenant, day, kind, host) IN (
    SELECT tenant, day, kind, host FROM usage WHERE day < :day ORDER BY day LIMIT :most)
"""

_DROP_LANES = """
DELETE FROM lanes WHERE id IN (
    SELECT id FROM lanes WHERE state = 'empty' AND holder IS NULL AND ready_at < :before LIMIT :most)
"""

_LOAD = """
SELECT (SELECT count(*) FROM lanes WHERE holder IS NOT NULL), count(*), min(ready_at)
FROM (SELECT ready_at FROM lanes WHERE state = 'ready' LIMIT 100000)
"""

_read_numbers = reader(int)


class SqliteRetention:
    """Keeps the promise of `ports.upkeep.Retention`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def make_room(self, now: datetime) -> None:
        """Nothing is to be made: days are not kept apart here."""

    async def bodies_before(self, when: datetime, *, most: int) -> dict[JobId, str]:
        values = {"before": _first_job(when), "most": most}
        rows = await self._database.read(lambda connection: connection.execute(_BODIES, values).fetchall())
        return {JobId(job): blob for job, blob in rows}

    async def forget_bodies(self, jobs: Collection[JobId]) -> None:
        values = {"jobs": as_list(list(jobs))}
        await self._database.write(lambda connection: connection.execute(_FORGET_BODIES, values))

    async def drop_before(self, when: datetime, *, most: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            return _drop_jobs(connection, when, most) or _drop_batches(connection, when, most)

        return await self._database.write(work) or await self._drop_notes(when, most)

    async def drop_lanes(self, before: datetime, *, most: int) -> int:
        values = {"before": to_ms(before), "most": most}
        return await self._database.write(lambda connection: connection.execute(_DROP_LANES, values).rowcount)

    async def _drop_notes(self, when: datetime, most: int) -> int:
        day = (when - USAGE_KEPT_LONGER).astimezone(UTC).date().isoformat()
        values = {"when": to_ms(when), "most": most, "day": day}

        def work(connection: sqlite3.Connection) -> int:
            statements = (_DROP_FIRINGS, _DROP_ALERTS, _DROP_DELIVERIES, _DROP_USAGE)
            return sum(connection.execute(statement, values).rowcount for statement in statements)

        return await self._database.write(work)


class SqliteWorkload:
    """Keeps the promise of `ports.upkeep.Workload`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, now: datetime) -> Load:
        held, ready, since = await self._database.read(lambda connection: connection.execute(_LOAD).fetchone())
        return Load(ready, held, timedelta(milliseconds=max(to_ms(now) - since, 0) if ready else 0))

    async def mend(self, now: datetime) -> int:  # noqa: ARG002 - the same at any time
        """There is one writer: nobody puts anything into a lane while somebody else changes it."""
        return 0


def _first_job(when: datetime) -> str:
    """The least name that a job of that moment can have."""
    return f"job_{ulid(when, bytes(10))}"


def _drop_jobs(connection: sqlite3.Connection, when: datetime, most: int) -> int:
    old = one(connection, _OLD_JOBS, {"before": _first_job(when), "most": most})
    connection.execute(_DROP_RESULTS, {"jobs": old})
    return connection.execute(_DROP_JOBS, {"jobs": old}).rowcount


def _drop_batches(connection: sqlite3.Connection, when: datetime, most: int) -> int:
    flows = one(connection, _OLD_FLOWS, {"when": to_ms(when), "most": most})
    batches = len(_read_numbers(flows))
    if not batches:
        return 0
    marks = connection.execute(_DROP_MARKS, {"flows": flows, "most": most}).rowcount
    if not marks:
        for statement in _DROP_BATCHES:
            connection.execute(statement, {"flows": flows})
    return marks or batches
