"""Schedules on SQLite. A firing, its jobs and the next moment are one transaction."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.leadership import hold_term
from emissary.backends.embedded.lining_up import submit
from emissary.backends.schedule_rows import COLUMNS, Row, due_of, values_of
from emissary.model.ids import AccountId, JobId, ScheduleId
from emissary.model.leadership import Term
from emissary.model.moments import from_ms, to_ms
from emissary.model.schedules import Due, Fire, Firing, Schedule

__all__ = ["SqliteSchedules"]

_NAMES = ", ".join(f'"{name}"' for name in COLUMNS)
_ADD = f"INSERT INTO schedules ({_NAMES}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 - our own names
_DUE = f"SELECT {_NAMES} FROM schedules WHERE next_at <= ? ORDER BY next_at LIMIT ?"  # noqa: S608
_OF_ACCOUNT = f"SELECT {_NAMES} FROM schedules WHERE account = ? AND id > ? ORDER BY id LIMIT ?"  # noqa: S608

_REMOVE = "DELETE FROM schedules WHERE id = ? AND account = ?"
_FORGET_FIRES = "DELETE FROM firings WHERE schedule = ?"
_FIRES = "SELECT fire_at, job FROM firings WHERE schedule = ? ORDER BY fire_at DESC LIMIT ?"

# Whoever planned a firing for another moment than this was slower than somebody else.
_MOVE_ON = "UPDATE schedules SET next_at = ? WHERE id = ? AND next_at = ?"

_NOTE_FIRE = "INSERT INTO firings (schedule, fire_at, job) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"


class SqliteSchedules:
    """Keeps the promise of `ports.schedules.Schedules`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, schedule: Schedule, next_at: datetime) -> None:
        values = values_of(Due(schedule, next_at))
        await self._database.write(lambda connection: connection.execute(_ADD, values))

    async def remove(self, schedule: ScheduleId, account: AccountId) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if not connection.execute(_REMOVE, (schedule, account)).rowcount:
                return False
            connection.execute(_FORGET_FIRES, (schedule,))
            return True

        return await self._database.write(work)

    async def of_account(self, account: AccountId, *, after: ScheduleId | None, most: int) -> list[Due]:
        return await self._read(_OF_ACCOUNT, (account, after or "", most))

    async def fires(self, schedule: ScheduleId, *, most: int) -> list[Fire]:
        rows = await self._database.read(lambda connection: connection.execute(_FIRES, (schedule, most)).fetchall())
        return [Fire(from_ms(moment), JobId(job)) for moment, job in rows]

    async def due(self, now: datetime, *, most: int) -> list[Due]:
        return await self._read(_DUE, (to_ms(now), most))

    async def fired(self, term: Term, firing: Firing, now: datetime) -> frozenset[JobId]:
        def work(connection: sqlite3.Connection) -> frozenset[JobId]:
            hold_term(connection, term)
            moved = (to_ms(firing.next_at), firing.schedule, to_ms(firing.due_at))
            if not connection.execute(_MOVE_ON, moved).rowcount:
                return frozenset()
            fresh = [
                job
                for moment, job in firing.jobs
                if connection.execute(_NOTE_FIRE, (firing.schedule, to_ms(moment), job.id)).rowcount
            ]
            return submit(connection, fresh, now) if fresh else frozenset()

        return await self._database.write(work)

    async def _read(self, statement: str, values: Sequence[Any]) -> list[Due]:
        rows = await self._database.read(lambda connection: connection.execute(statement, values).fetchall())
        return [due_of(_named(row)) for row in rows]


def _named(row: tuple[Any, ...]) -> Row:
    return dict(zip(COLUMNS, row, strict=True))
