"""Webhooks, the log of deliveries and untold happenings on PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from emissary.backends.cluster.database import Database
from emissary.backends.cluster.flows import FlowBook
from emissary.backends.cluster.leadership import hold_term
from emissary.backends.cluster.lining_up import raw, submit
from emissary.backends.cluster.settling import job_of
from emissary.backends.webhook_rows import (
    WEBHOOK_COLUMNS,
    delivery_of_row,
    happening_of_row,
    standing_of_row,
    try_columns,
    webhook_columns,
    webhook_of_row,
)
from emissary.model.ids import AccountId, JobId, WebhookId, ulid_of
from emissary.model.jobs import NewJob
from emissary.model.leadership import Term
from emissary.model.moments import to_ms
from emissary.model.webhooks import Delivery, DeliveryState, Happening, Standing, Try, Webhook

__all__ = ["PostgresDeliveries", "PostgresHappenings", "PostgresWebhooks"]

_ADD = f"INSERT INTO webhooks ({WEBHOOK_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"  # noqa: S608
_FIND = f"SELECT {WEBHOOK_COLUMNS} FROM webhooks WHERE id = $1"  # noqa: S608
_OF_ACCOUNT = f"""
SELECT {WEBHOOK_COLUMNS} FROM webhooks WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3
"""  # noqa: S608 - made of constants

_CHANGE = """
UPDATE webhooks SET account = $2, url = $3, events = $4, description = $5, active = $6, disabled = $7, sealed = $8,
    created_at = $9
WHERE id = $1
"""

_DISABLE = "UPDATE webhooks SET active = false, disabled = $2 WHERE id = $1 AND active"

# How often it was tried, and what of its line and of the parts of it was made before and has not ended. The character
# behind the slash is 0.
_STANDING = """
SELECT deliveries.attempts, count(earlier.number), max(earlier.next_at) FROM deliveries
LEFT JOIN deliveries AS earlier ON earlier.line >= deliveries.line AND earlier.line < deliveries.line || '0'
    AND earlier.number < deliveries.number
    AND EXISTS (SELECT 1 FROM jobs WHERE jobs.id = earlier.job AND jobs.state = 0)
WHERE deliveries.job = $1 GROUP BY deliveries.number
"""

_NOTE = """
UPDATE deliveries SET attempts = attempts + $5, status = $1, detail = $2, tried_at = $3, next_at = $4,
    line = CASE WHEN $4::bigint IS NOT NULL THEN line END
WHERE job = $6
"""

# A line of the log: what became of it is what became of its job.
_LOG = """
SELECT * FROM (
    SELECT deliveries.number, deliveries.job, deliveries.event, deliveries.type,
        CASE jobs.state WHEN 0 THEN 'pending' WHEN 1 THEN 'delivered' ELSE 'dead' END AS state,
        deliveries.attempts, deliveries.status, deliveries.detail, deliveries.tried_at, deliveries.next_at,
        deliveries.replayed, deliveries.created_at
    FROM deliveries JOIN jobs ON jobs.id = deliveries.job WHERE deliveries.webhook = $1) AS log
"""

_LATEST = f"""
{_LOG} WHERE ($2::bigint IS NULL OR number < $2) AND ($3::text IS NULL OR state = $3) ORDER BY number DESC LIMIT $4
"""

_DEAD_SINCE = f"""
{_LOG} WHERE number > $2 AND created_at >= $3 AND state = 'dead' AND NOT replayed ORDER BY number LIMIT $4
"""

_MARK_REPLAYED = """
UPDATE deliveries SET replayed = true WHERE job = ANY ($1::uuid[]) AND (NOT replayed OR NOT $2) RETURNING job
"""

_UNTOLD = "SELECT number, event, subject, account, at FROM happenings ORDER BY number LIMIT $1"
_TAKE = "DELETE FROM happenings WHERE number = $1 RETURNING 1"


class PostgresWebhooks:
    """Keeps the promise of `ports.webhooks.Webhooks`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, webhook: Webhook) -> None:
        await self._database.write(_ADD, *webhook_columns(webhook))

    async def find(self, webhook: WebhookId) -> Webhook | None:
        row = await self._database.read_one(_FIND, webhook)
        return None if row is None else webhook_of_row(row)

    async def of_account(self, account: AccountId, *, after: str = "", most: int = 1_000) -> list[Webhook]:
        return [webhook_of_row(row) for row in await self._database.read(_OF_ACCOUNT, account, after, most)]

    async def change(self, webhook: Webhook) -> bool:
        return await self._database.write(_CHANGE, *webhook_columns(webhook)) > 0

    async def disable(self, webhook: WebhookId, reason: str) -> None:
        await self._database.write(_DISABLE, webhook, reason)

    async def remove(self, webhook: WebhookId) -> bool:
        async with self._database.transaction() as connection:
            await connection.execute("DELETE FROM deliveries WHERE webhook = $1", webhook)
            gone = await connection.fetchval("DELETE FROM webhooks WHERE id = $1 RETURNING 1", webhook)
            return gone is not None


class PostgresDeliveries:
    """Keeps the promise of `ports.webhooks.Deliveries`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def standing(self, job: JobId) -> Standing:
        row = await self._database.read_one(_STANDING, raw(job))
        return Standing(0) if row is None else standing_of_row(row)

    async def note(self, job: JobId, tried: Try) -> None:
        await self._database.write(_NOTE, *try_columns(tried), raw(job))

    async def of_webhook(
        self,
        webhook: WebhookId,
        *,
        before: int | None = None,
        most: int = 100,
        state: DeliveryState | None = None,
    ) -> list[Delivery]:
        return await self._log(_LATEST, webhook, before, None if state is None else state.value, most)

    async def dead_since(self, webhook: WebhookId, since: datetime, *, after: int, most: int) -> list[Delivery]:
        return await self._log(_DEAD_SINCE, webhook, after, to_ms(since), most)

    async def of_job(self, webhook: WebhookId, job: JobId) -> Delivery | None:
        identity = ulid_of(job)
        found = [] if identity is None else await self._log(f"{_LOG} WHERE job = $2", webhook, identity)
        return found[0] if found else None

    async def replay(self, copies: Mapping[JobId, NewJob], now: datetime, *, once: bool) -> int:
        async with self._database.transaction() as connection:
            marked = {row[0] for row in await connection.fetch(_MARK_REPLAYED, [raw(job) for job in copies], once)}
            jobs = [copy for old, copy in copies.items() if raw(old) in marked]
            return len(await submit(connection, jobs, now, FlowBook())) if jobs else 0

    async def _log(self, statement: str, *values: object) -> list[Delivery]:
        return [delivery_of_row(row, job_of(row["job"])) for row in await self._database.read(statement, *values)]


class PostgresHappenings:
    """Keeps the promise of `ports.webhooks.Happenings`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def untold(self, *, most: int) -> list[Happening]:
        return [happening_of_row(row) for row in await self._database.read(_UNTOLD, most)]

    async def tell(self, term: Term, happening: Happening, deliveries: Sequence[NewJob], now: datetime) -> bool:
        async with self._database.transaction() as connection:
            await hold_term(connection, term)
            if await connection.fetchval(_TAKE, happening.number) is None:
                return False
            if deliveries:
                await submit(connection, deliveries, now, FlowBook())
            return True
