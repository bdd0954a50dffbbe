"""What reading remembers, on SQLite."""

import sqlite3
from datetime import datetime, timedelta

import msgspec

from emissary.backends.embedded.database import Database
from emissary.model import zstd
from emissary.model.cache import CachedPage, CacheKey, Reader
from emissary.model.moments import from_ms, to_ms
from emissary.model.sessions import SESSION_LIFE, KeptSession, SessionKey
from emissary.model.site_owners import OptOut, Ownership

__all__ = ["SqlitePageCache", "SqliteSecrets", "SqliteSessions", "SqliteSiteOwners"]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(CachedPage).decode


class SqlitePageCache:
    """Keeps the promise of `ports.reading_records.PageCache`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, url: str, reader: Reader) -> CachedPage | None:
        statement = "SELECT page FROM pages WHERE url = ? AND owner IN ('', ?) ORDER BY fetched_at DESC LIMIT 1"
        row = await self._database.read(lambda connection: connection.execute(statement, (url, reader)).fetchone())
        return None if row is None else _decode(zstd.decompress(row[0]))

    async def keep(self, key: CacheKey, page: CachedPage) -> None:
        statement = "INSERT OR REPLACE INTO pages (url, owner, fetched_at, page) VALUES (?, ?, ?, ?)"
        values = (key.url, key.owner or "", to_ms(page.fetched_at), zstd.compress(_encode(page), 3))
        await self._database.write(lambda connection: connection.execute(statement, values))

    async def drop(self, url: str, reader: Reader) -> None:
        statement = "DELETE FROM pages WHERE url = ? AND owner IN ('', ?)"
        await self._database.write(lambda connection: connection.execute(statement, (url, reader)))

    async def forget(self, before: datetime) -> int:
        statement = "DELETE FROM pages WHERE fetched_at < ?"
        return await self._database.write(lambda connection: connection.execute(statement, (to_ms(before),)).rowcount)


class SqliteSessions:
    """Keeps the promise of `ports.reading_records.Sessions`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, key: SessionKey, now: datetime) -> KeptSession | None:
        statement = """SELECT sealed, egress, version, expires_at FROM sessions
                       WHERE account = ? AND name = ? AND expires_at > ?"""
        values = (key.account, key.name, to_ms(now))
        row = await self._database.read(lambda connection: connection.execute(statement, values).fetchone())
        return None if row is None else KeptSession(row[0], row[1], row[2], from_ms(row[3]))

    async def keep(self, key: SessionKey, session: KeptSession) -> bool:
        # A session whose time is over is as good as none: its row may be taken over whatever its version.
        statement = """INSERT INTO sessions (account, name, sealed, egress, version, expires_at)
                       VALUES (:account, :name, :sealed, :egress, :version, :expires_at)
                       ON CONFLICT (account, name) DO UPDATE SET sealed = excluded.sealed, egress = excluded.egress,
                           version = excluded.version, expires_at = excluded.expires_at
                       WHERE sessions.version = excluded.version - 1 OR sessions.expires_at <= :began"""
        values = {
            "account": key.account,
            "name": key.name,
            "sealed": session.sealed,
            "egress": session.egress,
            "version": session.version,
            "expires_at": to_ms(session.expires_at),
            "began": to_ms(session.expires_at - SESSION_LIFE),
        }
        return await self._database.write(lambda connection: connection.execute(statement, values).rowcount > 0)

    async def forget(self, now: datetime) -> int:
        statement = "DELETE FROM sessions WHERE expires_at <= ?"
        return await self._database.write(lambda connection: connection.execute(statement, (to_ms(now),)).rowcount)


class SqliteSiteOwners:
    """Keeps the promise of `ports.reading_records.SiteOwners`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def opt_out(self, word: OptOut) -> None:
        statement = "INSERT INTO opt_outs (host, at, contact, reason) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        values = (word.host, to_ms(word.at), word.contact, word.reason)
        await self._database.write(lambda connection: connection.execute(statement, values))

    async def opted_out(self) -> frozenset[str]:
        rows = await self._database.read(lambda connection: connection.execute("SELECT host FROM opt_outs").fetchall())
        return frozenset(host for (host,) in rows)

    async def prove(self, ownership: Ownership) -> None:
        statement = "INSERT OR REPLACE INTO owned_hosts (host, gap_ms, concurrency, proven_at) VALUES (?, ?, ?, ?)"
        gap_ms = ownership.gap // timedelta(milliseconds=1)
        values = (ownership.host, gap_ms, ownership.concurrency, to_ms(ownership.proven_at))
        await self._database.write(lambda connection: connection.execute(statement, values))

    async def owned(self) -> dict[str, Ownership]:
        return await self._database.read(_read_owned)


def _read_owned(connection: sqlite3.Connection) -> dict[str, Ownership]:
    rows = connection.execute("SELECT host, gap_ms, concurrency, proven_at FROM owned_hosts").fetchall()
    return {
        host: Ownership(host, timedelta(milliseconds=gap), concurrency, from_ms(proven))
        for host, gap, concurrency, proven in rows
    }


class SqliteSecrets:
    """Keeps the promise of `ports.reading_records.Secrets`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, name: str) -> bytes | None:
        statement = "SELECT sealed FROM secrets WHERE name = ?"
        row = await self._database.read(lambda connection: connection.execute(statement, (name,)).fetchone())
        return None if row is None else bytes(row[0])

    async def write(self, name: str, sealed: bytes, before: bytes | None) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if before is None:
                statement = "INSERT INTO secrets (name, sealed) VALUES (?, ?) ON CONFLICT DO NOTHING"
                return connection.execute(statement, (name, sealed)).rowcount > 0
            statement = "UPDATE secrets SET sealed = ? WHERE name = ? AND sealed = ?"
            return connection.execute(statement, (sealed, name, before)).rowcount > 0

        return await self._database.write(work)
