"""The batches on SQLite: opened, sealed, paused and cancelled in one step each, whatever is in them."""

import sqlite3
from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any

from emissary.backends.batch_rows import batch_of
from emissary.backends.embedded import batch_statements as sql
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.ending import complete, happen
from emissary.backends.embedded.flows import Blocked, has_ended
from emissary.backends.embedded.lists import as_list, one
from emissary.backends.embedded.statements import MAKE_FLOWS, MAKE_TENANTS
from emissary.backends.embedded.tidying import put_back, tidy_some
from emissary.model.batches import INTAKE_LOST, LOST_AFTER, Batch, BatchState, NewBatch
from emissary.model.ids import BatchId, JobId, ulid_of
from emissary.model.jobs import JobState
from emissary.model.moments import to_ms
from emissary.model.webhooks import EventType

__all__ = ["SqliteBatches", "find_row"]

_BLOCKED = {
    BatchState.RUNNING: Blocked.NOT,
    BatchState.PAUSED: Blocked.PAUSED,
    BatchState.CANCELLED: Blocked.CANCELLED,
}
_TIDIED_AT_ONCE = 500  # more would keep others who write waiting


class SqliteBatches:
    """Keeps the promise of `ports.batches.Batches`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, batch: NewBatch, now: datetime) -> None:
        def work(connection: sqlite3.Connection) -> None:
            flow = {"flows": as_list([(batch.id, batch.account)])}
            connection.execute(MAKE_TENANTS, flow)
            connection.execute(MAKE_FLOWS, flow)
            connection.execute(sql.OPEN, _columns(batch, now))

        await self._database.write(work)

    async def seal(self, batch: BatchId) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(sql.SEAL, {"batch": batch})
            found = find_row(connection, batch)
            if found is not None:
                complete(connection, [found["flow"]])  # all of it may have ended before

        await self._database.write(work)

    async def hear(self, batch: BatchId, now: datetime) -> bool:
        values = {"batch": batch, "now": to_ms(now)}
        return bool(await self._database.write(lambda connection: connection.execute(sql.HEAR, values).rowcount))

    async def find(self, batch: BatchId) -> Batch | None:
        row = await self._database.read(lambda connection: find_row(connection, batch))
        return None if row is None else batch_of(row)

    async def mark(self, batch: BatchId, state: BatchState, now: datetime) -> bool:
        if state not in _BLOCKED:
            raise ValueError(f"a batch cannot be told to be {state.value}: that follows from what is in it")
        return await self._database.write(lambda connection: _mark(connection, batch, state, now=now))

    async def again(self, batch: BatchId, states: Collection[JobState], now: datetime, *, most: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            found = find_row(connection, batch)
            if found is None or not found["sealed"] or found["state"] == BatchState.CANCELLED:
                return 0
            return put_back(connection, batch, states, now, most=most)

        return await self._database.write(work)

    async def admit(self, batch: BatchId, job: JobId, *, most: int) -> bool:
        identity = ulid_of(job)
        if identity is None:
            raise ValueError(f"{job} is not the name of a job")

        def work(connection: sqlite3.Connection) -> bool:
            found = find_row(connection, batch)
            if found is None:
                return False
            values = {"flow": found["flow"], "job": identity, "most": most}
            if one(connection, sql.WAS_ADMITTED, values):
                return True
            if not connection.execute(sql.ADMIT, values).rowcount:
                return False
            connection.execute(sql.MARK_ADMITTED, values)
            return True

        return await self._database.write(work)

    async def tidy(self, now: datetime, *, most: int) -> int:
        done = await self._database.write(partial(_clear_up, now=now, most=most))
        while done < most:
            tidied = await self._database.write(partial(tidy_some, now=now, most=min(_TIDIED_AT_ONCE, most - done)))
            if not tidied:
                break
            done += tidied
        return done


def _mark(
    connection: sqlite3.Connection, batch: BatchId, state: BatchState, *, now: datetime, reason: str | None = None
) -> bool:
    found = find_row(connection, batch)
    if found is None or has_ended(found["state"]):
        return False
    if found["state"] != state:
        connection.execute(sql.BLOCK, {"flow": found["flow"], "blocked": _BLOCKED[state]})
        if state is BatchState.RUNNING:
            connection.execute(sql.BRING_BACK, {"flow": found["flow"]})
        ended_at = to_ms(now) if state is BatchState.CANCELLED else None
        connection.execute(sql.MARK, {"batch": batch, "state": state, "ended_at": ended_at, "reason": reason})
        if ended_at is not None:
            happen(connection, EventType.BATCH_CANCELLED, [(batch, found["account"], ended_at)])
    return True


def _clear_up(connection: sqlite3.Connection, now: datetime, most: int) -> int:
    """Cancel what nobody fills any more, and forget what was missed long ago; how much it was."""
    lost = connection.execute(sql.LOST, {"before": to_ms(now - LOST_AFTER), "most": most}).fetchall()
    for (batch,) in lost:
        _mark(connection, batch, BatchState.CANCELLED, now=now, reason=INTAKE_LOST)
    values = {"now": to_ms(now), "most": most - len(lost)}
    return len(lost) + connection.execute(sql.DROP_MISSES, values).rowcount


def _columns(batch: NewBatch, now: datetime) -> dict[str, Any]:
    return {
        "id": batch.id,
        "account": batch.account,
        "kind": batch.kind,
        "name": batch.name,
        "order": batch.order,
        "priority": batch.priority,
        "now": to_ms(now),
    }


def find_row(connection: sqlite3.Connection, batch: BatchId) -> dict[str, Any] | None:
    """The columns of a batch, by their names."""
    cursor = connection.execute(sql.BATCH, {"batch": batch})
    row = cursor.fetchone()
    return None if row is None else dict(zip((column[0] for column in cursor.description), row, strict=True))
