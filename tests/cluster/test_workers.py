"""Who is alive, by the database's clock."""

import pytest

from emissary.backends.cluster.database import Database
from emissary.backends.cluster.workers import BeatingWorkers
from emissary.model.ids import WorkerId

pytestmark = pytest.mark.anyio

ANN, BOB, CLEO = WorkerId("wrk_ann"), WorkerId("wrk_bob"), WorkerId("wrk_cleo")


@pytest.fixture
def workers(database: Database) -> BeatingWorkers:
    return BeatingWorkers(database)


async def let_pass(database: Database, worker: WorkerId, seconds: int) -> None:
    """As if the worker had been heard of for the last time so long ago."""
    statement = "UPDATE workers SET beat_at = now() - make_interval(secs => $2) WHERE id = $1"
    assert await database.write(statement, worker, seconds) == 1


async def hold_lanes(database: Database, *workers: WorkerId) -> None:
    async with database.transaction() as connection:
        held = [(f"host:{number}.example", each) for number, each in enumerate(workers)]
        await connection.executemany("INSERT INTO lanes (key, holder, state) VALUES ($1, $2, 2)", held)


async def test_whoever_has_not_been_heard_of_for_half_a_minute_is_not_there(
    workers: BeatingWorkers, database: Database
) -> None:
    await workers.enlist(ANN)
    await workers.enlist(BOB)
    await let_pass(database, ANN, 29)
    assert await workers.living() == [ANN, BOB]
    await let_pass(database, ANN, 31)
    assert await workers.living() == [BOB]
    await workers.beat(ANN)
    assert await workers.living() == [ANN, BOB]


async def test_the_dead_are_those_who_hold_lanes_and_are_not_there(workers: BeatingWorkers, database: Database) -> None:
    for worker in (ANN, BOB):
        await workers.enlist(worker)
    await hold_lanes(database, ANN, ANN, BOB, CLEO)
    assert await workers.dead() == [CLEO], "of whom nothing was ever heard"
    await let_pass(database, ANN, 31)
    assert sorted(await workers.dead()) == [ANN, CLEO]
    await workers.beat(ANN)
    await workers.leave(BOB)
    assert sorted(await workers.dead()) == [BOB, CLEO]


async def test_those_who_died_long_ago_are_forgotten(workers: BeatingWorkers, database: Database) -> None:
    for worker in (ANN, BOB):
        await workers.enlist(worker)
    await let_pass(database, ANN, 25 * 3600)
    await let_pass(database, BOB, 23 * 3600)
    await workers.enlist(CLEO)
    assert [row["id"] for row in await database.read("SELECT id FROM workers ORDER BY id")] == [BOB, CLEO]
