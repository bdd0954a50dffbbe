"""CPU per request of the HTTP adapter, beside bare aiohttp in the same process: what the guard and the bounds cost.

`python -m benchmarks.fetch_cost [--json] [--rounds N]`. The site is served by another process. The contenders take
turns in short rounds, so that whatever else the machine does meets all of them alike.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable

import aiohttp
import uvloop

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import AiohttpWeb, always
from emissary.model.pages import Reply
from emissary.ports.web import Ask
from emissary.reading.egress import EgressPool, EgressWeb
from emissary.reading.guard import Guard
from emissary.reading.identity import Identity
from emissary.reading.urls import parse
from emissary.testing.web import TestWebProcess

_PER_ROUND = 200
_MIB = 1024 * 1024
_PAGES = {"plain page of 30 KB": (1, "/page30/1"), "plain page of 2 KB": (1, "/small")}

Fetch = Callable[[], Awaitable[None]]


async def _measure(url: str, rounds: int) -> dict[str, float]:
    identity, clock, parsed = Identity("0", "https://bot.example/"), SystemClock(), parse(url)
    permits = Guard(["127.0.0.0/8"]).permits
    async with (
        aiohttp.ClientSession(headers=identity.headers()) as session,
        AiohttpWeb(permits=permits, present=always(identity.headers()), clock=clock) as web,
    ):
        pooled = EgressWeb(web, EgressPool(), clock)

        async def bare() -> None:
            async with session.get(url) as answer:
                await answer.read()

        async def adapter() -> None:
            assert isinstance(await web.ask(Ask(parsed, 10.0, 4 * _MIB)), Reply)

        async def captured() -> None:
            reply = await web.ask(Ask(parsed, 10.0, 4 * _MIB))
            assert isinstance(reply, Reply)
            assert reply.request_head
            assert reply.response_head

        async def egress() -> None:
            assert isinstance(await pooled.ask(Ask(parsed, 10.0, 4 * _MIB)), Reply)

        return await _race(
            {"bare aiohttp": bare, "adapter": adapter, "with heads": captured, "with EgressWeb": egress}, rounds
        )


async def _race(contenders: dict[str, Fetch], rounds: int) -> dict[str, float]:
    """Microseconds of CPU per request: the median of the rounds."""
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, fetch in contenders.items():
            began = time.process_time()
            for _ in range(_PER_ROUND):
                await fetch()
            if number:  # the first is for warming up
                spent[name].append((time.process_time() - began) / _PER_ROUND * 1e6)
    return {name: round(statistics.median(each), 1) for name, each in spent.items()}


def measure(rounds: int) -> dict[str, dict[str, float]]:
    with TestWebProcess() as web:
        return {name: uvloop.run(_measure(web.host_url(*page), rounds)) for name, page in _PAGES.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fetch_cost", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rounds", type=int, default=25, help=f"of {_PER_ROUND} requests for each contender")
    arguments = parser.parse_args()
    figures = measure(arguments.rounds)
    if arguments.json:
        json.dump({"unit": "µs CPU per request", "figures": figures}, sys.stdout, indent=2)
        return
    for page, costs in figures.items():
        print(f"{page}, µs CPU per request")
        for name, cost in costs.items():
            print(f"  {name:16} {cost:8.1f}   {cost / costs['bare aiohttp'] * 100 - 100:+6.1f} %")


if __name__ == "__main__":
    main()
