"""The bus over LISTEN and NOTIFY: few notifications for many words, and a lost connection costs nothing but time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import asyncpg
import pytest

from emissary.adapters.clock import SystemClock
from emissary.backends.cluster.bus import PostgresBus, open_bus
from emissary.backends.cluster.database import Database
from emissary.ports.bus import Ears
from emissary.testing.servers import PostgresServer

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bus(database_url: str, anyio_backend: str) -> AsyncIterator[PostgresBus]:
    async with open_bus(database_url, SystemClock()) as bus:
        yield bus


@pytest.fixture
async def neighbour(database_url: str, anyio_backend: str) -> AsyncIterator[PostgresBus]:
    """As another process has it."""
    async with open_bus(database_url, SystemClock()) as bus:
        yield bus


async def hear_all(ears: Ears, words: set[str]) -> None:
    """Listen until all of the words have been heard, and nothing else."""
    heard: set[str] = set()
    async with asyncio.timeout(30):
        while heard < words:
            heard |= await ears.hear(30)
    assert heard == words


async def say_until_heard(bus: PostgresBus, word: str, ears: Ears) -> None:
    async with asyncio.timeout(15):  # less than it takes to notice by chance that nobody is there
        while word not in await ears.hear(0.05):
            bus.say("lanes", word)


async def test_a_word_reaches_those_who_listen_in_other_processes(bus: PostgresBus, neighbour: PostgresBus) -> None:
    async with bus.listen("lanes") as ours, neighbour.listen("lanes") as theirs, neighbour.listen("other") as other:
        bus.say("lanes", "host:a")
        await hear_all(theirs, {"host:a"})
        neighbour.say("lanes", "host:b")
        assert "host:b" not in await ours.hear(0), "that takes a round trip"
        await hear_all(theirs, {"host:b"})
        await hear_all(ours, {"host:b"})
        assert await other.hear(0) == frozenset()


async def test_whoever_says_a_word_hears_it_at_once_and_only_once(bus: PostgresBus, neighbour: PostgresBus) -> None:
    async with bus.listen("lanes") as ours, neighbour.listen("lanes") as theirs:
        bus.say("lanes", "a")
        assert await ours.hear(0) == {"a"}
        await hear_all(theirs, {"a"})
        neighbour.say("lanes", "b")  # when this comes, the echo of the first word has come before
        await hear_all(ours, {"b"})


@pytest.mark.parametrize("word", ["", "quote' \" \\", "line\nbreak\ttab", "\0", "ä€🙂", "x" * 7000])
async def test_any_word_arrives_as_it_was_said(bus: PostgresBus, neighbour: PostgresBus, word: str) -> None:
    async with neighbour.listen("topic, too: ä\n") as ears:
        bus.say("topic, too: ä\n", word)
        await hear_all(ears, {word})


@pytest.mark.parametrize("word", ["x" * 8000, "€" * 2700, "\0" * 1400])
async def test_a_word_too_long_for_a_notification_is_the_callers_mistake(bus: PostgresBus, word: str) -> None:
    async with bus.listen("lanes") as ears:
        with pytest.raises(ValueError, match="too long"):
            bus.say("lanes", word)
        assert await ears.hear(0) == frozenset()


async def test_ten_thousand_words_cost_few_notifications(
    bus: PostgresBus, neighbour: PostgresBus, database_url: str
) -> None:
    words = {f"host:{number:05}.example.org:8080" for number in range(10_000)}
    payloads: list[str] = []
    watching = await asyncpg.connect(database_url)
    try:
        await watching.add_listener("emissary", lambda *told: payloads.append(told[3]))
        async with neighbour.listen("lanes") as ears:
            for word in words:
                bus.say("lanes", word)
            await hear_all(ears, words)
            bus.say("lanes", "the end")
            await hear_all(ears, {"the end"})
        async with asyncio.timeout(30):
            while not any("the end" in payload for payload in payloads):
                await watching.fetchval("SELECT 1")
    finally:
        await watching.close()
    assert len(payloads) < 100
    assert max(len(payload.encode()) for payload in payloads) < 8000


async def test_what_strangers_say_disturbs_nobody(bus: PostgresBus, database: Database) -> None:
    async with bus.listen("lanes") as ears:
        for said in ("hello", '["lanes"]', '[["lanes", 7]]', "", '[["lanes", "ours"]]'):
            await database.read("SELECT pg_notify('emissary', $1)", said)
        await hear_all(ears, {"ours"})


async def test_words_flow_again_after_the_connection_was_cut(
    bus: PostgresBus, neighbour: PostgresBus, database_url: str
) -> None:
    async with bus.listen("lanes") as ours, neighbour.listen("lanes") as theirs:
        await say_until_heard(bus, "before", theirs)
        admin = await asyncpg.connect(database_url)
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> $1"
        assert len(await admin.fetch(cut, admin.get_server_pid())) == 2
        await admin.close()
        await ours.hear(0)
        await say_until_heard(bus, "after", theirs)
        await say_until_heard(neighbour, "and back", ours)


async def test_without_a_server_there_is_a_bus_for_this_process(own_postgres: PostgresServer) -> None:
    url = own_postgres.url
    own_postgres.stop()
    async with opened_twice(url) as (bus, neighbour), bus.listen("lanes") as ours, neighbour.listen("lanes") as theirs:
        bus.say("lanes", "a")
        assert await ours.hear(0) == {"a"}
        assert await theirs.hear(0) == frozenset()
        own_postgres.start()
        await say_until_heard(bus, "b", theirs)


async def test_a_server_that_is_killed_is_found_again(own_postgres: PostgresServer) -> None:
    async with opened_twice(own_postgres.url) as (bus, neighbour), neighbour.listen("lanes") as theirs:
        await say_until_heard(bus, "before", theirs)
        own_postgres.kill()
        bus.say("lanes", "nobody is there")
        own_postgres.start()
        await say_until_heard(bus, "after", theirs)


@asynccontextmanager
async def opened_twice(url: str) -> AsyncIterator[tuple[PostgresBus, PostgresBus]]:
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(open_bus(url, SystemClock())) for _ in range(2)]
        yield first, second
