"""CPU per request of the HTTP adapter, beside bare aiohttp and bare sockets in the same process.

`python -m benchmarks.fetch_cost [--json] [--rounds N]`. The site is served by another process. The contenders take
turns in short rounds, so that whatever else the machine does meets all of them alike. Bare sockets send the same bytes
and wait for as many as the answer has: nothing that reads HTTP can cost less.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import aiohttp
import uvloop

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Present, always
from emissary.model.pages import Reply, WebUrl
from emissary.ports.web import Ask, Web
from emissary.reading.egress import EgressPool, EgressWeb
from emissary.reading.guard import Guard
from emissary.reading.identity import Identity
from emissary.reading.keys import SigningKey
from emissary.reading.signing import sign_request
from emissary.reading.urls import parse
from emissary.testing.web import TestWebProcess

_PER_ROUND = 200
_MIB = 1024 * 1024
_PAGES = {
    "plain page of 30 KB": lambda web: web.host_url(1, "/page30/1"),
    "plain page of 2 KB": lambda web: web.host_url(1, "/small"),
    "page that came as gzip": lambda web: web.url("trouble", "/encoded/gzip"),
}
_IDENTITY = Identity("0", "https://bot.example/")

Fetch = Callable[[], Awaitable[object]]


class _Socket(asyncio.BufferedProtocol):
    """Sends bytes and waits for so many: the least that an exchange can be."""

    def __init__(self, request: bytes, size: int) -> None:
        self._request = request
        self._size = size
        self._buffer = memoryview(bytearray(_MIB))
        self._left = 0
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's form
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._left -= nbytes
        if self._left <= 0 and self._waiter is not None:
            self._waiter.set_result(None)

    async def fetch(self) -> None:
        self._left, self._waiter = self._size, asyncio.get_running_loop().create_future()
        self.transport.write(self._request)
        await self._waiter


def _signing() -> Present:
    key, constant = SigningKey(bytes(range(32)), not_before=datetime.now(UTC)), _IDENTITY.headers()
    directory = "https://bot.example/.well-known/http-message-signatures-directory"

    def present(method: str, url: WebUrl) -> dict[str, str]:
        signed = sign_request(key, method=method, url=url, agent_directory=directory, now=datetime.now(UTC))
        return constant | signed

    return present


async def _measure(url: str, rounds: int) -> dict[str, float]:
    clock, parsed, permits = SystemClock(), parse(url), Guard(["127.0.0.0/8"]).permits
    async with (
        aiohttp.ClientSession(headers=_IDENTITY.headers()) as session,
        HttpWeb(permits=permits, present=always(_IDENTITY.headers()), clock=clock) as web,
        HttpWeb(permits=permits, present=_signing(), clock=clock) as signing,
    ):
        pooled = EgressWeb(web, EgressPool(), clock)
        reply = await web.ask(Ask(parsed, 10.0, 4 * _MIB))
        assert isinstance(reply, Reply)
        size = len(reply.response_head) + len(reply.wire)
        _, sockets = await asyncio.get_running_loop().create_connection(
            lambda: _Socket(reply.request_head, size), parsed.host, parsed.port
        )

        async def bare() -> None:
            async with session.get(url) as answer:
                await answer.read()

        async def ask(client: Web) -> None:
            assert isinstance(await client.ask(Ask(parsed, 10.0, 4 * _MIB)), Reply)

        contenders: dict[str, Fetch] = {
            "bare aiohttp": bare,
            "bare sockets": sockets.fetch,
            "adapter": lambda: ask(web),
            "with EgressWeb": lambda: ask(pooled),
            "and signed": lambda: ask(signing),
        }
        try:
            return await _race(contenders, rounds)
        finally:
            sockets.transport.close()


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
        return {name: uvloop.run(_measure(page(web), rounds)) for name, page in _PAGES.items()}


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
