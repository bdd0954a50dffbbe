"""The ledgers of batches on SQLite."""

import sqlite3
from collections.abc import Collection
from datetime import datetime
from typing import Any

from emissary.backends.batch_rows import batch_of
from emissary.backends.embedded import batch_statements as sql
from emissary.backends.embedded.batches import find_row
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lists import as_list
from emissary.model.batches import Batch, Finished, LedgerLine
from emissary.model.ids import AccountId, BatchId, JobId
from emissary.model.jobs import JobState, StoredResult
from emissary.model.moments import from_ms, to_ms

__all__ = ["SqliteLedger"]

_LONGEST_CURSOR = 18  # digits; more may not fit into the column
_BAD_ENDS = frozenset({JobState.FAILED, JobState.REFUSED})


class SqliteLedger:
    """Keeps the promise of `ports.batches.Ledger`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_account(self, account: AccountId, *, before: BatchId | None, most: int) -> list[Batch]:
        def work(connection: sqlite3.Connection) -> list[Batch]:
            values = {"account": account, "before": before, "most": most}
            rows = (find_row(connection, name) for (name,) in connection.execute(sql.OF_ACCOUNT, values).fetchall())
            return [batch_of(row) for row in rows if row is not None]

        return await self._database.read(work)

    async def order_of(self, batch: BatchId) -> bytes | None:
        rows = await self._read(sql.ORDER_OF, {"batch": batch})
        return rows[0][0] if rows else None

    async def lines(
        self, batch: BatchId, *, after: int, most: int, states: Collection[JobState] | None = None
    ) -> list[LedgerLine]:
        statement = sql.LINES_BADLY_ENDED if states is not None and _BAD_ENDS.issuperset(states) else sql.LINES
        wanted = None if states is None else as_list(list(states))
        rows = await self._read(statement, {"batch": batch, "after": after, "most": most, "states": wanted})
        return [_line(row) for row in rows]

    async def at(self, batch: BatchId, positions: Collection[int]) -> list[LedgerLine]:
        rows = await self._read(sql.LINES_AT, {"batch": batch, "positions": as_list(list(positions))})
        return [_line(row) for row in rows]

    async def misses(self, account: AccountId, marks: Collection[bytes], now: datetime) -> dict[bytes, str]:
        places, joined = as_list(list(range(len(marks)))), b"".join(marks)
        rows = await self._read(sql.MISSES, {"account": account, "places": places, "marks": joined, "now": to_ms(now)})
        return dict(rows)

    async def finished(self, batch: BatchId, *, after: str, most: int) -> list[Finished]:
        if after and not (after.isdecimal() and len(after) <= _LONGEST_CURSOR):
            raise ValueError(f"{after!r} is not a cursor")
        rows = await self._read(sql.FINISHED, {"batch": batch, "after": int(after or 0), "most": most})
        return [_finished(row) for row in rows]

    async def halted(self, batches: Collection[BatchId]) -> frozenset[BatchId]:
        return frozenset(BatchId(name) for (name,) in await self._read(sql.HALTED, {"batches": as_list(list(batches))}))

    async def all_told(self, batch: BatchId) -> bool:  # noqa: ARG002 - the same for all of them
        """What is committed can be seen: there is one writer."""
        return True

    async def _read(self, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        def work(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            return connection.execute(statement, values).fetchall()

        return await self._database.read(work)


def _line(row: tuple[Any, ...]) -> LedgerLine:
    job, position, state, lane, order, failures, outcome, finished_at = row[:8]
    return LedgerLine(
        job=JobId(job),
        position=position,
        state=JobState(state),
        lane=lane,
        order=order.encode(),
        failures=failures,
        outcome=None if outcome is None else outcome.encode(),
        finished_at=None if finished_at is None else from_ms(finished_at),
    )


def _finished(row: tuple[Any, ...]) -> Finished:
    line, (seq, body, blob) = _line(row), row[8:]
    # A result is written with its outcome.
    return Finished(str(seq), line, StoredResult(line.outcome or b"", body, blob))
