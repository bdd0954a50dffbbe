"""The records on SQLite: jobs, accounts, house rules."""

import sqlite3
from datetime import datetime

from emissary.backends.embedded.database import Database, from_ms, to_ms
from emissary.model.accounts import Account, ApiKey
from emissary.model.ids import AccountId, JobId
from emissary.model.jobs import Job, JobState, Kind, StoredResult
from emissary.model.lanes import LaneKey, WhyWaiting
from emissary.model.robots import RobotsFile

__all__ = ["SqliteAccounts", "SqliteHouseRules", "SqliteJobRecords"]

# A job that has not ended is active while its item is in the hands of its lane's holder, delayed until not_before.
_JOB = """
SELECT jobs.*, results.body, results.blob, items.not_before,
    items.taken > 0 AND items.taken = lanes.fence AND lanes.holder IS NOT NULL AS in_hand
FROM jobs
LEFT JOIN results ON results.job = jobs.id
LEFT JOIN items ON items.job = jobs.id
LEFT JOIN lanes ON lanes.id = items.lane
WHERE jobs.id = ?
"""

_PLACE_IN_LINE = """
SELECT lanes.key, lanes.state, lanes.ready_at, lanes.reason, items.not_before,
    items.taken > 0 AND items.taken = lanes.fence AND lanes.holder IS NOT NULL,
    (SELECT count(*) FROM (
        SELECT 1 FROM items AS before
        WHERE before.lane = items.lane AND (before.rank, before.job) < (items.rank, items.job) LIMIT 10000))
FROM items JOIN lanes ON lanes.id = items.lane WHERE items.job = ?
"""


class SqliteJobRecords:
    """Keeps the promise of `ports.records.JobRecords`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def job(self, job: JobId, now: datetime) -> Job | None:
        return await self._database.read(lambda connection: _read_job(connection, job, now))

    async def why_waiting(self, job: JobId, now: datetime) -> WhyWaiting | None:
        return await self._database.read(lambda connection: _read_place(connection, job, now))

    async def depth(self) -> int:
        count: int = await self._database.read(
            lambda connection: connection.execute("SELECT count(*) FROM items").fetchone()[0]
        )
        return count


def _read_job(connection: sqlite3.Connection, job: JobId, now: datetime) -> Job | None:
    cursor = connection.execute(_JOB, (job,))
    values = cursor.fetchone()
    if values is None:
        return None
    row = dict(zip((column[0] for column in cursor.description), values, strict=True))
    outcome = row["outcome"]
    return Job(
        id=JobId(row["id"]),
        account=AccountId(row["account"]),
        kind=Kind(row["kind"]),
        state=_state_of(row["state"], in_hand=bool(row["in_hand"]), delayed=(row["not_before"] or 0) > to_ms(now)),
        lane=row["lane"],
        order=row["order"].encode(),
        failures=row["failures"],
        created_at=from_ms(row["created_at"]),
        started_at=_moment(row["started_at"]),
        finished_at=_moment(row["finished_at"]),
        result=None if outcome is None else StoredResult(outcome.encode(), row["body"], row["blob"]),
    )


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_ms(value)


def _state_of(written: str, *, in_hand: bool, delayed: bool) -> JobState:
    state = JobState(written)
    if state is not JobState.WAITING:
        return state
    if in_hand:
        return JobState.ACTIVE
    return JobState.DELAYED if delayed else JobState.WAITING


def _read_place(connection: sqlite3.Connection, job: JobId, now: datetime) -> WhyWaiting | None:
    row = connection.execute(_PLACE_IN_LINE, (job,)).fetchone()
    if row is None:
        return None
    key, state, ready_at, reason, not_before, in_hand, ahead = row
    if in_hand:
        return None
    lane = LaneKey(key)
    # The time of a leased lane is its lease's end, and that is nothing an item has to wait for.
    rested_at = 0 if reason == "leased" else ready_at
    if not_before > max(rested_at, to_ms(now)):
        return WhyWaiting(lane, "back_off", from_ms(not_before), ahead)
    if state == "waiting" and reason != "leased":
        return WhyWaiting(lane, reason or "gap", from_ms(ready_at), ahead)
    if state == "paused":
        return WhyWaiting(lane, "paused", None, ahead)
    return WhyWaiting(lane, "in_line", None, ahead)


class SqliteAccounts:
    """Keeps the promise of `ports.records.Accounts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open_account(self, account: Account) -> None:
        values = (account.id, account.name, to_ms(account.created_at))
        statement = "INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        await self._database.write(lambda connection: connection.execute(statement, values))

    async def add_key(self, key: ApiKey) -> None:
        values = (key.id, key.account, key.digest, to_ms(key.created_at))
        statement = "INSERT INTO keys (id, account, digest, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        await self._database.write(lambda connection: connection.execute(statement, values))

    async def account_by_key(self, digest: bytes) -> AccountId | None:
        statement = "SELECT account FROM keys WHERE digest = ?"
        row = await self._database.read(lambda connection: connection.execute(statement, (digest,)).fetchone())
        return None if row is None else AccountId(row[0])

    async def has_keys(self) -> bool:
        statement = "SELECT EXISTS (SELECT 1 FROM keys)"
        row = await self._database.read(lambda connection: connection.execute(statement).fetchone())
        return bool(row[0])


class SqliteHouseRules:
    """Keeps the promise of `ports.records.HouseRules`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rules_of(self, origin: str) -> RobotsFile | None:
        statement = "SELECT status, body, fetched_at, retry_at, location FROM robots WHERE origin = ?"
        row = await self._database.read(lambda connection: connection.execute(statement, (origin,)).fetchone())
        return None if row is None else RobotsFile(row[0], row[1], from_ms(row[2]), _moment(row[3]), row[4])

    async def keep_rules(self, origin: str, file: RobotsFile) -> None:
        statement = """INSERT OR REPLACE INTO robots (origin, status, body, fetched_at, retry_at, location)
                       VALUES (?, ?, ?, ?, ?, ?)"""
        later = None if file.retry_at is None else to_ms(file.retry_at)
        values = (origin, file.status, file.body, to_ms(file.fetched_at), later, file.location)
        await self._database.write(lambda connection: connection.execute(statement, values))

    async def forget_rules(self, before: datetime) -> int:
        statement = "DELETE FROM robots WHERE fetched_at < ?"
        return await self._database.write(lambda connection: connection.execute(statement, (to_ms(before),)).rowcount)
