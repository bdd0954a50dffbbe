"""What accounts may do, on SQLite, and whether there are room in line and credits for what they submit."""

import sqlite3
from collections import Counter
from collections.abc import Sequence

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.flows import Flow
from emissary.backends.embedded.lists import as_list
from emissary.backends.tenant_rows import allowance_in, price_of, rate_columns
from emissary.model.accounts import AccountLoad, Allowance, Balance
from emissary.model.errors import InsufficientCredits, QueueFull
from emissary.model.ids import AccountId
from emissary.model.jobs import NewJob, Priority

__all__ = ["QueueRoom", "SqliteAllowances"]

_GRANT = """
INSERT INTO tenants (account, weight, most_active, most_queued, rate_per_minute, rate_burst) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
    weight = excluded.weight, most_active = excluded.most_active, most_queued = excluded.most_queued,
    rate_per_minute = excluded.rate_per_minute, rate_burst = excluded.rate_burst
"""

_ALLOWANCE = "SELECT weight, most_active, most_queued, rate_per_minute, rate_burst FROM tenants WHERE account = ?"

# What came in and has not ended, of single jobs and of open batches.
_QUEUED = """(
    SELECT coalesce(sum(submitted - coalesce(completed + refused + failed + cancelled, 0)), 0)
    FROM flows LEFT JOIN tallies ON tallies.flow = flows.id
    WHERE flows.blocked < 2 AND flows.id IN (
        SELECT flows.id FROM json_each(:singles) CROSS JOIN flows ON flows.key = value
        UNION ALL SELECT flow FROM batches WHERE account = :account AND finished_at IS NULL)
)"""

# That, and the lanes that are held for the account.
_LOAD = f"""
SELECT {_QUEUED}, (
    SELECT count(*) FROM tenants JOIN lanes ON lanes.tenant = tenants.id
    WHERE lanes.holder IS NOT NULL AND tenants.account = :account
)
"""  # noqa: S608 - made of constants

# What was used, and has not left the balance yet.
_NOTED = """(
    SELECT coalesce(sum(told.value ->> 4), 0) FROM usage_notes CROSS JOIN json_each(used) AS told
    WHERE told.value ->> 0 = tenants.id
)"""

_BALANCE = f"""
SELECT credits - {_NOTED}, {_QUEUED} FROM tenants WHERE account = :account AND credits IS NOT NULL
"""  # noqa: S608 - made of constants

_SET_CREDITS = f"UPDATE tenants SET credits = :credits + {_NOTED} WHERE account = :account"  # noqa: S608

_ADD_CREDITS = f"""
UPDATE tenants SET credits = coalesce(credits, {_NOTED}) + :credits WHERE account = :account
"""  # noqa: S608 - made of constants

_MAKE_TENANT = "INSERT INTO tenants (account) VALUES (:account) ON CONFLICT DO NOTHING"


class SqliteAllowances:
    """Keeps the promise of `ports.accounts.Allowances`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def grant(self, account: AccountId, allowance: Allowance) -> None:
        limits = (allowance.most_active, allowance.most_queued, *rate_columns(allowance))
        values = (account, allowance.weight, *limits)
        await self._database.write(lambda connection: connection.execute(_GRANT, values))

    async def allowance_of(self, account: AccountId) -> Allowance:
        row = await self._database.read(lambda connection: connection.execute(_ALLOWANCE, (account,)).fetchone())
        return Allowance() if row is None else allowance_in(row)

    async def load_of(self, account: AccountId) -> AccountLoad:
        return await self._database.read(lambda connection: _load(connection, account))

    async def set_credits(self, account: AccountId, amount: int | None) -> None:
        await self._credit(_SET_CREDITS, account, amount)

    async def add_credits(self, account: AccountId, more: int) -> None:
        await self._credit(_ADD_CREDITS, account, more)

    async def balance_of(self, account: AccountId) -> Balance | None:
        return await self._database.read(lambda connection: _balance(connection, account))

    async def _credit(self, statement: str, account: AccountId, amount: int | None) -> None:
        values = {"account": account, "credits": amount}

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_MAKE_TENANT, values)
            connection.execute(statement, values)

        await self._database.write(work)


class QueueRoom:
    """The room in line: of each account what it was granted, and `most` where that says nothing; and its credits."""

    def __init__(self, most: int | None) -> None:
        self._most = most

    def check(self, connection: sqlite3.Connection, jobs: Sequence[tuple[Flow, NewJob]]) -> None:
        """Raise QueueFull or InsufficientCredits where these jobs, each with its flow, are too much."""
        counts = Counter(flow.account for flow, _ in jobs)
        for account, flow in {flow.account: flow for flow, _ in jobs}.items():
            most = self._most if flow.most_queued is None else flow.most_queued
            if most is not None:
                _check_room(connection, account, most, more=counts[account])
            if flow.has_balance and (price := price_of(account, (job for _, job in jobs))):
                _check_credits(connection, account, price)


def _check_room(connection: sqlite3.Connection, account: str, most: int, *, more: int) -> None:
    load = _load(connection, account)
    if load.queued + more > most:
        raise QueueFull(most=most, queued=load.queued, more=more, active=load.active)


def _check_credits(connection: sqlite3.Connection, account: str, price: int) -> None:
    balance = _balance(connection, account)
    if balance is not None and price > balance.available:
        raise InsufficientCredits(needed=price, available=balance.available)


def _load(connection: sqlite3.Connection, account: str) -> AccountLoad:
    return AccountLoad(*connection.execute(_LOAD, _named(account)).fetchone())


def _balance(connection: sqlite3.Connection, account: str) -> Balance | None:
    row = connection.execute(_BALANCE, _named(account)).fetchone()
    return None if row is None else Balance(*row)


def _named(account: str) -> dict[str, str]:
    return {"account": account, "singles": as_list([f"{account}|{priority.value}" for priority in Priority])}
