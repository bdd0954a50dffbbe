"""What accounts used, on SQLite: noted by the report, added up by and by."""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, date, datetime

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lists import one
from emissary.backends.usage_notes import Used, note_of
from emissary.model.ids import AccountId
from emissary.model.usage import UsageBy, UsageRow

__all__ = ["SqliteUsage", "note_usage"]

_NOTE = "INSERT INTO usage_notes (day, used) VALUES (?, ?)"

_FIRST_NOTES = "SELECT json_group_array(id) FROM (SELECT id FROM usage_notes ORDER BY id LIMIT :most)"

_KEEP = """
INSERT INTO usage (tenant, day, kind, host, jobs, credits, cached, failed, refused)
SELECT told.value ->> 0, day, told.value ->> 1, told.value ->> 2, sum(told.value ->> 3), sum(told.value ->> 4),
    sum(told.value ->> 5), sum(told.value ->> 6), sum(told.value ->> 7)
FROM json_each(:notes) AS note CROSS JOIN usage_notes ON usage_notes.id = note.value CROSS JOIN json_each(used) AS told
WHERE true GROUP BY 1, 2, 3, 4
ON CONFLICT DO UPDATE SET
    jobs = jobs + excluded.jobs, credits = credits + excluded.credits, cached = cached + excluded.cached,
    failed = failed + excluded.failed, refused = refused + excluded.refused
"""

# What was used leaves the balance of whoever has one.
_PAY = """
UPDATE tenants SET credits = tenants.credits - paid.credits FROM (
    SELECT told.value ->> 0 AS tenant, sum(told.value ->> 4) AS credits
    FROM json_each(:notes) AS note CROSS JOIN usage_notes ON usage_notes.id = note.value
    CROSS JOIN json_each(used) AS told GROUP BY 1) AS paid
WHERE tenants.id = paid.tenant AND tenants.credits IS NOT NULL
"""

_DROP_NOTES = "DELETE FROM usage_notes WHERE id IN (SELECT value FROM json_each(:notes))"

_OF_ACCOUNT = """
SELECT key, sum(jobs), sum(credits), sum(cached), sum(failed), sum(refused) FROM (
    SELECT {key} AS key, jobs, credits, cached, failed, refused FROM usage
    WHERE tenant = (SELECT id FROM tenants WHERE account = :account) AND day BETWEEN :first AND :last
    UNION ALL
    SELECT {key} AS key, jobs, credits, cached, failed, refused FROM (
        SELECT day, told.value ->> 1 AS kind, told.value ->> 2 AS host, told.value ->> 3 AS jobs,
            told.value ->> 4 AS credits, told.value ->> 5 AS cached, told.value ->> 6 AS failed,
            told.value ->> 7 AS refused
        FROM usage_notes CROSS JOIN json_each(used) AS told
        WHERE told.value ->> 0 = (SELECT id FROM tenants WHERE account = :account) AND day BETWEEN :first AND :last))
WHERE key > :after GROUP BY key ORDER BY key LIMIT :most
"""


def note_usage(connection: sqlite3.Connection, ends: Sequence[Used], now: datetime) -> None:
    """Note what was used, in the transaction that ends these jobs."""
    if ends:
        connection.execute(_NOTE, (now.astimezone(UTC).date().isoformat(), note_of(ends)))


class SqliteUsage:
    """Keeps the promise of `ports.usage.Usage`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_account(
        self, account: AccountId, first: date, last: date, by: UsageBy, *, after: str = "", most: int = 1_000
    ) -> list[UsageRow]:
        days = {"first": first.isoformat(), "last": last.isoformat()}
        values = {"account": account, **days, "after": after, "most": most}
        statement = _OF_ACCOUNT.format(key=by.value)
        rows = await self._database.read(lambda connection: connection.execute(statement, values).fetchall())
        return [UsageRow(*row) for row in rows]

    async def fold(self, *, most: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            notes = one(connection, _FIRST_NOTES, {"most": most})
            connection.execute(_KEEP, {"notes": notes})
            connection.execute(_PAY, {"notes": notes})
            return connection.execute(_DROP_NOTES, {"notes": notes}).rowcount

        return await self._database.write(work)
