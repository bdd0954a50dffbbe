"""What accounts used, on PostgreSQL: noted by the report, added up by and by."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

from emissary.backends.cluster.database import Connection, Database
from emissary.backends.usage_notes import Used, note_of
from emissary.model.ids import AccountId
from emissary.model.usage import UsageBy, UsageRow

__all__ = ["PostgresUsage", "note_usage"]

_NOTE = "INSERT INTO usage_notes (day, used) VALUES ($1, $2)"

_ENTRIES = """
SELECT (entry ->> 0)::integer AS tenant, day, entry ->> 1 AS kind, entry ->> 2 AS host, (entry ->> 3)::bigint AS jobs,
    (entry ->> 4)::bigint AS credits, (entry ->> 5)::bigint AS cached, (entry ->> 6)::bigint AS failed,
    (entry ->> 7)::bigint AS refused
FROM {notes} CROSS JOIN json_array_elements(used) AS told (entry)
"""

# Notes are taken away, added to what is kept and taken off the balances of those who have one in one statement: nobody
# sees them twice, or not at all. Two who do this pass over each other's notes, and change rows in the same order. Those
# without a balance are not left out: they may be given one in this very moment, with these notes counted in.
_FOLD = f"""
WITH taken AS MATERIALIZED (
    DELETE FROM usage_notes WHERE id IN (SELECT id FROM usage_notes ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
    RETURNING day, used
), kept AS (
    INSERT INTO usage AS old (tenant, day, kind, host, jobs, credits, cached, failed, refused)
    SELECT tenant, day, kind, host, sum(jobs), sum(credits), sum(cached), sum(failed), sum(refused)
    FROM ({_ENTRIES.format(notes="taken")}) AS more
    GROUP BY tenant, day, kind, host ORDER BY tenant, day, kind COLLATE "C", host COLLATE "C"
    ON CONFLICT (tenant, day, kind, host) DO UPDATE SET
        jobs = old.jobs + excluded.jobs, credits = old.credits + excluded.credits,
        cached = old.cached + excluded.cached, failed = old.failed + excluded.failed,
        refused = old.refused + excluded.refused
), paid AS MATERIALIZED (
    SELECT tenant, sum(credits) AS credits FROM ({_ENTRIES.format(notes="taken")}) AS more GROUP BY tenant
), locked AS MATERIALIZED (
    SELECT id FROM tenants WHERE id IN (SELECT tenant FROM paid) ORDER BY id FOR NO KEY UPDATE
), payers AS (
    UPDATE tenants SET credits = tenants.credits - paid.credits FROM paid JOIN locked ON locked.id = paid.tenant
    WHERE tenants.id = paid.tenant
)
SELECT count(*) FROM taken
"""  # noqa: S608 - made of constants

_OF_ACCOUNT = f"""
WITH ours AS MATERIALIZED (SELECT id FROM tenants WHERE account = $1)
SELECT key, sum(jobs)::bigint, sum(credits)::bigint, sum(cached)::bigint, sum(failed)::bigint, sum(refused)::bigint
FROM (
    SELECT {{key}} COLLATE "C" AS key, jobs, credits, cached, failed, refused FROM usage
    WHERE tenant = (SELECT id FROM ours) AND day BETWEEN $2 AND $3
    UNION ALL
    SELECT {{key}} COLLATE "C" AS key, jobs, credits, cached, failed, refused
    FROM ({_ENTRIES.format(notes="usage_notes")}) AS noted
    WHERE tenant = (SELECT id FROM ours) AND day BETWEEN $2 AND $3
) AS used
WHERE key > $4 GROUP BY key ORDER BY key LIMIT $5
"""  # noqa: S608 - made of constants

_KEYS = {UsageBy.DAY: "day::text", UsageBy.KIND: "kind", UsageBy.HOST: "host"}


async def note_usage(connection: Connection, ends: Sequence[Used], now: datetime) -> None:
    """Note what was used, in the transaction that ends these jobs."""
    await connection.execute(_NOTE, now.astimezone(UTC).date(), note_of(ends))


class PostgresUsage:
    """Keeps the promise of `ports.usage.Usage`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_account(
        self, account: AccountId, first: date, last: date, by: UsageBy, *, after: str = "", most: int = 1_000
    ) -> list[UsageRow]:
        statement = _OF_ACCOUNT.format(key=_KEYS[by])
        return [UsageRow(*row) for row in await self._database.read(statement, account, first, last, after, most)]

    async def fold(self, *, most: int) -> int:
        async with self._database.transaction() as connection:
            folded: int = await connection.fetchval(_FOLD, most)
            return folded
