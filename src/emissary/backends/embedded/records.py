"""The records on SQLite: jobs, accounts, house rules."""

import sqlite3
from datetime import datetime, timedelta
from typing import Any

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.flows import Blocked
from emissary.backends.embedded.job_list import list_jobs
from emissary.backends.embedded.lists import one
from emissary.model.accounts import Account
from emissary.model.ids import AccountId, BatchId, JobId
from emissary.model.job_list import JobPage, JobWish
from emissary.model.jobs import Job, JobState, Kind, StoredResult
from emissary.model.lanes import LaneKey, WhyWaiting
from emissary.model.moments import from_ms, to_ms
from emissary.model.robots import RobotsFile
from emissary.model.waiting import PLAIN_TERMS, Standing, Terms, why_waiting

__all__ = ["SqliteAccounts", "SqliteHouseRules", "SqliteJobRecords"]

# A job that has not ended is active while its item is in the hands of its lane's holder, delayed until not_before. One
# whose batch was cancelled has ended with it, although its own row may not say so yet.
_JOB = """
SELECT jobs.id, jobs.kind, jobs.state, jobs."order", jobs.failures, jobs.created_at, jobs.started_at, jobs.outcome,
    jobs.position, lanes.key AS lane, tenants.account, batches.id AS batch, flows.blocked,
    coalesce(jobs.finished_at, CASE WHEN flows.blocked = 2 THEN batches.finished_at END) AS finished_at,
    results.body, results.blob, items.not_before,
    lanes.holder IS NOT NULL AND items.rank <= lanes.taken_rank AND items.not_before <= lanes.taken_at AS in_hand
FROM jobs
JOIN lanes ON lanes.id = jobs.lane JOIN flows ON flows.id = jobs.flow JOIN tenants ON tenants.id = flows.tenant
LEFT JOIN batches ON batches.flow = jobs.flow
LEFT JOIN results ON results.job = jobs.number
LEFT JOIN items ON items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.number
WHERE jobs.id = ?
"""

_PLACE_IN_LINE = """
SELECT lanes.key, lanes.state, lanes.ready_at, lanes.reason, items.not_before, flows.blocked, lanes.holder IS NOT NULL,
    lanes.gap_ms, lanes.stretch, tenants.most_active,
    (SELECT count(*) FROM lanes AS held WHERE held.holder IS NOT NULL AND held.tenant = flows.tenant),
    (SELECT count(*) FROM (
        SELECT 1 FROM items AS before
        WHERE before.lane = items.lane AND (before.rank, before.job) < (items.rank, items.job) LIMIT 10000))
FROM jobs JOIN items ON items.lane = jobs.lane AND items.rank = jobs.rank AND items.job = jobs.number
JOIN lanes ON lanes.id = jobs.lane JOIN flows ON flows.id = jobs.flow JOIN tenants ON tenants.id = flows.tenant
WHERE jobs.id = ? AND flows.blocked < 2 AND NOT (lanes.holder IS NOT NULL
    AND coalesce(items.rank <= lanes.taken_rank, false) AND items.not_before <= lanes.taken_at)
"""

# Whatever came in and has not ended; of a cancelled flow everything has.
_DEPTH = """
SELECT coalesce(sum(submitted - coalesce(completed + refused + failed + cancelled, 0)), 0)
FROM flows LEFT JOIN tallies ON tallies.flow = flows.id WHERE flows.blocked < 2
"""


class SqliteJobRecords:
    """Keeps the promise of `ports.records.JobRecords`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def job(self, job: JobId, now: datetime) -> Job | None:
        return await self._database.read(lambda connection: _read_job(connection, job, now))

    async def why_waiting(self, job: JobId, now: datetime, terms: Terms = PLAIN_TERMS) -> WhyWaiting | None:
        standing = await self._database.read(lambda connection: _read_standing(connection, job))
        return None if standing is None else why_waiting(standing, now, terms)

    async def listed(self, wish: JobWish, now: datetime, *, before: JobId | None, most: int) -> JobPage:
        return await self._database.read(lambda found: list_jobs(found, wish, now, before=before, most=most))

    async def depth(self) -> int:
        depth: int = await self._database.read(lambda connection: one(connection, _DEPTH))
        return depth


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
        state=_state_of(row, now),
        lane=row["lane"],
        order=row["order"].encode(),
        failures=row["failures"],
        created_at=from_ms(row["created_at"]),
        started_at=_moment(row["started_at"]),
        finished_at=_moment(row["finished_at"]),
        result=None if outcome is None else StoredResult(outcome.encode(), row["body"], row["blob"]),
        batch=None if row["batch"] is None else BatchId(row["batch"]),
        position=max(row["position"], 0),
    )


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_ms(value)


def _state_of(row: dict[str, Any], now: datetime) -> JobState:
    state = JobState(row["state"])
    if state is not JobState.WAITING:
        return state
    if row["blocked"] == Blocked.CANCELLED:
        return JobState.CANCELLED
    if row["in_hand"]:
        return JobState.ACTIVE
    return JobState.DELAYED if (row["not_before"] or 0) > to_ms(now) else JobState.WAITING


def _read_standing(connection: sqlite3.Connection, job: JobId) -> Standing | None:
    row = connection.execute(_PLACE_IN_LINE, (job,)).fetchone()
    if row is None:
        return None
    key, state, ready_at, reason, not_before, blocked, held, gap_ms, stretch, most_active, active, ahead = row
    return Standing(
        lane=LaneKey(key),
        is_paused=bool(blocked) or state == "paused",
        is_held=bool(held),
        # The time of a leased lane is its lease's end, and that is nothing an item has to wait for.
        rests_until=from_ms(ready_at) if state == "waiting" and reason != "leased" else None,
        reason=reason,
        not_before=from_ms(not_before),
        ahead=ahead,
        gap=None if gap_ms is None else timedelta(milliseconds=gap_ms),
        stretch=stretch,
        active=active,
        most_active=most_active,
    )


class SqliteAccounts:
    """Keeps the promise of `ports.records.Accounts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open_account(self, account: Account) -> None:
        values = (account.id, account.name, to_ms(account.created_at))
        statement = "INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        await self._database.write(lambda connection: connection.execute(statement, values))

    async def account(self, account: AccountId) -> Account | None:
        statement = "SELECT id, name, created_at FROM accounts WHERE id = ?"
        row = await self._database.read(lambda connection: connection.execute(statement, (account,)).fetchone())
        return None if row is None else Account(AccountId(row[0]), row[1], from_ms(row[2]))

    async def accounts(self, *, after: str = "", most: int = 1_000) -> list[Account]:
        statement = "SELECT id, name, created_at FROM accounts WHERE id > ? ORDER BY id LIMIT ?"
        rows = await self._database.read(lambda connection: connection.execute(statement, (after, most)).fetchall())
        return [Account(AccountId(row[0]), row[1], from_ms(row[2])) for row in rows]

    async def rename(self, account: AccountId, name: str) -> bool:
        statement, values = "UPDATE accounts SET name = ? WHERE id = ?", (name, account)
        return await self._database.write(lambda connection: connection.execute(statement, values).rowcount > 0)


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
