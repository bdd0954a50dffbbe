"""Who leads among all processes of an installation: a row, and the clock of the database.

It is no lock of a session: a leader that is paused would hold that for as long as its connection stands.
"""

from datetime import datetime, timedelta

from emissary.backends.cluster.database import Connection, Database
from emissary.model.errors import TermOver
from emissary.model.ids import WorkerId
from emissary.model.leadership import Term
from emissary.ports.leadership import LONGEST_LEASE

__all__ = ["PostgresLeadership", "hold_term"]

_RENEW = "UPDATE leadership SET until = clock_timestamp() + $2 WHERE leader = $1 RETURNING term"

# What nobody holds any more is taken over, once nobody writes under the old term.
_TAKE_OVER = """
UPDATE leadership SET term = term + 1, leader = $1, until = clock_timestamp() + $2
WHERE leader IS NULL OR until <= clock_timestamp() OR until > clock_timestamp() + $3
RETURNING term
"""

_RESIGN = "UPDATE leadership SET leader = NULL, until = '-infinity' WHERE term = $1 AND leader = $2"

# A change of the term waits for all who have locked its key; the leader's own renewals do not.
_HOLD_TERM = "SELECT 1 FROM leadership WHERE term = $1 FOR KEY SHARE"


async def hold_term(connection: Connection, term: Term) -> None:
    """Make sure that the term is not over, and will not be until this transaction has ended."""
    if await connection.fetchval(_HOLD_TERM, term.number) is None:
        raise TermOver(f"term {term.number} of {term.leader} is over: another leads by now")


class PostgresLeadership:
    """Keeps the promise of `ports.leadership.Leadership`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lead(self, candidate: WorkerId, lease: timedelta, now: datetime) -> Term | None:  # noqa: ARG002 - see the port
        async with self._database.transaction() as connection:
            number = await connection.fetchval(_RENEW, candidate, lease)
            if number is None:
                number = await connection.fetchval(_TAKE_OVER, candidate, lease, LONGEST_LEASE)
        return None if number is None else Term(number, candidate)

    async def resign(self, term: Term) -> None:
        await self._database.write(_RESIGN, term.number, term.leader)
