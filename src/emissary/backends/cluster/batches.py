"""Batches and their ledgers on PostgreSQL."""

from collections.abc import Collection
from datetime import datetime

from emissary.backends.batch_rows import batch_of
from emissary.backends.cluster import batch_statements as sql
from emissary.backends.cluster.database import Connection, Database, Record
from emissary.backends.cluster.lining_up import LaneRow, Standing, lock_ids, place, put_in_line
from emissary.backends.cluster.settling import STATES, Tally, count, happen, job_of
from emissary.backends.cluster.statements import MAKE_TENANTS
from emissary.backends.cluster.tidying import fresh_ranks, tidy_some
from emissary.model.batches import INTAKE_LOST, LOST_AFTER, Batch, BatchState, Finished, LedgerLine, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId, ulid_of
from emissary.model.jobs import JobState, StoredResult
from emissary.model.moments import from_ms, to_ms
from emissary.model.webhooks import EventType

__all__ = ["PostgresBatches", "PostgresLedger"]

_TIDIED_AT_ONCE = 1_000  # whoever claims finds their lanes locked, and whoever settles waits for them
_BLOCKED = {BatchState.RUNNING: 0, BatchState.PAUSED: 1, BatchState.CANCELLED: 2}


class PostgresBatches:
    """Keeps the promise of `ports.batches.Batches`. `shard` is this process's own part of the counts."""

    def __init__(self, database: Database, shard: int) -> None:
        self._database = database
        self._shard = shard

    async def open(self, batch: NewBatch, now: datetime) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(MAKE_TENANTS, [batch.account])
            values = (batch.account, batch.kind, batch.name, batch.order, batch.priority.value, to_ms(now))
            await connection.execute(sql.OPEN, batch.id, *values)

    async def seal(self, batch: BatchId) -> None:
        await self._database.write(sql.SEAL, batch)

    async def hear(self, batch: BatchId, now: datetime) -> bool:
        return await self._database.write(sql.HEAR, batch, to_ms(now)) > 0

    async def find(self, batch: BatchId) -> Batch | None:
        row = await self._database.read_one(f"{sql.BATCH} WHERE batches.id = $1", batch)
        return None if row is None else batch_of(row)

    async def mark(self, batch: BatchId, state: BatchState, now: datetime) -> bool:
        if state not in _BLOCKED:
            raise ValueError(f"a batch is {state.value} when all in it has ended, and not because somebody says so")
        return await self._mark(batch, state, now)

    async def _mark(
        self, batch: BatchId, state: BatchState, now: datetime, *, unheard_since: datetime | None = None
    ) -> bool:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(sql.LOCK_BATCH, batch)
            if row is None or row["state"] in ("completed", "cancelled"):
                return False
            if unheard_since is not None and (row["sealed"] or row["heard_at"] >= to_ms(unheard_since)):
                return False
            # A batch that is complete and only not noted as such has ended as well.
            if row["sealed"] and row["submitted"] == await connection.fetchval(sql.ENDED, row["flow"]):
                return False
            if row["state"] != state.value:
                await connection.execute(sql.WAIT_FOR_ENDS, row["flow"])
                await connection.execute(sql.BLOCK, row["flow"], _BLOCKED[state])
                ended = to_ms(now) if state is BatchState.CANCELLED else None
                reason = None if unheard_since is None else INTAKE_LOST
                await connection.execute(sql.MARK, batch, state.value, ended, reason)
                if ended is not None:
                    await happen(connection, EventType.BATCH_CANCELLED, [(batch, row["account"], ended)])
            return True

    async def again(self, batch: BatchId, states: Collection[JobState], now: datetime, *, most: int) -> int:
        numbers = [STATES[state] for state in states]
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(sql.LOCK_BATCH, batch)
            if row is None or not row["sealed"] or row["state"] == "cancelled":
                return 0
            jobs = await connection.fetch(sql.ENDED_SO, row["flow"], numbers, most)
            if not jobs:
                return 0
            if row["submitted"] == await connection.fetchval(sql.ENDED, row["flow"]):
                # It had ended, be it while it was paused: now it runs again.
                await connection.execute(sql.BLOCK, row["flow"], _BLOCKED[BatchState.RUNNING])
                await connection.execute(sql.REOPEN, batch)
            lanes = await self._line_up_anew(connection, row, jobs, now)
            tallies: dict[int, Tally] = {row["flow"]: Tally()}
            for job in jobs:
                code = None if job["outcome"] is None else StoredResult(job["outcome"]).code
                tallies[row["flow"]].add(JobState(_NAMES[job["state"]]), -1, code=code)
            await count(connection, tallies, self._shard)
            await connection.execute(sql.FORGET_RESULTS, [job["id"] for job in jobs])
            await connection.execute(sql.MAKE_NEW, [job["id"] for job in jobs])
            await place(connection, lanes.values(), now)
            return len(jobs)

    async def admit(self, batch: BatchId, job: JobId, *, most: int) -> bool:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(sql.LOCK_BATCH, batch)
            if row is None:
                return False
            if await connection.fetchval(sql.WAS_ADMITTED, row["flow"], ulid_of(job)):
                return True
            if row["admitted"] >= most:
                return False
            await connection.execute(sql.ADMIT, batch, row["flow"], ulid_of(job))
            return True

    async def tidy(self, now: datetime, *, most: int) -> int:
        done = await self._clear_up(now, most)
        for row in await self._database.read(sql.UNTIDY):
            while done < most and (some := await self._tidy_one(row["id"], now, min(_TIDIED_AT_ONCE, most - done))):
                done += some
        return done if done >= most else done + await self._database.write(sql.COMPLETE, to_ms(now))

    async def _clear_up(self, now: datetime, most: int) -> int:
        """Cancel what nobody fills any more, and forget what was missed long ago; how much it was."""
        before = now - LOST_AFTER
        lost = [row["id"] for row in await self._database.read(sql.LOST, to_ms(before), most)]
        done = [await self._mark(batch, BatchState.CANCELLED, now, unheard_since=before) for batch in lost]
        return sum(done) + await self._database.write(sql.DROP_MISSES, to_ms(now), most - len(lost))

    async def _tidy_one(self, batch: BatchId, now: datetime, most: int) -> int:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(sql.LOCK_BATCH, batch)
            if row is None or row["tidied_to"] is None:
                return 0
            return await tidy_some(connection, row, now, most=most, shard=self._shard)

    async def _line_up_anew(
        self, connection: Connection, row: Record, jobs: list[Record], now: datetime
    ) -> dict[int, LaneRow]:
        locked = await lock_ids(connection, {job["lane"] for job in jobs})
        ranks = await fresh_ranks(connection, row, len(jobs))
        ids, lanes = [job["id"] for job in jobs], [job["lane"] for job in jobs]
        await connection.execute(sql.RERANK_JOBS, ids, ranks)
        flows, at_once = [row["flow"]] * len(jobs), [to_ms(now)] * len(jobs)
        await put_in_line(connection, locked, Standing(lanes, flows, ranks, at_once, ids))
        return locked


