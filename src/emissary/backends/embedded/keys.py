"""The keys on SQLite."""

import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lists import as_list
from emissary.model.errors import TooManyKeys
from emissary.model.ids import AccountId, KeyId
from emissary.model.keys import MOST_LIVE, ApiKey, Scope, told
from emissary.model.moments import from_ms, to_ms

__all__ = ["SqliteKeys"]

_COLUMNS = "id, account, digest, created_at, name, scopes, hint, expires_at, revoked_at, last_used_at"

_LIVE = "revoked_at IS NULL AND coalesce(expires_at > :now, true)"

_IS_THERE = "SELECT EXISTS (SELECT 1 FROM keys WHERE digest = :digest)"

_LIVE_OF_NAME = f"SELECT count(*) FROM keys WHERE account = :account AND name = :name AND {_LIVE}"  # noqa: S608

_ADD = """
INSERT INTO keys (id, account, digest, created_at, name, scopes, hint, expires_at)
VALUES (:id, :account, :digest, :created_at, :name, :scopes, :hint, :expires_at)
"""

_END_AT = "UPDATE keys SET expires_at = min(coalesce(expires_at, :until), :until) WHERE id = :id"

_NOTE_USES = """
UPDATE keys SET last_used_at = used.value ->> 1 FROM json_each(:uses) AS used
WHERE keys.id = used.value ->> 0 AND coalesce(last_used_at + 60000 <= used.value ->> 1, true)
"""


class SqliteKeys:
    """Keeps the promise of `ports.keys.Keys`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: ApiKey, now: datetime) -> None:
        await self._database.write(lambda connection: _add(connection, key, now))

    async def replace(self, old: KeyId, new: ApiKey, until: datetime, now: datetime) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_END_AT, {"id": old, "until": to_ms(until)})
            _add(connection, new, now)

        await self._database.write(work)

    async def by_digest(self, digest: bytes) -> ApiKey | None:
        found = await self._found(f"SELECT {_COLUMNS} FROM keys WHERE digest = ?", digest)  # noqa: S608
        return found[0] if found else None

    async def find(self, key: KeyId) -> ApiKey | None:
        found = await self._found(f"SELECT {_COLUMNS} FROM keys WHERE id = ?", key)  # noqa: S608
        return found[0] if found else None

    async def of_account(self, account: AccountId, *, after: str = "", most: int = 1_000) -> list[ApiKey]:
        statement = f"SELECT {_COLUMNS} FROM keys WHERE account = ? AND id > ? ORDER BY id LIMIT ?"  # noqa: S608
        return await self._found(statement, account, after, most)

    async def revoke(self, key: KeyId, now: datetime) -> bool:
        statement, values = "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (to_ms(now), key)
        return await self._database.write(lambda connection: connection.execute(statement, values).rowcount > 0)

    async def note_uses(self, uses: Mapping[KeyId, datetime]) -> None:
        values = {"uses": as_list([(key, to_ms(at)) for key, at in uses.items()])}
        await self._database.write(lambda connection: connection.execute(_NOTE_USES, values))

    async def any_live(self, now: datetime) -> bool:
        statement, values = f"SELECT EXISTS (SELECT 1 FROM keys WHERE {_LIVE})", {"now": to_ms(now)}  # noqa: S608
        row = await self._database.read(lambda connection: connection.execute(statement, values).fetchone())
        return bool(row[0])

    async def _found(self, statement: str, *values: object) -> list[ApiKey]:
        rows = await self._database.read(lambda connection: connection.execute(statement, values).fetchall())
        return [_key(row) for row in rows]


def _add(connection: sqlite3.Connection, key: ApiKey, now: datetime) -> None:
    if connection.execute(_IS_THERE, {"digest": key.digest}).fetchone()[0]:
        return
    values = {"account": key.account, "name": key.name, "now": to_ms(now)}
    if connection.execute(_LIVE_OF_NAME, values).fetchone()[0] >= MOST_LIVE:
        raise TooManyKeys(key.name)
    connection.execute(
        _ADD,
        {
            "id": key.id,
            "account": key.account,
            "digest": key.digest,
            "created_at": to_ms(key.created_at),
            "name": key.name,
            "scopes": " ".join(told(key.scopes)),
            "hint": key.hint,
            "expires_at": None if key.expires_at is None else to_ms(key.expires_at),
        },
    )


def _key(row: tuple[Any, ...]) -> ApiKey:
    key, account, digest, created_at, name, scopes, hint, *moments = row
    given = frozenset(Scope(scope) for scope in scopes.split())
    times = [None if moment is None else from_ms(moment) for moment in moments]
    return ApiKey(KeyId(key), AccountId(account), digest, from_ms(created_at), name, given, hint, *times)
