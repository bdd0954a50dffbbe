"""What reading remembers, on PostgreSQL."""

from datetime import datetime

import msgspec

from emissary.backends.cluster.database import Database
from emissary.backends.cluster.records import delete_in_steps, digest_of_place
from emissary.model import zstd
from emissary.model.cache import CachedPage, CacheKey, Reader
from emissary.model.sessions import SESSION_LIFE, KeptSession, SessionKey
from emissary.model.site_owners import OptOut, Ownership

__all__ = ["PostgresPageCache", "PostgresSecrets", "PostgresSessions", "PostgresSiteOwners"]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(CachedPage).decode


class PostgresPageCache:
    """Keeps the promise of `ports.reading_records.PageCache`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, url: str, reader: Reader) -> CachedPage | None:
        statement = """SELECT page FROM pages WHERE digest = $1 AND owner IN ('', $2)
                       ORDER BY fetched_at DESC LIMIT 1"""
        row = await self._database.read_one(statement, digest_of_place(url), reader)
        return None if row is None else _decode(zstd.decompress(row[0]))

    async def keep(self, key: CacheKey, page: CachedPage) -> None:
        statement = """INSERT INTO pages (digest, owner, url, fetched_at, page) VALUES ($1, $2, $3, $4, $5)
                       ON CONFLICT (digest, owner)
                       DO UPDATE SET fetched_at = excluded.fetched_at, page = excluded.page"""
        packed = zstd.compress(_encode(page), 3)
        await self._database.write(
            statement, digest_of_place(key.url), key.owner or "", key.url, page.fetched_at, packed
        )

    async def drop(self, url: str, reader: Reader) -> None:
        statement = "DELETE FROM pages WHERE digest = $1 AND owner IN ('', $2)"
        await self._database.write(statement, digest_of_place(url), reader)

    async def forget(self, before: datetime) -> int:
        statement = """DELETE FROM pages WHERE (digest, owner) IN (
                           SELECT digest, owner FROM pages WHERE fetched_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"""
        return await delete_in_steps(self._database, statement, before)


class PostgresSessions:
    """Keeps the promise of `ports.reading_records.Sessions`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, key: SessionKey, now: datetime) -> KeptSession | None:
        statement = """SELECT sealed, egress, version, expires_at FROM sessions
                       WHERE account = $1 AND name = $2 AND expires_at > $3"""
        row = await self._database.read_one(statement, key.account, key.name, now)
        return None if row is None else KeptSession(*row)

    async def keep(self, key: SessionKey, session: KeptSession) -> bool:
        # A session whose time is over is as good as none: its row may be taken over whatever its version.
        statement = """INSERT INTO sessions (account, name, sealed, egress, version, expires_at)
                       VALUES ($1, $2, $3, $4, $5, $6)
                       ON CONFLICT (account, name) DO UPDATE SET sealed = excluded.sealed, egress = excluded.egress,
                           version = excluded.version, expires_at = excluded.expires_at
                       WHERE sessions.version = excluded.version - 1 OR sessions.expires_at <= $7"""
        kept = (session.sealed, session.egress, session.version, session.expires_at)
        began = session.expires_at - SESSION_LIFE
        return await self._database.write(statement, key.account, key.name, *kept, began) > 0

    async def forget(self, now: datetime) -> int:
        statement = """DELETE FROM sessions WHERE (account, name) IN (
                           SELECT account, name FROM sessions WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"""
        return await delete_in_steps(self._database, statement, now)


class PostgresSiteOwners:
    """Keeps the promise of `ports.reading_records.SiteOwners`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def opt_out(self, word: OptOut) -> None:
        statement = "INSERT INTO opt_outs (host, at, contact, reason) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
        await self._database.write(statement, word.host, word.at, _writable(word.contact), _writable(word.reason))

    async def opted_out(self) -> frozenset[str]:
        return frozenset(row[0] for row in await self._database.read("SELECT host FROM opt_outs"))

    async def prove(self, ownership: Ownership) -> None:
        statement = """INSERT INTO owned_hosts (host, gap, concurrency, proven_at) VALUES ($1, $2, $3, $4)
                       ON CONFLICT (host) DO UPDATE SET gap = excluded.gap, concurrency = excluded.concurrency,
                           proven_at = excluded.proven_at"""
        shown = (ownership.host, ownership.gap, ownership.concurrency, ownership.proven_at)
        await self._database.write(statement, *shown)

    async def owned(self) -> dict[str, Ownership]:
        rows = await self._database.read("SELECT host, gap, concurrency, proven_at FROM owned_hosts")
        return {row["host"]: Ownership(*row) for row in rows}


def _writable(text: str) -> str:
    """PostgreSQL keeps every character but one."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


class PostgresSecrets:
    """Keeps the promise of `ports.reading_records.Secrets`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, name: str) -> bytes | None:
        row = await self._database.read_one("SELECT sealed FROM secrets WHERE name = $1", name)
        return None if row is None else bytes(row[0])

    async def write(self, name: str, sealed: bytes, before: bytes | None) -> bool:
        if before is None:
            statement = "INSERT INTO secrets (name, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING"
            return await self._database.write(statement, name, sealed) > 0
        statement = "UPDATE secrets SET sealed = $2 WHERE name = $1 AND sealed = $3"
        return await self._database.write(statement, name, sealed, before) > 0
