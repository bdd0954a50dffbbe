"""Webhooks, the log of deliveries and untold happenings on SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime

from emissary.backends import webhook_rows
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.leadership import hold_term
from emissary.backends.embedded.lining_up import submit
from emissary.model.ids import AccountId, JobId, WebhookId
from emissary.model.jobs import NewJob
from emissary.model.leadership import Term
from emissary.model.moments import to_ms
from emissary.model.webhooks import Delivery, DeliveryState, Happening, Standing, Try, Webhook

__all__ = ["SqliteDeliveries", "SqliteHappenings", "SqliteWebhooks"]

_ADD = f"INSERT INTO webhooks ({webhook_rows.WEBHOOK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_FIND = f"SELECT {webhook_rows.WEBHOOK_COLUMNS} FROM webhooks WHERE id = ?"  # noqa: S608
_OF_ACCOUNT = f"SELECT {webhook_rows.WEBHOOK_COLUMNS} FROM webhooks WHERE account = ? AND id > ? ORDER BY id LIMIT ?"  # noqa: S608

_CHANGE = """
UPDATE webhooks SET account = ?2, url = ?3, events = ?4, description = ?5, active = ?6, disabled = ?7, sealed = ?8,
    created_at = ?9
WHERE id = ?1
"""

_DISABLE = "UPDATE webhooks SET active = 0, disabled = ? WHERE id = ? AND active"
_STANDING = webhook_rows.standing_in(waiting="'waiting'", job="?")

_NOTE = """
UPDATE deliveries SET attempts = attempts + ?5, status = ?1, detail = ?2, tried_at = ?3, next_at = ?4,
    line = CASE WHEN ?4 IS NULL THEN NULL ELSE line END
WHERE job = ?6
"""

# SQLite is to begin with the deliveries of the webhook, which are few beside all jobs.
_LOG = webhook_rows.log_of(":webhook", waiting="'waiting'", completed="'completed'", join="CROSS JOIN")

_LATEST = f"""
{_LOG} WHERE (:before IS NULL OR number < :before) AND (:state IS NULL OR state = :state)
ORDER BY number DESC LIMIT :most
"""

_DEAD_SINCE = f"""
{_LOG} WHERE number > :after AND created_at >= :since AND state = 'dead' AND NOT replayed ORDER BY number LIMIT :most
"""

_MARK_REPLAYED = "UPDATE deliveries SET replayed = 1 WHERE job = ? AND (replayed = 0 OR NOT ?)"

_UNTOLD = f"{webhook_rows.UNTOLD} LIMIT ?"


class SqliteWebhooks:
    """Keeps the promise of `ports.webhooks.Webhooks`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, webhook: Webhook) -> None:
        await self._database.write(lambda connection: connection.execute(_ADD, webhook_rows.webhook_columns(webhook)))

    async def find(self, webhook: WebhookId) -> Webhook | None:
        row = await self._database.read(lambda connection: connection.execute(_FIND, (webhook,)).fetchone())
        return None if row is None else webhook_rows.webhook_of_row(row)

    async def of_account(self, account: AccountId, *, after: str = "", most: int = 1_000) -> list[Webhook]:
        values = (account, after, most)
        rows = await self._database.read(lambda connection: connection.execute(_OF_ACCOUNT, values).fetchall())
        return [webhook_rows.webhook_of_row(row) for row in rows]

    async def change(self, webhook: Webhook) -> bool:
        values = webhook_rows.webhook_columns(webhook)
        return await self._database.write(lambda connection: connection.execute(_CHANGE, values).rowcount > 0)

    async def disable(self, webhook: WebhookId, reason: str) -> None:
        await self._database.write(lambda connection: connection.execute(_DISABLE, (reason, webhook)))

    async def remove(self, webhook: WebhookId) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM deliveries WHERE webhook = ?", (webhook,))
            return connection.execute("DELETE FROM webhooks WHERE id = ?", (webhook,)).rowcount > 0

        return await self._database.write(work)


class SqliteDeliveries:
    """Keeps the promise of `ports.webhooks.Deliveries`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def standing(self, job: JobId) -> Standing:
        row = await self._database.read(lambda connection: connection.execute(_STANDING, (job,)).fetchone())
        return Standing(0) if row is None else webhook_rows.standing_of_row(row)

    async def note(self, job: JobId, tried: Try) -> None:
        values = (*webhook_rows.try_columns(tried), job)
        await self._database.write(lambda connection: connection.execute(_NOTE, values))

    async def of_webhook(
        self,
        webhook: WebhookId,
        *,
        before: int | None = None,
        most: int = 100,
        state: DeliveryState | None = None,
    ) -> list[Delivery]:
        return await self._log(_LATEST, {"webhook": webhook, "before": before, "most": most, "state": state})

    async def dead_since(self, webhook: WebhookId, since: datetime, *, after: int, most: int) -> list[Delivery]:
        values = {"webhook": webhook, "since": to_ms(since), "after": after, "most": most}
        return await self._log(_DEAD_SINCE, values)

    async def of_job(self, webhook: WebhookId, job: JobId) -> Delivery | None:
        found = await self._log(f"{_LOG} WHERE job = :job", {"webhook": webhook, "job": job})
        return found[0] if found else None

    async def replay(self, copies: Mapping[JobId, NewJob], now: datetime, *, once: bool) -> int:
        def work(connection: sqlite3.Connection) -> int:
            marked = [
                copy for old, copy in copies.items() if connection.execute(_MARK_REPLAYED, (old, once)).rowcount > 0
            ]
            return len(submit(connection, marked, now)) if marked else 0

        return await self._database.write(work)

    async def _log(self, statement: str, values: dict[str, object]) -> list[Delivery]:
        rows = await self._database.read(lambda connection: connection.execute(statement, values).fetchall())
        return [webhook_rows.delivery_of_row(row, JobId(row[1])) for row in rows]


class SqliteHappenings:
    """Keeps the promise of `ports.webhooks.Happenings`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def untold(self, *, most: int) -> list[Happening]:
        rows = await self._database.read(lambda connection: connection.execute(_UNTOLD, (most,)).fetchall())
        return [webhook_rows.happening_of_row(row) for row in rows]

    async def tell(self, term: Term, happening: Happening, deliveries: Sequence[NewJob], now: datetime) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            hold_term(connection, term)
            if not connection.execute("DELETE FROM happenings WHERE number = ?", (happening.number,)).rowcount:
                return False
            if deliveries:
                submit(connection, deliveries, now)
            return True

        return await self._database.write(work)
