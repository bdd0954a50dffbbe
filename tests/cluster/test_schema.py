"""The schema of the cluster backend: how it is brought up to date, or refused."""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from emissary.backends.cluster import schema
from emissary.backends.cluster.database import Database
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.model.errors import SettingsError, StoreUnavailable
from emissary.model.ids import WorkerId
from emissary.model.jobs import JobState
from emissary.model.lanes import Claim, Reason, Release, Report, Settlement
from emissary.testing.servers import PostgresServer

pytestmark = pytest.mark.anyio

_numbers = itertools.count(1)
_IN_LINE = (
    "INSERT INTO tenants (account) VALUES ('acc_1')",
    "INSERT INTO flows (key, tenant, last, submitted) VALUES ('acc_1|normal', 1, 3000, 2)",
    "INSERT INTO lane_names (key) VALUES ('host:a')",
    "INSERT INTO lanes (key, state, rank, band, tenant, flow) VALUES ('host:a', 1, -6, 2, 1, 1)",
    """INSERT INTO jobs (id, created_at, rank, lane, flow, position, kind, "order")
       SELECT lpad(rank::text, 32, '0')::uuid, 0, rank - 20, 1, 1, -1, 'test', '{}'
       FROM unnest('{14, 34}'::int[]) rank""",
    "INSERT INTO items (lane, flow, rank, not_before, job) SELECT lane, flow, rank, 0, id FROM jobs",
)
_SHAPE = """SELECT table_name, column_name, data_type FROM information_schema.columns
            WHERE table_schema = 'public' ORDER BY table_name, column_name"""


@pytest.fixture
def empty(postgres: PostgresServer) -> Iterator[str]:
    """A database in which there is nothing."""
    name = f"empty_{next(_numbers)}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


async def within(url: str, *statements: str) -> list[object]:
    """What these statements give on a database as it is, with nothing brought up to date."""
    connection = await schema.asyncpg.connect(url)
    try:
        return [[tuple(row) for row in await connection.fetch(statement)] for statement in statements]
    finally:
        await connection.close()


async def open_once(url: str) -> None:
    await (await Database.open(url)).close()


async def test_opening_a_database_again_keeps_what_is_in_it(empty: str, anyio_backend: str) -> None:
    shapes = []
    for number in range(3):
        database = await Database.open(empty)
        await database.write("INSERT INTO secrets VALUES ($1, '')", f"{number}")
        shapes.append(await database.read(_SHAPE))
        assert await database.read_one("SELECT count(*) FROM secrets") == (number + 1,)
        await database.close()
    assert shapes[0] == shapes[1] == shapes[2]


async def test_of_many_who_open_it_at_once_one_makes_the_schema(empty: str, anyio_backend: str) -> None:
    await asyncio.gather(*(open_once(empty) for _ in range(8)))
    ((seen, most),) = (await within(empty, "SELECT count(*), max(number) FROM migrations"))[0]  # type: ignore[misc]
    assert seen == most == len(schema._scripts())


async def test_a_database_of_a_newer_emissary_is_refused_and_left_as_it_is(empty: str, anyio_backend: str) -> None:
    await within(empty, schema._MAKE, "INSERT INTO migrations (number) VALUES (999)")
    with pytest.raises(StoreUnavailable, match=r"newer Emissary \(schema 999\)"):
        await Database.open(empty)
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    assert await within(empty, tables) == [[("migrations",)]]


async def test_scripts_are_run_all_or_none(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = schema._scripts()
    monkeypatch.setattr(schema, "_scripts", lambda: [*scripts, "CREATE TABLE half (id int); SELECT 1 / 0"])
    with pytest.raises(StoreUnavailable, match="division by zero"):
        await Database.open(empty)
    assert await within(empty, _SHAPE) == [[]]
    monkeypatch.setattr(schema, "_scripts", lambda: [*scripts, "CREATE TABLE whole (id int)"])
    await open_once(empty)
    assert await within(empty, "SELECT to_regclass('half') IS NULL, to_regclass('whole') IS NULL") == [[(True, False)]]


async def test_what_stood_in_line_before_lanes_had_bounds_is_claimed(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = schema._scripts()
    monkeypatch.setattr(schema, "_scripts", lambda: scripts[:10])
    await open_once(empty)
    await within(empty, *_IN_LINE)
    monkeypatch.setattr(schema, "_scripts", lambda: scripts)
    database = await Database.open(empty)
    lanes, now = PostgresLanes(database, 0), datetime(2030, 1, 1, tzinfo=UTC)
    (lease,) = (await lanes.claim(Claim(WorkerId("wrk_ann"), now + timedelta(minutes=1), 9, 1), now)).leases
    ended = [Settlement(lease.grip, item.job, item.rank, now, JobState.COMPLETED) for item in lease.items]
    await lanes.settle(Report(tuple(ended), (Release(lease.grip, now, Reason.GAP),)), now)
    rows = await database.read("SELECT rank, low_rank, tenant, band FROM lanes")
    assert [tuple(row) for row in rows] == [(14, 14, 1, 2)]
    await database.close()


async def test_a_server_that_is_too_old_is_refused(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_OLDEST_SERVER", 99)
    with pytest.raises(StoreUnavailable, match="99 or later is needed"):
        await Database.open(empty)


async def test_who_may_not_make_tables_can_use_those_that_are_there(
    postgres: PostgresServer, empty: str, anyio_backend: str
) -> None:
    await within(empty, "DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN PASSWORD 'guest'")
    guest = f"postgresql://guest:guest@{empty.rpartition('@')[2]}"
    with pytest.raises(StoreUnavailable, match="give the user in EMISSARY_DATABASE_URL the right to create tables"):
        await Database.open(guest)
    await open_once(empty)
    await within(empty, "GRANT ALL ON ALL TABLES IN SCHEMA public TO guest")
    await open_once(guest)
    await within(empty, "DROP OWNED BY guest", "DROP ROLE guest")


# URLs that lead nowhere

_Spoil = Callable[[str], str]


def other_port(url: str) -> str:
    return url.replace(url.rpartition(":")[2].partition("/")[0], "9")


@pytest.mark.parametrize(
    ("spoil", "advice"),
    [
        (other_port, r"127\.0\.0\.1:9/.* check that PostgreSQL runs there"),
        (lambda url: url.replace("//emissary:", "//emissary:wrong"), "password authentication failed.*check user"),
        (lambda url: url.replace("//emissary:", "//stranger:"), "check user and password in EMISSARY_DATABASE_URL"),
        (lambda url: f"{url}_not", r'_not" does not exist; create it with createdb'),
    ],
)
async def test_a_database_that_cannot_be_used_says_what_to_check(
    postgres: PostgresServer, spoil: _Spoil, advice: str
) -> None:
    url = postgres.url
    with pytest.raises(StoreUnavailable, match=advice) as caught:
        await Database.open(spoil(url))
    password = url.partition("@")[0].rpartition(":")[2]
    assert password not in caught.value.detail


@pytest.mark.parametrize("url", ["postgresql://ann:s3cret@host:port/x", "mysql://ann:s3cret@host/x", "s3cret"])
async def test_a_url_that_cannot_be_read_is_a_setting_that_cannot_work(url: str) -> None:
    with pytest.raises(SettingsError, match="EMISSARY_DATABASE_URL: it cannot be read") as caught:
        await Database.open(url)
    assert "s3cret" not in caught.value.detail
