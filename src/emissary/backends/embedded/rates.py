"""The buckets of tokens on SQLite."""

import sqlite3
from datetime import datetime

from emissary.backends.embedded.database import Database
from emissary.model.ids import AccountId
from emissary.model.moments import to_ms
from emissary.model.rates import Rate, Slice, draw

__all__ = ["SqliteRates"]

_LOOK = "SELECT left_in, at FROM rates WHERE account = ?"

_KEEP = """
INSERT INTO rates (account, left_in, at) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET left_in = excluded.left_in, at = max(at, excluded.at)
"""


class SqliteRates:
    """Keeps the promise of `ports.rates.Rates`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, account: AccountId, rate: Rate, want: int, now: datetime) -> Slice:
        def work(connection: sqlite3.Connection) -> Slice:
            left, at = connection.execute(_LOOK, (account,)).fetchone() or (rate.burst, to_ms(now))
            drawn = draw(rate, left, (to_ms(now) - at) / 1000, want)
            connection.execute(_KEEP, (account, drawn.left, to_ms(now)))
            return drawn

        return await self._database.write(work)
