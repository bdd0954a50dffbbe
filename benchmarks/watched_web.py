"""The local web in a process of its own that tells when each page was asked for; pacing is judged by its clock alone.

`python -m benchmarks.watched_web` serves; for every line on its standard input it says what it saw, and forgets it.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import uvloop

from emissary.testing.web import TestWeb

__all__ = ["Sighting", "WatchedWeb", "watched_web"]

_HOSTS = 100
_ROBOTS = "/robots.txt"


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the server saw since it was last asked. Pages only, but the smallest gap is between any two requests."""

    pages: int
    seconds: float  # from the first page request to the last
    smallest_gap: float  # seconds between two requests to one host
    most_at_once: int  # on one host


class WatchedWeb:
    """The process, seen from outside."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.origins: list[str] = self._hear()

    def look(self) -> Sighting:
        """What was seen since the last look."""
        assert self._process.stdin is not None
        print("look", file=self._process.stdin, flush=True)
        return Sighting(**self._hear())

    def _hear(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


@contextmanager
def watched_web() -> Iterator[WatchedWeb]:
    """It ends when its standard input does: it cannot outlive us."""
    command = [sys.executable, "-m", "benchmarks.watched_web"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield WatchedWeb(process)


def _sighting(web: TestWeb) -> Sighting:
    by_host = [web.seen.of(host) for host in web.hosts]
    pages = [exchange.at for of_host in by_host for exchange in of_host if exchange.path != _ROBOTS]
    gaps = [later.at - earlier.at for of_host in by_host for earlier, later in pairwise(of_host)]
    at_once = max(web.seen.max_concurrency(host) for host in web.hosts)
    return Sighting(len(pages), max(pages) - min(pages), min(gaps), at_once)


async def _serve() -> None:
    async with TestWeb.start(hosts=_HOSTS) as web:
        print(json.dumps([web.host_url(n, "") for n in range(1, _HOSTS + 1)]), flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(asdict(_sighting(web))), flush=True)
            web.seen.clear()


if __name__ == "__main__":
    uvloop.run(_serve())
