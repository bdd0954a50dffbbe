"""The buckets of tokens on PostgreSQL."""

from datetime import datetime

from emissary.backends.cluster.database import Database
from emissary.model.ids import AccountId
from emissary.model.moments import to_ms
from emissary.model.rates import Rate, Slice, draw

__all__ = ["PostgresRates"]

_MAKE = "INSERT INTO rates (account, left_in, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"

_LOCK = "SELECT left_in, at FROM rates WHERE account = $1 FOR UPDATE"

_KEEP = "UPDATE rates SET left_in = $2, at = greatest(at, $3) WHERE account = $1"


class PostgresRates:
    """Keeps the promise of `ports.rates.Rates`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, account: AccountId, rate: Rate, want: int, now: datetime) -> Slice:
        moment = to_ms(now)
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(_LOCK, account)
            if row is None:
                await connection.execute(_MAKE, account, float(rate.burst), moment)
                row = await connection.fetchrow(_LOCK, account)
            assert row is not None, "nobody deletes a bucket"
            drawn = draw(rate, row["left_in"], (moment - row["at"]) / 1000, want)
            await connection.execute(_KEEP, account, drawn.left, moment)
        return drawn
