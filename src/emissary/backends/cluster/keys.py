"""The keys on PostgreSQL."""

from collections.abc import Mapping
from datetime import datetime

from emissary.backends.cluster.database import Connection, Database, Record
from emissary.model.errors import TooManyKeys
from emissary.model.ids import AccountId, KeyId
from emissary.model.keys import MOST_LIVE, ApiKey, Scope, told

__all__ = ["PostgresKeys"]

_COLUMNS = "id, account, digest, created_at, name, scopes, hint, expires_at, revoked_at, last_used_at"

# Two who add a key of the same name would each see the place that only one can have.
_LOCK_ACCOUNT = "SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE"

_IS_THERE = "SELECT EXISTS (SELECT 1 FROM keys WHERE digest = $1)"

_LIVE_OF_NAME = """
SELECT count(*) FROM keys
WHERE account = $1 AND name = $2 AND revoked_at IS NULL AND coalesce(expires_at > $3, true)
"""

_ADD = """
INSERT INTO keys (id, account, digest, created_at, name, scopes, hint, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (digest) DO NOTHING
"""

_END_AT = "UPDATE keys SET expires_at = least(expires_at, $2) WHERE id = $1"  # NULL is not the least

# In one order, so that two who note the same keys do not wait for each other in turns.
_NOTE_USES = """
WITH used AS (
    SELECT keys.id, given.at
    FROM unnest($1::text[], $2::timestamptz[]) AS given (id, at) JOIN keys ON keys.id = given.id
    WHERE coalesce(last_used_at + interval '1 minute' <= given.at, true)
    ORDER BY keys.id FOR NO KEY UPDATE OF keys)
UPDATE keys SET last_used_at = used.at FROM used WHERE keys.id = used.id
"""

_ANY_LIVE = "SELECT EXISTS (SELECT 1 FROM keys WHERE revoked_at IS NULL AND coalesce(expires_at > $1, true))"


class PostgresKeys:
    """Keeps the promise of `ports.keys.Keys`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: ApiKey, now: datetime) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(_LOCK_ACCOUNT, key.account)
            await _add(connection, key, now)

    async def replace(self, old: KeyId, new: ApiKey, until: datetime, now: datetime) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(_LOCK_ACCOUNT, new.account)
            await connection.execute(_END_AT, old, until)
            await _add(connection, new, now)

    async def by_digest(self, digest: bytes) -> ApiKey | None:
        row = await self._database.read_one(f"SELECT {_COLUMNS} FROM keys WHERE digest = $1", digest)  # noqa: S608
        return None if row is None else _key(row)

    async def find(self, key: KeyId) -> ApiKey | None:
        row = await self._database.read_one(f"SELECT {_COLUMNS} FROM keys WHERE id = $1", key)  # noqa: S608
        return None if row is None else _key(row)

    async def of_account(self, account: AccountId, *, after: str = "", most: int = 1_000) -> list[ApiKey]:
        statement = f"SELECT {_COLUMNS} FROM keys WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3"  # noqa: S608
        return [_key(row) for row in await self._database.read(statement, account, after, most)]

    async def revoke(self, key: KeyId, now: datetime) -> bool:
        statement = "UPDATE keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL"
        return await self._database.write(statement, key, now) > 0

    async def note_uses(self, uses: Mapping[KeyId, datetime]) -> None:
        await self._database.write(_NOTE_USES, list(uses), list(uses.values()))

    async def any_live(self, now: datetime) -> bool:
        (row,) = await self._database.read(_ANY_LIVE, now)
        return bool(row[0])


async def _add(connection: Connection, key: ApiKey, now: datetime) -> None:
    if await connection.fetchval(_IS_THERE, key.digest):
        return
    if await connection.fetchval(_LIVE_OF_NAME, key.account, key.name, now) >= MOST_LIVE:
        raise TooManyKeys(key.name)
    scopes = " ".join(told(key.scopes))
    values = (key.id, key.account, key.digest, key.created_at, key.name, scopes, key.hint, key.expires_at)
    await connection.execute(_ADD, *values)


def _key(row: Record) -> ApiKey:
    key, account, digest, created_at, name, scopes, hint, *moments = row
    given = frozenset(Scope(scope) for scope in scopes.split())
    return ApiKey(key, account, digest, created_at, name, given, hint, *moments)
