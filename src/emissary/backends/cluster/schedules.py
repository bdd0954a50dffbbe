"""Schedules on PostgreSQL. A firing, its jobs and the next moment are one transaction."""

from datetime import datetime

from emissary.backends.cluster.database import Database
from emissary.backends.cluster.flows import FlowBook
from emissary.backends.cluster.leadership import hold_term
from emissary.backends.cluster.lining_up import raw, submit
from emissary.backends.cluster.settling import job_of
from emissary.backends.schedule_rows import COLUMNS, due_of, values_of
from emissary.model.ids import AccountId, JobId, ScheduleId
from emissary.model.leadership import Term
from emissary.model.moments import from_ms, to_ms
from emissary.model.schedules import Due, Fire, Firing, Schedule

__all__ = ["PostgresSchedules"]

_NAMES = ", ".join(f'"{name}"' for name in COLUMNS)
_VALUES = ", ".join(f"${number + 1}" for number in range(len(COLUMNS)))
_ADD = f"INSERT INTO schedules ({_NAMES}) VALUES ({_VALUES})"  # noqa: S608 - our own names

_REMOVE = "DELETE FROM schedules WHERE id = $1 AND account = $2 RETURNING 1"
_FORGET_FIRES = "DELETE FROM firings WHERE schedule = $1"
_OF_ACCOUNT = "SELECT * FROM schedules WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3"
_FIRES = "SELECT fire_at, job FROM firings WHERE schedule = $1 ORDER BY fire_at DESC LIMIT $2"
_DUE = "SELECT * FROM schedules WHERE next_at <= $1 ORDER BY next_at LIMIT $2"

# Whoever planned a firing for another moment than this was slower than somebody else.
_MOVE_ON = "UPDATE schedules SET next_at = $3 WHERE id = $1 AND next_at = $2 RETURNING 1"

_NOTE_FIRES = """
INSERT INTO firings (schedule, fire_at, job) SELECT $1, fire_at, job FROM unnest($2::bigint[], $3::uuid[])
    AS given (fire_at, job)
ON CONFLICT DO NOTHING RETURNING job
"""


class PostgresSchedules:
    """Keeps the promise of `ports.schedules.Schedules`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, schedule: Schedule, next_at: datetime) -> None:
        await self._database.write(_ADD, *values_of(Due(schedule, next_at)))

    async def remove(self, schedule: ScheduleId, account: AccountId) -> bool:
        async with self._database.transaction() as connection:
            if not await connection.fetchval(_REMOVE, schedule, account):
                return False
            await connection.execute(_FORGET_FIRES, schedule)
            return True

    async def of_account(self, account: AccountId, *, after: ScheduleId | None, most: int) -> list[Due]:
        return [due_of(row) for row in await self._database.read(_OF_ACCOUNT, account, after or "", most)]

    async def fires(self, schedule: ScheduleId, *, most: int) -> list[Fire]:
        return [Fire(from_ms(moment), job_of(job)) for moment, job in await self._database.read(_FIRES, schedule, most)]

    async def due(self, now: datetime, *, most: int) -> list[Due]:
        return [due_of(row) for row in await self._database.read(_DUE, to_ms(now), most)]

    async def fired(self, term: Term, firing: Firing, now: datetime) -> frozenset[JobId]:
        async with self._database.transaction() as connection:
            await hold_term(connection, term)
            if not await connection.fetchval(_MOVE_ON, firing.schedule, to_ms(firing.due_at), to_ms(firing.next_at)):
                return frozenset()
            moments, ids = [to_ms(moment) for moment, _ in firing.jobs], [raw(job.id) for _, job in firing.jobs]
            noted = {row[0] for row in await connection.fetch(_NOTE_FIRES, firing.schedule, moments, ids)}
            fresh = [job for _, job in firing.jobs if raw(job.id) in noted]
            return await submit(connection, fresh, now, FlowBook()) if fresh else frozenset()
