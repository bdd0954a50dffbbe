"""CPU per request of being a good guest: the signature, the guard and robots.txt, each as a request goes through it."""
# ruff: noqa: ARG001, ARG002 - the stand-ins have the form of what they stand in for

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from benchmarks.report import Report, Say
from emissary.adapters.clock import SystemChance, SystemClock
from emissary.adapters.http.dial import Dial, Outside
from emissary.adapters.http.limits import Limits
from emissary.adapters.http.request import check_url
from emissary.model.pages import Reply, Timings, Unreachable, WebUrl
from emissary.model.robots import RobotsFile
from emissary.ports.web import Ask
from emissary.reading.credentials import Credentials
from emissary.reading.guard import Guard
from emissary.reading.house_rules import Admission, HouseRulesBook
from emissary.reading.identity import Identity
from emissary.reading.urls import parse

__all__ = ["run"]

_GOAL = 150.0
_ADDRESS = "93.184.215.14"
# No two the same in a row, so that nothing that remembers the last few URLs makes it look cheaper than it is.
_PAGES = [parse(f"https://shop.example/p/kiln-twig-stove-{n}?colour=black&size=large") for n in range(3_000)]
_ROBOTS = "\n".join(["User-agent: *", *(f"Disallow: /private/{n}/*" for n in range(40)), "Allow: /p/"]).encode()

Work = Callable[[WebUrl], Awaitable[object]]


def run(*, short: bool) -> Report:
    """Everything in this process, and nothing of it waits: no site is asked, no connection opened."""
    Say("plain_sight: signature, guard and robots.txt of one request …")
    parts = asyncio.run(_measure(500 if short else 3_000))
    kept = parts["signature"] + parts["guard, on every request"] + parts["robots.txt, known"]
    new = kept + parts["guard, on a new connection"]
    sums = {"together, on a kept connection": kept, "together, on a new connection": new}
    return Report(
        "plain_sight",
        "What it costs to read in plain sight (CPU)",
        ("", "microseconds a request"),
        [(name, f"{figure:,.1f}") for name, figure in (parts | sums).items()],
        {"unit": "microseconds of CPU", "goal": _GOAL, "figures": parts | sums},
        [
            f"The goal: {_GOAL:.0f} microseconds at most for the three together, with keys, names and rules in memory.",
            "The guard checks a connection when it is opened, so that a kept one costs only the check that the URL is"
            " read in one way; on a new one it is the way of a known name through the dial, without the network."
            f" robots.txt has {len(_ROBOTS.splitlines()) - 1} rules.",
        ],
    )


async def _measure(rounds: int) -> dict[str, float]:
    clock = SystemClock()
    credentials = Credentials(
        Identity("0", "https://bot.example/"), parse("https://bot.example/"), "current", clock=clock
    )
    await credentials.load(_Drawer(), _Drawer(), SystemChance())
    dial = Dial(Guard().permits, clock, Limits(), Outside(_resolve, _connect))
    book = HouseRulesBook(_RobotsOnly(), _Nothing(), clock)

    async def sign(page: WebUrl) -> object:
        return credentials.present("GET", page)

    async def check(page: WebUrl) -> object:
        return check_url(page)

    assert "Signature" in credentials.present("GET", _PAGES[0])
    assert isinstance(await book.may_read(_PAGES[0], _turn), Admission)
    return {
        "signature": await _microseconds(sign, rounds),
        "guard, on every request": await _microseconds(check, rounds),
        "guard, on a new connection": await _microseconds(lambda page: dial.open(page.host, 443, None, 10.0), rounds),
        "robots.txt, known": await _microseconds(lambda page: book.may_read(page, _turn), rounds),
    }


async def _microseconds(work: Work, rounds: int) -> float:
    """The best of seven runs, in CPU time: what the machine does beside it does not count."""
    pages, best = _PAGES[:rounds], float("inf")
    for _ in range(7):
        start = time.process_time()
        for page in pages:
            await work(page)
        best = min(best, (time.process_time() - start) / len(pages))
    return round(best * 1e6, 1)


class _Drawer:
    """Keeps one secret, unsealed."""

    def __init__(self) -> None:
        self._kept: bytes | None = None

    async def read(self, place: str) -> bytes | None:
        return self._kept

    async def write(self, place: str, sealed: bytes, expected: bytes | None) -> bool:
        self._kept = sealed
        return True

    def seal(self, secret: bytes, context: str) -> bytes:
        return secret

    def open(self, sealed: bytes, context: str) -> bytes:
        return sealed


class _RobotsOnly:
    async def ask(self, ask: Ask) -> Reply | Unreachable:
        return Reply(200, {}, _ROBOTS, _ADDRESS, "1.1", Timings(1.0, 1.0), len(_ROBOTS))


class _Nothing:
    async def rules_of(self, origin: str) -> RobotsFile | None:
        return None

    async def keep_rules(self, origin: str, file: RobotsFile) -> None:
        return None

    async def forget_rules(self, before: datetime) -> int:
        return 0


class _Wire(socket.socket):
    """A socket that is connected as far as anybody can tell."""

    def getpeername(self) -> tuple[str, int]:
        return _ADDRESS, 443


_WIRE = _Wire()


async def _resolve(name: str) -> list[str]:
    return [_ADDRESS]


async def _connect(address: str, port: int) -> socket.socket:
    return _WIRE


@asynccontextmanager
async def _turn() -> AsyncIterator[None]:
    yield
