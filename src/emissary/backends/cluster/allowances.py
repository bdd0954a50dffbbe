"""What accounts may do, on PostgreSQL, and whether there are room in line and credits for what they submit."""

from collections import Counter
from collections.abc import Sequence

from emissary.backends.cluster.database import Connection, Database
from emissary.backends.tenant_rows import allowance_in, price_of, rate_columns
from emissary.model.accounts import AccountLoad, Allowance, Balance
from emissary.model.errors import InsufficientCredits, QueueFull
from emissary.model.ids import AccountId
from emissary.model.jobs import NewJob, Priority

__all__ = ["PostgresAllowances", "QueueRoom"]

_GRANT = """
INSERT INTO tenants (account, weight, most_active, queue_limit, rate_per_minute, rate_burst)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (account) DO UPDATE SET
    weight = excluded.weight, most_active = excluded.most_active, queue_limit = excluded.queue_limit,
    rate_per_minute = excluded.rate_per_minute, rate_burst = excluded.rate_burst
"""

_ALLOWANCE = "SELECT weight, most_active, queue_limit, rate_per_minute, rate_burst FROM tenants WHERE account = $1"

# Accounts that have a limit or a balance, locked: two who submit for one of them would each see the room that only one
# can have.
_LIMITS = """
SELECT account, coalesce(queue_limit, $2::bigint), credits IS NOT NULL FROM tenants
WHERE account = ANY ($1::text[]) AND (coalesce(queue_limit, $2::bigint) IS NOT NULL OR credits IS NOT NULL)
ORDER BY id FOR NO KEY UPDATE
"""

# What came in and has not ended, of single jobs (the keys of their flows are $2) and of open batches.
_QUEUED = """(
    SELECT coalesce(sum(submitted - (
        SELECT coalesce(sum(completed + refused + failed + cancelled), 0) FROM tallies WHERE tallies.flow = flows.id
    )), 0)::bigint
    FROM flows WHERE blocked < 2 AND id IN (
        SELECT id FROM flows WHERE key = ANY ($2::text[])
        UNION ALL SELECT flow FROM batches WHERE account = $1 AND finished_at IS NULL)
)"""

# That, and the lanes that are held for the account.
_LOAD = f"""
SELECT {_QUEUED}, (
    SELECT count(*) FROM lanes JOIN tenants ON tenants.id = lanes.tenant
    WHERE holder IS NOT NULL AND tenants.account = $1
)
"""  # noqa: S608 - made of constants

# What was used, and has not left the balance yet.
_NOTED = """(
    SELECT coalesce(sum((entry ->> 4)::bigint), 0)::bigint
    FROM usage_notes CROSS JOIN json_array_elements(used) AS told (entry) WHERE (entry ->> 0)::integer = tenants.id
)"""

# One statement, and so one moment: what is settled leaves the line and the balance together.
_BALANCE = f"""
SELECT credits - {_NOTED}, {_QUEUED} FROM tenants WHERE account = $1 AND credits IS NOT NULL
"""  # noqa: S608 - made of constants

_MAKE_TENANT = "INSERT INTO tenants (account) VALUES ($1) ON CONFLICT (account) DO NOTHING"

# Locked first: notes that are being taken away meanwhile would count twice.
_LOCK_TENANT = "SELECT 1 FROM tenants WHERE account = $1 FOR NO KEY UPDATE"

_SET_CREDITS = f"UPDATE tenants SET credits = $2::bigint + {_NOTED} WHERE account = $1"  # noqa: S608

_ADD_CREDITS = f"""
UPDATE tenants SET credits = coalesce(credits, {_NOTED}) + $2::bigint WHERE account = $1
"""  # noqa: S608 - made of constants


class PostgresAllowances:
    """Keeps the promise of `ports.accounts.Allowances`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def grant(self, account: AccountId, allowance: Allowance) -> None:
        limits = (allowance.most_active, allowance.most_queued, *rate_columns(allowance))
        await self._database.write(_GRANT, account, allowance.weight, *limits)

    async def allowance_of(self, account: AccountId) -> Allowance:
        row = await self._database.read_one(_ALLOWANCE, account)
        return Allowance() if row is None else allowance_in(row)

    async def load_of(self, account: AccountId) -> AccountLoad:
        (row,) = await self._database.read(_LOAD, account, _single_flows(account))
        return AccountLoad(*row)

    async def set_credits(self, account: AccountId, amount: int | None) -> None:
        await self._credit(_SET_CREDITS, account, amount)

    async def add_credits(self, account: AccountId, more: int) -> None:
        await self._credit(_ADD_CREDITS, account, more)

    async def balance_of(self, account: AccountId) -> Balance | None:
        row = await self._database.read_one(_BALANCE, account, _single_flows(account))
        return None if row is None else Balance(*row)

    async def _credit(self, statement: str, account: AccountId, amount: int | None) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(_MAKE_TENANT, account)
            await connection.execute(_LOCK_TENANT, account)
            await connection.execute(statement, account, amount)


class QueueRoom:
    """The room in line: of each account what it was granted, and `most` where that says nothing; and its credits."""

    def __init__(self, most: int | None) -> None:
        self._most = most

    def is_limited(self, granted: int | None) -> bool:
        """Whether there is a limit for an account to which this was granted."""
        return granted is not None or self._most is not None

    async def check(self, connection: Connection, jobs: Sequence[NewJob]) -> None:
        """Raise QueueFull or InsufficientCredits where these jobs, whose turns have been given out, are too many."""
        more = Counter(job.account for job in jobs)
        for account, most, has_balance in await connection.fetch(_LIMITS, list(more), self._most):
            if most is not None:
                await _check_room(connection, account, most, more=more[account])
            if has_balance and (price := price_of(account, jobs)):
                await _check_credits(connection, account, price, more=more[account])


async def _check_room(connection: Connection, account: str, most: int, *, more: int) -> None:
    ((queued, active),) = await connection.fetch(_LOAD, account, _single_flows(account))
    if queued > most:
        raise QueueFull(most=most, queued=queued - more, more=more, active=active)


async def _check_credits(connection: Connection, account: str, price: int, *, more: int) -> None:
    ((left, reserved),) = await connection.fetch(_BALANCE, account, _single_flows(account))
    before = Balance(left, reserved - more)
    if price > before.available:
        raise InsufficientCredits(needed=price, available=before.available)


def _single_flows(account: str) -> list[str]:
    return [f"{account}|{priority.value}" for priority in Priority]
