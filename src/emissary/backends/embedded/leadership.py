"""Who leads among the processes of one machine: a row, and whoever holds it says so again in time."""

import sqlite3
from datetime import datetime, timedelta

from emissary.backends.embedded.database import Database
from emissary.model.errors import TermOver
from emissary.model.ids import WorkerId
from emissary.model.leadership import Term
from emissary.model.moments import to_ms
from emissary.ports.leadership import LONGEST_LEASE

__all__ = ["SqliteLeadership", "hold_term"]

# Go on, or take over what nobody holds any more; the latter begins a new term.
_LEAD = """
UPDATE leadership SET term = term + (leader IS NOT :candidate), leader = :candidate, until = :until
WHERE leader IS :candidate OR leader IS NULL OR until <= :now OR until > :longest
RETURNING term
"""

_RESIGN = "UPDATE leadership SET leader = NULL, until = 0 WHERE term = ? AND leader = ?"


def hold_term(connection: sqlite3.Connection, term: Term) -> None:
    """Make sure that the term is not over; with one writer at a time, it is not until this transaction has ended."""
    (number,) = connection.execute("SELECT term FROM leadership").fetchone()
    if number != term.number:
        raise TermOver(f"term {term.number} of {term.leader} is over: this is term {number}")


class SqliteLeadership:
    """Keeps the promise of `ports.leadership.Leadership`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lead(self, candidate: WorkerId, lease: timedelta, now: datetime) -> Term | None:
        values = {
            "candidate": candidate,
            "now": to_ms(now),
            "until": to_ms(now + lease),
            "longest": to_ms(now + LONGEST_LEASE),
        }
        row = await self._database.write(lambda connection: connection.execute(_LEAD, values).fetchone())
        return None if row is None else Term(row[0], candidate)

    async def resign(self, term: Term) -> None:
        await self._database.write(lambda connection: connection.execute(_RESIGN, (term.number, term.leader)))
