"""The promise of `ports.bus.Bus`: hints for those who listen now."""

import asyncio

import pytest
from openers import Backend

from emissary.ports.bus import Bus

pytestmark = pytest.mark.anyio


@pytest.fixture
def bus(backend: Backend) -> Bus:
    return backend.bus


async def test_a_word_reaches_everyone_who_listens_to_its_topic(bus: Bus) -> None:
    async with bus.listen("lanes") as one, bus.listen("lanes") as two, bus.listen("other") as other:
        bus.say("lanes", "host:a")
        assert await one.hear(5) == {"host:a"}
        assert await two.hear(5) == {"host:a"}
        assert await other.hear(0) == frozenset()


async def test_all_words_since_the_last_call_are_heard_at_once_and_only_once(bus: Bus) -> None:
    async with bus.listen("lanes") as ears:
        for word in ("a", "b", "a"):
            bus.say("lanes", word)
        assert await ears.hear(5) == {"a", "b"}
        assert await ears.hear(0) == frozenset()


async def test_whoever_waits_is_woken_by_a_word(bus: Bus) -> None:
    async with bus.listen("lanes") as ears, asyncio.TaskGroup() as group:
        hearing = group.create_task(ears.hear(60))
        group.create_task(_say(bus, "lanes", "a"))
        assert await hearing == {"a"}


async def test_silence_ends_with_patience(bus: Bus) -> None:
    async with bus.listen("lanes") as ears:
        assert await ears.hear(0.01) == frozenset()
        assert await ears.hear(-1) == frozenset()


async def test_words_said_to_nobody_are_lost(bus: Bus) -> None:
    bus.say("lanes", "before")
    async with bus.listen("lanes") as ears:
        assert await ears.hear(0) == frozenset()
    bus.say("lanes", "after")


async def test_a_listener_that_gave_up_hears_what_is_said_later(bus: Bus) -> None:
    async with bus.listen("lanes") as ears:
        hearing = asyncio.ensure_future(ears.hear(60))
        await _say(bus, "elsewhere", "x")
        hearing.cancel()
        bus.say("lanes", "a")
        assert await ears.hear(5) == {"a"}


async def _say(bus: Bus, topic: str, word: str) -> None:
    bus.say(topic, word)
