"""The database of the cluster backend: as durable as the server knows, and back as soon as the server is."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import asyncpg
import pytest

from emissary.backends.cluster.database import Database
from emissary.model.errors import StoreUnavailable
from emissary.testing.servers import PostgresServer

pytestmark = pytest.mark.anyio

_KEEP = "INSERT INTO secrets (name, sealed) VALUES ($1, '')"


async def keep_all(database: Database, *kept: str) -> None:
    async with database.transaction() as connection:
        for name in kept:
            await connection.execute(_KEEP, name)
        assert not set(kept) & set(await names(database)), "nobody sees it before it is whole"


async def names(database: Database) -> list[str]:
    return [row["name"] for row in await database.read("SELECT name FROM secrets ORDER BY name")]


async def test_a_session_is_durable_and_exact_whatever_the_database_says(database_url: str, database: Database) -> None:
    name = database_url.rpartition("/")[2]
    for setting, value in {
        "synchronous_commit": "off",
        "timezone": "'America/Lima'",
        "default_transaction_isolation": "'serializable'",
        "idle_in_transaction_session_timeout": "0",
    }.items():
        async with database.transaction() as connection:
            await connection.execute(f"ALTER DATABASE {name} SET {setting} = {value}")
    again = await Database.open(database_url)
    try:
        for setting, value in {
            "synchronous_commit": "on",
            "timezone": "UTC",
            "default_transaction_isolation": "read committed",
            "idle_in_transaction_session_timeout": "15s",
            "fsync": "on",
        }.items():
            assert await again.read_one(f"SHOW {setting}") == (value,), setting
    finally:
        await again.close()


async def test_a_write_says_how_many_rows_it_touched_and_is_read_as_soon_as_it_returned(database: Database) -> None:
    for number in range(3):
        assert await database.write(_KEEP, f"{number}") == 1
        assert len(await names(database)) == number + 1
    assert await database.write("DELETE FROM secrets WHERE name > '0'") == 2
    assert await database.write("DELETE FROM secrets WHERE name = 'x'") == 0
    assert await database.read_one("SELECT name FROM secrets WHERE name = 'x'") is None


async def test_a_transaction_is_written_whole_or_not_at_all(database: Database) -> None:
    await keep_all(database, "a", "b")
    with pytest.raises(asyncpg.UniqueViolationError):
        await keep_all(database, "c", "c")
    assert await names(database) == ["a", "b"]


async def test_moments_come_back_as_they_were_whatever_the_zone(database: Database) -> None:
    moment = datetime(2030, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)
    for zone in (UTC, timezone(timedelta(hours=5, minutes=45))):
        row = await database.read_one("SELECT $1::timestamptz", moment.astimezone(zone))
        assert row is not None
        assert (row[0], row[0].utcoffset()) == (moment, timedelta())


async def test_what_the_writer_did_wrong_is_told_to_it_as_it_is(database: Database) -> None:
    await database.write(_KEEP, "a")
    with pytest.raises(asyncpg.UniqueViolationError):
        await database.write(_KEEP, "a")
    with pytest.raises(asyncpg.DataError):
        await database.write(_KEEP, "a\0b")
    assert await names(database) == ["a"]


async def test_what_the_store_cannot_do_is_told_as_its_failure(database: Database) -> None:
    with pytest.raises(StoreUnavailable, match=r"could not be read: .*nowhere"):
        await database.read("SELECT * FROM nowhere")
    with pytest.raises(StoreUnavailable, match=r"could not be written: .*nowhere"):
        await database.write("DELETE FROM nowhere")


async def test_more_callers_than_connections_are_all_served(database_url: str, anyio_backend: str) -> None:
    database = await Database.open(database_url, connections=2)
    try:
        await asyncio.gather(*(database.write(_KEEP, f"{number:03}") for number in range(100)))
        assert len(await names(database)) == 100
    finally:
        await database.close()


async def test_who_waits_for_a_connection_in_vain_is_told(database_url: str, anyio_backend: str) -> None:
    database = await Database.open(database_url, connections=1, patience=0.2)
    try:
        async with database.transaction():
            with pytest.raises(StoreUnavailable, match="no answer in time"):
                await database.read("SELECT 1")
        assert await database.read_one("SELECT 1") == (1,)
    finally:
        await database.close()


async def test_a_closed_store_is_unavailable(database_url: str, anyio_backend: str) -> None:
    database = await Database.open(database_url)
    await database.close()
    with pytest.raises(StoreUnavailable):
        await database.write(_KEEP, "late")


# A server that goes away


async def open_many(database: Database) -> None:
    """Have every connection of the pool in use at once, so that all of them are there."""
    await asyncio.gather(*(database.read("SELECT pg_sleep(0.05)") for _ in range(10)))


async def test_nobody_notices_that_the_server_was_started_anew(fragile: Database, own_postgres: PostgresServer) -> None:
    await open_many(fragile)
    own_postgres.restart()
    assert await names(fragile) == []
    await open_many(fragile)
    own_postgres.restart()
    await keep_all(fragile, "a")
    assert await names(fragile) == ["a"]


async def test_while_the_server_is_dead_that_is_said_and_what_was_written_before_survives(
    fragile: Database, own_postgres: PostgresServer
) -> None:
    await asyncio.gather(*(fragile.write(_KEEP, f"{number:02}") for number in range(20)))
    own_postgres.kill()
    for ask in (fragile.read("SELECT 1"), fragile.write(_KEEP, "x"), fragile.write(_KEEP, "y")):
        with pytest.raises(StoreUnavailable):
            await ask
    with pytest.raises(StoreUnavailable, match="check that PostgreSQL runs there"):
        await keep_all(fragile, "z")
    own_postgres.start()
    assert await names(fragile) == [f"{number:02}" for number in range(20)]


async def test_a_transaction_in_which_the_server_dies_is_not_written(
    fragile: Database, own_postgres: PostgresServer
) -> None:
    async def die_between() -> None:
        async with fragile.transaction() as connection:
            await connection.execute(_KEEP, "a")
            own_postgres.kill()
            await connection.execute(_KEEP, "b")

    with pytest.raises(StoreUnavailable, match="could not be written"):
        await die_between()
    own_postgres.start()
    assert await names(fragile) == []


async def test_a_server_that_does_not_answer_is_not_waited_for(fragile: Database, own_postgres: PostgresServer) -> None:
    await fragile.write(_KEEP, "a")
    own_postgres.pause()
    began = asyncio.get_running_loop().time()
    for ask in (fragile.read("SELECT 1"), fragile.write(_KEEP, "b")):
        with pytest.raises(StoreUnavailable, match="no answer in time"):
            await ask
    assert asyncio.get_running_loop().time() - began < 30
    own_postgres.resume()
    assert "a" in await names(fragile)
    await keep_all(fragile, "c")


async def test_it_can_be_closed_while_the_server_does_not_answer(own_postgres: PostgresServer) -> None:
    database = await Database.open(own_postgres.url, patience=2)
    await open_many(database)
    own_postgres.pause()
    async with asyncio.timeout(20):
        await database.close()
    own_postgres.resume()
