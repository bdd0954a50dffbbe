"""What the tests of the client ask with: a client that may read this machine, and both kinds of loop."""

import asyncio
from collections.abc import Callable

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Limits
from emissary.model.pages import Reply, Unreachable
from emissary.ports.web import Ask
from emissary.reading.guard import Guard
from emissary.reading.urls import parse

__all__ = ["BOTH_LOOPS", "failure_of", "reading_client", "reply_of", "wait_until"]

BOTH_LOOPS = [("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})]


def reading_client(limits: Limits = Limits()) -> HttpWeb:  # noqa: B008 - a value
    present = {"User-Agent": "Emissary/0 (+https://bot.example/)"}
    return HttpWeb(permits=Guard(["127.0.0.0/8"]).permits, present=present, clock=SystemClock(), limits=limits)


async def reply_of(client: HttpWeb, url: str, **more: object) -> Reply:
    found = await _ask(client, url, **more)
    assert isinstance(found, Reply), found
    return found


async def failure_of(client: HttpWeb, url: str, **more: object) -> Unreachable:
    found = await _ask(client, url, **more)
    assert isinstance(found, Unreachable), found
    return found


async def _ask(client: HttpWeb, url: str, **more: object) -> Reply | Unreachable:
    given: dict[str, object] = {"timeout": 5.0, "max_bytes": 4 * 1024 * 1024, **more}
    return await client.ask(Ask(parse(url), **given))  # type: ignore[arg-type]


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await SystemClock().sleep(0.005)
