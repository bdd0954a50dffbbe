"""Leadership on PostgreSQL: by its clock, and with no gap between the look at the term and what is written under it."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from emissary.backends.cluster.database import Database
from emissary.backends.cluster.leadership import PostgresLeadership, hold_term
from emissary.model.errors import TermOver
from emissary.model.ids import WorkerId
from emissary.model.leadership import Term

pytestmark = pytest.mark.anyio

ANN, BOB = WorkerId("wrk_ann"), WorkerId("wrk_bob")
LEASE = timedelta(seconds=15)
LONG_AGO = datetime(1999, 1, 1, tzinfo=UTC)  # what the clocks of the machines say does not matter

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def until_somebody_waits(database: Database) -> None:
    async with asyncio.timeout(10):
        while not (await database.read(WAITING))[0][0]:
            pass


async def leading(database: Database, lease: timedelta = LEASE) -> Term:
    term = await PostgresLeadership(database).lead(ANN, lease, LONG_AGO)
    assert term is not None
    return term


async def test_a_lease_ends_by_the_clock_of_the_database(database: Database, elsewhere: Database) -> None:
    old = await leading(database, timedelta(seconds=1))
    standby = PostgresLeadership(elsewhere)
    far_ahead = datetime(2999, 1, 1, tzinfo=UTC)
    assert await standby.lead(BOB, LEASE, far_ahead) is None
    async with asyncio.timeout(10):
        while (new := await standby.lead(BOB, LEASE, LONG_AGO)) is None:
            pass
    assert new.number == old.number + 1


async def test_nobody_takes_over_while_something_is_written_under_the_term(
    database: Database, elsewhere: Database
) -> None:
    old = await leading(database, timedelta())
    async with asyncio.TaskGroup() as group, database.transaction() as connection:
        await hold_term(connection, old)
        taking_over = group.create_task(PostgresLeadership(elsewhere).lead(BOB, LEASE, LONG_AGO))
        await until_somebody_waits(database)
        assert not taking_over.done()
    new = taking_over.result()
    assert new is not None
    assert new.number == old.number + 1


async def test_whoever_writes_when_another_is_taking_over_is_too_late(database: Database, elsewhere: Database) -> None:
    old = await leading(database, timedelta())

    async def write() -> None:
        async with database.transaction() as connection:
            await hold_term(connection, old)

    async with elsewhere.transaction() as taking_over:
        await taking_over.execute("UPDATE leadership SET term = term + 1, leader = 'wrk_bob'")
        writing = asyncio.create_task(write())
        await until_somebody_waits(elsewhere)
        assert not writing.done()
    with pytest.raises(TermOver):
        await writing


async def test_the_leader_renews_while_its_own_duties_write(database: Database, elsewhere: Database) -> None:
    term = await leading(database)
    async with database.transaction() as connection, asyncio.timeout(5):
        await hold_term(connection, term)
        assert await PostgresLeadership(elsewhere).lead(ANN, LEASE, LONG_AGO) == term


async def test_a_lease_that_was_written_before_the_clock_was_set_back_is_over(database: Database) -> None:
    old = await leading(database)
    await database.write("UPDATE leadership SET until = now() + interval '1 day'")
    new = await PostgresLeadership(database).lead(BOB, LEASE, LONG_AGO)
    assert new is not None
    assert new.number == old.number + 1
