"""The batches on SQLite: opened, sealed, paused and cancelled in one step each, whatever is in them."""

import sqlite3
from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any

from emissary.backends.embedded import batch_statements as sql
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.ending import complete
from emissary.backends.embedded.flows import Blocked, has_ended
from emissary.backends.embedded.lists import as_list, one
from emissary.backends.embedded.statements import MAKE_FLOWS, MAKE_TENANTS
from emissary.backends.embedded.tidying import put_back, tidy_some
from emissary.model.batches import Batch, BatchState, Counts, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId, ulid_of
from emissary.model.jobs import JobState, Kind, Priority
from emissary.model.moments import from_ms, to_ms

__all__ = ["SqliteBatches"]

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
            found = _find(connection, batch)
            if found is not None:
                complete(connection, [found["flow"]])  # all of it may have ended before

        await self._database.write(work)

    async def find(self, batch: BatchId) -> Batch | None:
        row = await self._database.read(lambda connection: _find(connection, batch))
        return None if row is None else _batch(row)

    async def of_account(self, account: AccountId, *, before: BatchId | None, most: int) -> list[Batch]:
        def work(connection: sqlite3.Connection) -> list[Batch]:
            values = {"account": account, "before": before, "most": most}
            rows = (_find(connection, name) for (name,) in connection.execute(sql.OF_ACCOUNT, values).fetchall())
            return [_batch(row) for row in rows if row is not None]

        return await self._database.read(work)

    async def mark(self, batch: BatchId, state: BatchState, now: datetime) -> bool:
        blocked = _BLOCKED.get(state)
        if blocked is None:
            raise ValueError(f"a batch cannot be told to be {state.value}: that follows from what is in it")

        def work(connection: sqlite3.Connection) -> bool:
            found = _find(connection, batch)
            if found is None or has_ended(found["state"]):
                return False
            if found["state"] != state:
                connection.execute(sql.BLOCK, {"flow": found["flow"], "blocked": blocked})
                if state is BatchState.RUNNING:
                    connection.execute(sql.BRING_BACK, {"flow": found["flow"]})
                ended_at = to_ms(now) if state is BatchState.CANCELLED else None
                connection.execute(sql.MARK, {"batch": batch, "state": state, "ended_at": ended_at})
            return True

        return await self._database.write(work)

    async def again(self, batch: BatchId, states: Collection[JobState], now: datetime, *, most: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            found = _find(connection, batch)
            if found is None or not found["sealed"] or found["state"] == BatchState.CANCELLED:
                return 0
            return put_back(connection, batch, states, now, most=most)

        return await self._database.write(work)

    async def admit(self, batch: BatchId, job: JobId, *, most: int) -> bool:
        identity = ulid_of(job)
        if identity is None:
            raise ValueError(f"{job} is not the name of a job")

        def work(connection: sqlite3.Connection) -> bool:
            found = _find(connection, batch)
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
        done = 0
        while done < most:
            tidied = await self._database.write(partial(tidy_some, now=now, most=min(_TIDIED_AT_ONCE, most - done)))
            if not tidied:
                break
            done += tidied
        return done


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


def _find(connection: sqlite3.Connection, batch: BatchId) -> dict[str, Any] | None:
    cursor = connection.execute(sql.BATCH, {"batch": batch})
    row = cursor.fetchone()
    return None if row is None else dict(zip((column[0] for column in cursor.description), row, strict=True))


def _batch(row: dict[str, Any]) -> Batch:
    state, total = BatchState(row["state"]), row["submitted"]
    ends = {name: row[name] for name in ("completed", "refused", "failed", "cancelled", "cached", "credits")}
    if state is BatchState.CANCELLED:  # the rows of its jobs say so only once they are tidied up
        ends["cancelled"] = total - ends["completed"] - ends["refused"] - ends["failed"]
    return Batch(
        id=BatchId(row["id"]),
        account=AccountId(row["account"]),
        kind=Kind(row["kind"]),
        name=row["name"],
        order=row["order"],
        priority=Priority(row["priority"]),
        state=state,
        sealed=bool(row["sealed"]),
        total=total,
        active=row["active"],
        created_at=from_ms(row["created_at"]),
        finished_at=None if row["finished_at"] is None else from_ms(row["finished_at"]),
        counts=Counts(**ends),
    )
