"""PostgreSQL through a pool of connections, each as durable as the server knows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Any, Self, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from emissary.backends.cluster.outages import LOST, OUTAGES, hint_of, named_outages, place_of
from emissary.backends.cluster.schema import migrate
from emissary.model.errors import SettingsError, StoreUnavailable

__all__ = ["Connection", "Database", "Record", "connect"]

Record = asyncpg.Record

Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
"""A connection in somebody's hands. Others use it later: what is set must be set for the transaction only."""

_CONNECTIONS = 10
_PATIENCE_SECONDS = 20.0
_MIGRATION_SECONDS = 600
_CLOSE_SECONDS = 5
# Said by us, for the settings of the server, the database or the role may say otherwise.
_SESSION = {
    "application_name": "emissary",
    "synchronous_commit": "on",
    "default_transaction_isolation": "read committed",
    "timezone": "UTC",
    # A process that is paused in the middle of a transaction must not keep its rows locked for ever.
    "idle_in_transaction_session_timeout": "15s",
    "jit": "off",  # our statements are short: compiling them takes longer than running them
}


class Database:
    """The database. While its server is away, everything is StoreUnavailable; when it is back, so are we.

    What could not be written may have been written all the same, if the connection broke between the commit and its
    answer: whoever tries again must be fenced or keyed.
    """

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", patience: float) -> None:
        self._pool = pool
        self._patience = patience

    @classmethod
    async def open(cls, url: str, *, connections: int = _CONNECTIONS, patience: float = _PATIENCE_SECONDS) -> Self:
        """Connect and bring the schema up to date. No statement may take longer than `patience` seconds."""
        place = place_of(url)
        try:
            await _bring_up_to_date(url, place, patience)
            pool = await asyncpg.create_pool(
                url,
                min_size=0,
                max_size=connections,
                timeout=patience,
                command_timeout=patience,
                max_cached_statement_lifetime=0,
                server_settings=_SESSION,
                reset=_leave_as_it_is,
                init=_speak_bytes,
            )
        except OUTAGES as error:
            raise StoreUnavailable(f"the database {place} cannot be used: {hint_of(error)}") from error
        return cls(pool, patience)

    async def read(self, statement: str, *values: Any) -> list[asyncpg.Record]:
        """The rows of a statement that changes nothing; it is asked again if its connection turns out to be lost."""
        with named_outages("read"):
            try:
                return await self._fetch(statement, values)
            except LOST:
                await self._pool.expire_connections()
                return await self._fetch(statement, values)

    async def read_one(self, statement: str, *values: Any) -> asyncpg.Record | None:
        """The first row, or None."""
        rows = await self.read(statement, *values)
        return rows[0] if rows else None

    async def now(self) -> datetime:
        """The time by the server's clock."""
        rows = await self.read("SELECT clock_timestamp()")
        moment: datetime = rows[0][0]
        return moment

    async def write(self, statement: str, *values: Any) -> int:
        """Run one statement; when this returns, it is committed and synced. Returns how many rows it touched."""
        with named_outages("written"):
            async with self._pool.acquire(timeout=self._patience) as connection:
                tag = await connection.execute(statement, *values)
        return int(tag.rpartition(" ")[2])

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Statements that are committed together or not at all; synced when the block has ended."""
        with named_outages("written"):
            async with AsyncExitStack() as stack:
                yield await self._begin(stack)

    async def close(self) -> None:
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()  # the server does not answer, or somebody still holds a connection

    async def _fetch(self, statement: str, values: tuple[Any, ...]) -> list[asyncpg.Record]:
        async with self._pool.acquire(timeout=self._patience) as connection:
            return await connection.fetch(statement, *values)

    async def _begin(self, stack: AsyncExitStack) -> Connection:
        """A connection that was lost unnoticed shows itself here, where nothing has been written yet."""
        try:
            return await self._enter(stack)
        except LOST:
            await self._pool.expire_connections()
            return await self._enter(stack)

    async def _enter(self, stack: AsyncExitStack) -> Connection:
        async with AsyncExitStack() as attempt:
            connection = await attempt.enter_async_context(self._pool.acquire(timeout=self._patience))
            await attempt.enter_async_context(connection.transaction())
            stack.push_async_exit(attempt.pop_all())
        return connection


async def connect(url: str, patience: float) -> "asyncpg.Connection[asyncpg.Record]":
    """A connection of one's own, outside the pool."""
    try:
        return await asyncpg.connect(url, timeout=patience, server_settings=_SESSION)
    except (ValueError, asyncpg.ClientConfigurationError):
        # What is wrong with it is not shown: there may be a password in it.
        what = "it cannot be read; write postgresql://user:password@host:port/database, with % for odd characters"
        raise SettingsError(f"EMISSARY_DATABASE_URL: {what}") from None


async def _bring_up_to_date(url: str, place: str, patience: float) -> None:
    connection = await connect(url, patience)
    try:
        async with asyncio.timeout(_MIGRATION_SECONDS):
            await migrate(connection, place)
    finally:
        await connection.close(timeout=_CLOSE_SECONDS)


async def _leave_as_it_is(_: object) -> None:
    """Nobody here changes a session, so nothing is undone: that would cost every statement another round trip."""


async def _speak_bytes(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """A UUID is 16 bytes on the wire, and here as well."""
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary")