_NAMES = {number: state.value for state, number in STATES.items()}


class PostgresLedger:
    """Keeps the promise of `ports.batches.Ledger`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_account(self, account: AccountId, *, before: BatchId | None, most: int) -> list[Batch]:
        return [batch_of(row) for row in await self._database.read(sql.OF_ACCOUNT, account, before, most)]

    async def order_of(self, batch: BatchId) -> bytes | None:
        row = await self._database.read_one('SELECT "order" FROM batches WHERE id = $1', batch)
        return None if row is None else bytes(row[0])

    async def lines(
        self, batch: BatchId, *, after: int, most: int, states: Collection[JobState] | None = None
    ) -> list[LedgerLine]:
        wanted = None if states is None else [state.value for state in states]
        rows = await self._database.read(sql.LINES, batch, after, most, wanted)
        return [_line(row) for row in rows]

    async def at(self, batch: BatchId, positions: Collection[int]) -> list[LedgerLine]:
        return [_line(row) for row in await self._database.read(sql.LINES_AT, batch, list(positions))]

    async def misses(self, account: AccountId, marks: Collection[bytes], now: datetime) -> dict[bytes, str]:
        rows = await self._database.read(sql.MISSES, account, list(marks), to_ms(now))
        return {bytes(mark): code for mark, code in rows}

    async def halted(self, batches: Collection[BatchId]) -> frozenset[BatchId]:
        return frozenset(BatchId(row["id"]) for row in await self._database.read(sql.HALTED, list(batches)))

    async def all_told(self, batch: BatchId) -> bool:
        row = await self._database.read_one(sql.ALL_TOLD, batch)
        return row is not None and bool(row[0])

    async def finished(self, batch: BatchId, *, after: str, most: int) -> list[Finished]:
        transaction, job = _read_cursor(after)
        rows = await self._database.read(sql.FINISHED, batch, transaction, job, most)
        return [
            Finished(
                _cursor(row["written_by"], row["id"]),
                _line(row),
                StoredResult(row["outcome"], row["body"], row["blob"]),
            )
            for row in rows
        ]


def _line(row: Record) -> LedgerLine:
    finished = row["finished_at"]
    return LedgerLine(
        job=job_of(row["id"]),
        position=row["position"],
        state=JobState(row["shown"]),
        lane=row["lane_key"],
        order=row["order"],
        failures=row["failures"],
        outcome=row["outcome"],
        finished_at=None if finished is None else from_ms(finished),
    )


def _cursor(transaction: str, job: bytes) -> str:
    return f"{transaction}-{job_of(job).removeprefix('job_')}"


def _read_cursor(text: str) -> tuple[str, bytes]:
    """Where to read on. What is not a cursor of ours leads to the beginning of nothing, and is refused above."""
    transaction, _, job = text.partition("-")
    identity = ulid_of(job)
    if not text:
        return "0", bytes(16)
    if not transaction.isdigit() or identity is None:
        raise ValueError(f"{text!r} is not a cursor")
    return transaction, identity
