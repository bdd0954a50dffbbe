"""Brings the schema of the database up to date: numbered scripts, all that it has not seen or none."""

from importlib import resources

import asyncpg

from emissary.model.errors import StoreUnavailable

__all__ = ["migrate"]

_OLDEST_SERVER = 15
# One migrator at a time, however many processes start together; given up with the transaction.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('emissary migrations', 0))"
# Looked for before it is made: whoever only uses the schema need not have the right to make tables.
_IS_NEW = "SELECT to_regclass('migrations') IS NULL"
_MAKE = "CREATE TABLE migrations (number integer PRIMARY KEY, ran_at timestamptz NOT NULL DEFAULT now())"


async def migrate(connection: asyncpg.Connection, place: str) -> None:
    """Run the scripts that this database has not seen."""
    if connection.get_server_version().major < _OLDEST_SERVER:
        said = connection.get_server_version()
        raise StoreUnavailable(f"{place} is PostgreSQL {said.major}.{said.minor}: {_OLDEST_SERVER} or later is needed")
    scripts = _scripts()
    async with connection.transaction():
        await connection.execute(_LOCK)
        if await connection.fetchval(_IS_NEW):
            await connection.execute(_MAKE)
        seen = await connection.fetchval("SELECT coalesce(max(number), 0) FROM migrations")
        if seen > len(scripts):
            raise StoreUnavailable(f"{place} was written by a newer Emissary (schema {seen}); please upgrade")
        for number, script in enumerate(scripts[seen:], start=seen + 1):
            await connection.execute(script)
            await connection.execute("INSERT INTO migrations (number) VALUES ($1)", number)


def _scripts() -> list[str]:
    folder = resources.files("emissary.backends.cluster") / "migrations"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return [entry.read_text(encoding="utf-8") for entry in files]
