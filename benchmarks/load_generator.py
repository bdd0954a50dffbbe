"""`python -m benchmarks.load_generator`: asks for scrapes over kept connections, in a process of its own.

It is lean, since it takes its CPU from the server's machine: requests are put together once, and of an answer only the
status and the end are looked at. Arrivals do not wait for answers: they come at moments drawn before. The time of one
counts from when it came, whether or not a connection was free for it then; how late it came, because this process did
not get the CPU in time, is told apart.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter, deque
from dataclasses import asdict, dataclass
from typing import Any

import uvloop

from benchmarks.measuring import percentile

__all__ = ["Heard", "Load"]

_MOST_CONNECTIONS = 512
_PATIENCE_SECONDS = 10.0
_TICK = 0.001


@dataclass(frozen=True, slots=True)
class Load:
    """What is to be asked, and how: `rate` arrivals a second, or without one as much as `clients` get answered."""

    port: int
    keys: list[str]
    urls: list[str]
    seconds: float
    rate: float | None = None
    clients: int = 64


@dataclass(frozen=True, slots=True)
class Heard:
    """What came back, in so many seconds up to the last answer; the times are those of requests that were let in."""

    seconds: float
    statuses: dict[str, int]
    unanswered: int
    p50_ms: float
    p99_ms: float
    late_p99_ms: float
    connections: int
    cpu: float

    @property
    def admitted(self) -> int:
        return self.statuses.get("202", 0)

    @property
    def refused(self) -> int:
        return self.statuses.get("429", 0)

    @property
    def broken(self) -> int:
        """5xx, and whatever was not answered at all."""
        return sum(count for status, count in self.statuses.items() if status >= "500") + self.unanswered

    @property
    def admitted_per_second(self) -> float:
        return self.admitted / self.seconds


class _Connection(asyncio.Protocol):
    """One kept connection, with one request under way at most."""

    def __init__(self, crowd: "_Crowd") -> None:
        self._crowd = crowd
        self._heard = b""
        self._transport: Any = None
        self.arrived: float | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def ask(self, request: bytes, arrived: float) -> None:
        self.arrived = arrived
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head = self._heard.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._heard.lower().find(b"content-length: ", 0, head)
        length = int(self._heard[at + 16 : self._heard.find(b"\r", at)])
        if len(self._heard) < head + 4 + length:
            return
        status, self._heard = self._heard[9:12], b""
        arrived, self.arrived = self.arrived, None
        assert arrived is not None, "nothing was asked"
        self._crowd.answered(self, status, arrived)

    def connection_lost(self, _: Exception | None) -> None:
        self._crowd.lost(self)


class _Crowd:
    """All who ask. Connections are opened as they are needed, up to a bound; beyond it arrivals wait for one."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._requests = _requests(load)
        self._next = 0
        self._idle: list[_Connection] = []
        self._all: set[_Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._waiting: deque[float] = deque()
        self._times: list[float] = []
        self._late: list[float] = []
        self._statuses: Counter[bytes] = Counter()
        self._unanswered = 0
        self._most = _MOST_CONNECTIONS if load.rate else load.clients
        self._asks = True

    async def run(self) -> Heard:
        for _ in range(min(self._load.clients, self._most)):
            await self._open()
        began, cpu = time.perf_counter(), time.process_time()
        if self._load.rate is None:
            for _ in range(self._load.clients):
                self._arrive(time.perf_counter())
            await asyncio.sleep(self._load.seconds)
        else:
            await self._arrivals(self._load.rate, began)
        self._asks = False
        connections = len(self._all)
        await self._hear_out()
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        return Heard(
            seconds,
            {status.decode(): count for status, count in self._statuses.items()},
            self._unanswered,
            percentile(self._times, 0.5) * 1000 if self._times else 0.0,
            percentile(self._times, 0.99) * 1000 if self._times else 0.0,
            percentile(self._late, 0.99) * 1000 if self._late else 0.0,
            connections,
            cpu,
        )

    async def _arrivals(self, rate: float, began: float) -> None:
        chance = random.Random(7)  # the same arrivals in every run
        due, end = began + chance.expovariate(rate), began + self._load.seconds
        while due < end:
            now = time.perf_counter()
            while due <= now and due < end:
                self._late.append(now - due)
                self._arrive(now)
                due += chance.expovariate(rate)
            await asyncio.sleep(max(min(due - time.perf_counter(), _TICK), 0))

    def _arrive(self, now: float) -> None:
        if self._idle:
            self._ask(self._idle.pop(), now)
            return
        self._waiting.append(now)
        if len(self._all) + len(self._opening) < self._most:
            opening = asyncio.ensure_future(self._open())
            self._opening.add(opening)
            opening.add_done_callback(self._opening.discard)

    def _ask(self, connection: _Connection, arrived: float) -> None:
        self._next = (self._next + 1) % len(self._requests)
        connection.ask(self._requests[self._next], arrived)

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: _Connection(self), "127.0.0.1", self._load.port)
        self._all.add(connection)
        self._free(connection)

    def answered(self, connection: _Connection, status: bytes, arrived: float) -> None:
        self._statuses[status] += 1
        if status == b"202":
            self._times.append(time.perf_counter() - arrived)
        if self._load.rate is None and self._asks:
            self._waiting.append(time.perf_counter())
        self._free(connection)

    def _free(self, connection: _Connection) -> None:
        if self._waiting:
            self._ask(connection, self._waiting.popleft())
        else:
            self._idle.append(connection)

    def lost(self, connection: _Connection) -> None:
        self._all.discard(connection)
        if connection.arrived is not None:
            self._unanswered += 1
        elif connection in self._idle:
            self._idle.remove(connection)

    async def _hear_out(self) -> None:
        """What has been asked is waited for; what is still open then was not answered."""
        until = time.perf_counter() + _PATIENCE_SECONDS
        while len(self._idle) < len(self._all) and time.perf_counter() < until:  # noqa: ASYNC110 - no bell for each answer
            await asyncio.sleep(0.01)
        self._unanswered += len(self._waiting) + sum(each.arrived is not None for each in self._all)


def _requests(load: Load) -> list[bytes]:
    return [_request(load.port, load.keys[place % len(load.keys)], url) for place, url in enumerate(load.urls)]


def _request(port: int, key: str, url: str) -> bytes:
    body = json.dumps({"url": url, "async": True}).encode()
    lines = [
        "POST /v1/scrape HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {key}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def _play(load: Load) -> Heard:
    return await _Crowd(load).run()


if __name__ == "__main__":
    print(json.dumps(asdict(uvloop.run(_play(Load(**json.load(sys.stdin)))))))
