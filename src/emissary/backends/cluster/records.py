"""The records on PostgreSQL: accounts, house rules."""

import hashlib
from datetime import datetime

from emissary.backends.cluster.database import Database
from emissary.model.accounts import Account
from emissary.model.ids import AccountId
from emissary.model.robots import RobotsFile

__all__ = ["PostgresAccounts", "PostgresHouseRules", "delete_in_steps", "digest_of_place"]

_AT_ONCE = 5_000


def digest_of_place(name: str) -> bytes:
    """What a long name is looked for by."""
    return hashlib.sha256(name.encode()).digest()


async def delete_in_steps(database: Database, statement: str, *values: object) -> int:
    """Run a deletion that takes a LIMIT as its last value until nothing is left: no transaction is a long one."""
    count = 0
    while done := await database.write(statement, *values, _AT_ONCE):
        count += done
    return count


class PostgresAccounts:
    """Keeps the promise of `ports.records.Accounts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open_account(self, account: Account) -> None:
        statement = "INSERT INTO accounts (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        await self._database.write(statement, account.id, account.name, account.created_at)

    async def account(self, account: AccountId) -> Account | None:
        row = await self._database.read_one("SELECT id, name, created_at FROM accounts WHERE id = $1", account)
        return None if row is None else Account(*row)

    async def accounts(self, *, after: str = "", most: int = 1_000) -> list[Account]:
        statement = "SELECT id, name, created_at FROM accounts WHERE id > $1 ORDER BY id LIMIT $2"
        return [Account(*row) for row in await self._database.read(statement, after, most)]

    async def rename(self, account: AccountId, name: str) -> bool:
        return await self._database.write("UPDATE accounts SET name = $2 WHERE id = $1", account, name) > 0


class PostgresHouseRules:
    """Keeps the promise of `ports.records.HouseRules`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rules_of(self, origin: str) -> RobotsFile | None:
        statement = "SELECT status, body, fetched_at, retry_at, location FROM robots WHERE digest = $1"
        row = await self._database.read_one(statement, digest_of_place(origin))
        return None if row is None else RobotsFile(*row)

    async def keep_rules(self, origin: str, file: RobotsFile) -> None:
        statement = """INSERT INTO robots (digest, origin, status, body, fetched_at, retry_at, location)
                       VALUES ($1, $2, $3, $4, $5, $6, $7)
                       ON CONFLICT (digest) DO UPDATE SET status = excluded.status, body = excluded.body,
                           fetched_at = excluded.fetched_at, retry_at = excluded.retry_at,
                           location = excluded.location"""
        told = (file.status, file.body, file.fetched_at, file.retry_at, file.location)
        await self._database.write(statement, digest_of_place(origin), origin, *told)

    async def forget_rules(self, before: datetime) -> int:
        statement = """DELETE FROM robots WHERE digest IN (
                           SELECT digest FROM robots WHERE fetched_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"""
        return await delete_in_steps(self._database, statement, before)
