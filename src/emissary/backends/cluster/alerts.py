"""Alerts on PostgreSQL. An alert and its deliveries are one transaction."""

from collections.abc import Sequence

from emissary.backends.cluster.database import Database
from emissary.backends.cluster.flows import FlowBook
from emissary.backends.cluster.leadership import hold_term
from emissary.backends.cluster.lining_up import submit
from emissary.model.alerts import Alert
from emissary.model.jobs import NewJob
from emissary.model.leadership import Term
from emissary.model.moments import from_ms, to_ms

__all__ = ["PostgresAlerts"]

_NOTE = "INSERT INTO alerts (event, subject, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1"
_LATEST = "SELECT event, subject, at FROM alerts ORDER BY at DESC, subject LIMIT $1"


class PostgresAlerts:
    """Keeps the promise of `ports.alerts.Alerts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, term: Term, alert: Alert, deliveries: Sequence[NewJob]) -> bool:
        async with self._database.transaction() as connection:
            await hold_term(connection, term)
            if not await connection.fetchval(_NOTE, alert.event, alert.subject, to_ms(alert.at)):
                return False
            if deliveries:
                await submit(connection, deliveries, alert.at, FlowBook())
            return True

    async def latest(self, *, most: int) -> list[Alert]:
        rows = await self._database.read(_LATEST, most)
        return [Alert(event, subject, from_ms(at)) for event, subject, at in rows]
