"""The database of the embedded backend: commits shared, neighbours unharmed, the event loop never held up."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from emissary.backends.embedded.database import Database
from emissary.model.errors import StoreUnavailable

pytestmark = pytest.mark.anyio

INSERT = "INSERT INTO robots (origin, status, body, fetched_at) VALUES (?, 200, ?, 0)"


def keep(origin: str, size: int = 1) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.execute(INSERT, (origin, b"x" * size))


async def origins(database: Database) -> list[str]:
    rows = await database.read(lambda connection: connection.execute("SELECT origin FROM robots").fetchall())
    return sorted(row[0] for row in rows)


@contextmanager
def another_writes(database: Database) -> Iterator[sqlite3.Connection]:
    """Another process has the file locked for writing, until it is told to let go."""
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


async def start(database: Database, *works: Callable[[sqlite3.Connection], object]) -> list[asyncio.Task[object]]:
    """Begin to write, and come back when all of it stands in line; reading takes a turn of the loop or more."""
    tasks = [asyncio.create_task(database.write(work)) for work in works]
    await origins(database)
    return tasks


async def commits_of(database: Database) -> list[str]:
    seen: list[str] = []

    def note(statement: str) -> None:
        if statement == "COMMIT":
            seen.append(statement)

    await database.write(lambda connection: connection.set_trace_callback(note))
    seen.clear()
    return seen


async def test_every_write_that_waits_is_committed_together(database: Database) -> None:
    commits = await commits_of(database)
    with another_writes(database) as other:
        tasks = await start(database, *(keep(f"https://{number}.example") for number in range(500)))
        other.execute("ROLLBACK")
        await asyncio.gather(*tasks)
    assert len(await origins(database)) == 500
    assert len(commits) <= 4


async def test_a_write_that_fails_takes_its_own_work_back_and_not_its_neighbours(database: Database) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        keep("half done")(connection)
        raise LookupError("a bug")

    commits = await commits_of(database)
    with another_writes(database) as other:
        first, *tasks = await start(database, keep("first"), keep("before"), fail, keep("before"), keep("after"))
        other.execute("ROLLBACK")
        told = await asyncio.gather(first, *tasks, return_exceptions=True)
    assert [type(each) for each in told if isinstance(each, Exception)] == [LookupError, sqlite3.IntegrityError]
    assert await origins(database) == ["after", "before", "first"]
    assert len(commits) <= 2


async def test_whoever_stops_waiting_does_not_disturb_the_others(database: Database) -> None:
    with another_writes(database) as other:
        impatient, patient = await start(database, keep("impatient"), keep("patient"))
        impatient.cancel()
        other.execute("ROLLBACK")
        await patient
    assert impatient.cancelled()
    await database.write(keep("later"))
    assert await origins(database) == ["impatient", "later", "patient"]


async def test_the_event_loop_goes_on_while_another_process_writes(database: Database) -> None:
    with another_writes(database) as other:
        (stalled,) = await start(database, keep("stalled"))
        for _ in range(50):
            assert await origins(database) == []
        assert not stalled.done()
        other.execute("ROLLBACK")
        await stalled
    assert await origins(database) == ["stalled"]


async def test_a_store_that_stays_locked_is_unavailable_and_later_is_not(database: Database) -> None:
    await database.write(lambda connection: connection.execute("PRAGMA busy_timeout = 1"))
    with another_writes(database), pytest.raises(StoreUnavailable, match="locked"):
        await database.write(keep("too early"))
    await database.write(keep("in time"))
    assert await origins(database) == ["in time"]


async def test_a_write_is_read_as_soon_as_it_returned(database: Database) -> None:
    for number in range(20):
        await database.write(keep(f"{number:02}"))
        assert len(await origins(database)) == number + 1


async def test_what_a_reader_does_wrong_is_told_to_it_alone(database: Database) -> None:
    with pytest.raises(StoreUnavailable, match="could not be read"):
        await database.read(lambda connection: connection.execute("SELECT * FROM nowhere"))
    with pytest.raises(ZeroDivisionError):
        await database.read(lambda _: 1 // 0)
    assert await origins(database) == []


async def test_a_closed_store_is_unavailable(database: Database) -> None:
    await database.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.write(keep("late"))


async def test_closing_waits_for_what_was_begun(database: Database) -> None:
    tasks = [asyncio.create_task(database.write(keep(f"{number}"))) for number in range(10)]
    await origins(database)
    await database.close()
    await asyncio.gather(*tasks)
    again = await Database.open(database.path)
    assert len(await origins(again)) == 10
    await again.close()


# A full disk, as SQLite's own limit of pages


async def test_a_full_disk_is_told_and_passes(database: Database) -> None:
    await database.write(keep("before"))
    await limit_pages(database, 1)  # SQLite takes this to be the size the file has by now
    with pytest.raises(StoreUnavailable, match="full"):
        await database.write(keep("too large", 5_000_000))
    assert await origins(database) == ["before"]
    await limit_pages(database, 1_000_000)
    await database.write(keep("after", 5_000_000))
    assert await origins(database) == ["after", "before"]


async def test_on_a_full_disk_exactly_that_was_written_which_was_not_refused(database: Database) -> None:
    sizes = {f"{number:02}": 200_000 if number % 3 else 10 for number in range(30)}
    await limit_pages(database, 400)
    writes = (database.write(keep(origin, size)) for origin, size in sizes.items())
    told = await asyncio.gather(*writes, return_exceptions=True)
    refused = [isinstance(each, StoreUnavailable) for each in told]
    assert any(refused)
    assert await origins(database) == [origin for origin, no in zip(sizes, refused, strict=True) if not no]


async def limit_pages(database: Database, count: int) -> None:
    await database.write(lambda connection: connection.execute(f"PRAGMA max_page_count = {count}"))
