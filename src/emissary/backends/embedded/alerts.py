"""Alerts on SQLite. An alert and its deliveries are one transaction."""

import sqlite3
from collections.abc import Sequence

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.leadership import hold_term
from emissary.backends.embedded.lining_up import submit
from emissary.model.alerts import Alert
from emissary.model.jobs import NewJob
from emissary.model.leadership import Term
from emissary.model.moments import from_ms, to_ms

__all__ = ["SqliteAlerts"]

_NOTE = "INSERT INTO alerts (event, subject, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_LATEST = "SELECT event, subject, at FROM alerts ORDER BY at DESC, subject LIMIT ?"


class SqliteAlerts:
    """Keeps the promise of `ports.alerts.Alerts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, term: Term, alert: Alert, deliveries: Sequence[NewJob]) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            hold_term(connection, term)
            if not connection.execute(_NOTE, (alert.event, alert.subject, to_ms(alert.at))).rowcount:
                return False
            if deliveries:
                submit(connection, deliveries, alert.at)
            return True

        return await self._database.write(work)

    async def latest(self, *, most: int) -> list[Alert]:
        rows = await self._database.read(lambda connection: connection.execute(_LATEST, (most,)).fetchall())
        return [Alert(event, subject, from_ms(at)) for event, subject, at in rows]
