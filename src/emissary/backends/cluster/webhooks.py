"""Webhooks, the log of deliveries and untold happenings on PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from emissary.backends import webhook_rows
from emissary.backends.cluster.database import Database
from emissary.backends.cluster.flows import FlowBook
from emissary.backends.cluster.leadership import hold_term
from emissary.backends.cluster.lining_up import raw, submit
from emissary.backends.cluster.settling import job_of
from emissary.model.ids import AccountId, JobId, WebhookId, ulid_of
from emissary.model.jobs import NewJob
from emissary.model.leadership import Term
from emissary.model.moments import to_ms
from emissary.model.webhooks import Delivery, DeliveryState, Happening, Standing, Try, Webhook

__all__ = ["PostgresDeliveries", "PostgresHappenings", "PostgresWebhooks"]

_ADD = f"INSERT INTO webhooks ({webhook_rows.WEBHOOK_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"  # noqa: S608
_FIND = f"SELECT {webhook_rows.WEBHOOK_COLUMNS} FROM webhooks WHERE id = $1"  # noqa: S608
_OF_ACCOUNT = f"""
SELECT {webhook_rows.WEBHOOK_COLUMNS} FROM webhooks WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3
"""  # noqa: S608 - made of constants

_CHANGE = """
UPDATE webhooks SET account = $2, url = $3, events = $4, description = $5, active = $6, disabled = $7, sealed = $8,
    created_at = $9
WHERE id = $1
"""

_DISABLE = "UPDATE webhooks SET active = false, disabled = $2 WHERE id = $1 AND active"
_STANDING = webhook_rows.standing_in(waiting="0", job="$1")

_NOTE = """
UPDATE deliveries SET attempts = attempts + $5, status = $1, detail = $2, tried_at = $3, next_at = $4,
    line = CASE WHEN $4::bigint IS NOT NULL THEN line END
WHERE job = $6
"""

_LOG = webhook_rows.log_of("$1", waiting="0", completed="1")

_LATEST = f"""
{_LOG} WHERE ($2::bigint IS NULL OR number < $2) AND ($3::text IS NULL OR state = $3) ORDER BY number DESC LIMIT $4
"""

_DEAD_SINCE = f"""
{_LOG} WHERE number > $2 AND created_at >= $3 AND state = 'dead' AND NOT replayed ORDER BY number LIMIT $4
"""

_MARK_REPLAYED = """
UPDATE deliveries SET replayed = true WHERE job = ANY ($1::uuid[]) AND (NOT replayed OR NOT $2) RETURNING job
"""

_UNTOLD = f"{webhook_rows.UNTOLD} LIMIT $1"
_TAKE = "DELETE FROM happenings WHERE number = $1 RETURNING 1"


class PostgresWebhooks:
    """Keeps the promise of `ports.webhooks.Webhooks`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, webhook: Webhook) -> None:
        await self._database.write(_ADD, *webhook_rows.webhook_columns(webhook))

    async def find(self, webhook: WebhookId) -> Webhook | None:
        row = await self._database.read_one(_FIND, webhook)
        return None if row is None else webhook_rows.webhook_of_row(row)

    async def of_account(self, account: AccountId, *, after: str = "", most: int = 1_000) -> list[Webhook]:
        return [
            webhook_rows.webhook_of_row(row) for row in await self._database.read(_OF_ACCOUNT, account, after, most)
        ]

    async def change(self, webhook: Webhook) -> bool:
        return await self._database.write(_CHANGE, *webhook_rows.webhook_columns(webhook)) > 0

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
        return Standing(0) if row is None else webhook_rows.standing_of_row(row)

    async def note(self, job: JobId, tried: Try) -> None:
        await self._database.write(_NOTE, *webhook_rows.try_columns(tried), raw(job))

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
        return [
            webhook_rows.delivery_of_row(row, job_of(row["job"]))
            for row in await self._database.read(statement, *values)
        ]


class PostgresHappenings:
    """Keeps the promise of `ports.webhooks.Happenings`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def untold(self, *, most: int) -> list[Happening]:
        return [webhook_rows.happening_of_row(row) for row in await self._database.read(_UNTOLD, most)]

    async def tell(self, term: Term, happening: Happening, deliveries: Sequence[NewJob], now: datetime) -> bool:
        async with self._database.transaction() as connection:
            await hold_term(connection, term)
            if await connection.fetchval(_TAKE, happening.number) is None:
                return False
            if deliveries:
                await submit(connection, deliveries, now, FlowBook())
            return True
