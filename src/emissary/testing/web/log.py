"""What the server saw: every exchange, and per host how many there were, how close together, and how many at once."""

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import pairwise

import msgspec

__all__ = ["Exchange", "HostLog", "Seen"]


class Exchange(msgspec.Struct, frozen=True, gc=False):
    """One request as it arrived; `at` is in seconds of the loop's monotonic clock (whole milliseconds under uvloop)."""

    at: float
    host: str
    method: str
    path: str  # with the query
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes = b""

    @property
    def headers(self) -> dict[str, str]:
        """Names in lower case; repeated fields joined by ", "."""
        joined: dict[str, str] = {}
        for raw_name, raw_value in self.fields:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
        return joined


class HostLog:
    """The counts of one host. They are never dropped, however long the server runs."""

    __slots__ = ("connections", "last_at", "now", "peak", "requests", "smallest_gap")

    def __init__(self) -> None:
        self.now = 0
        self.forget()

    def forget(self) -> None:
        self.requests = 0
        self.connections = 0
        self.peak = self.now
        self.last_at: float | None = None
        self.smallest_gap: float | None = None

    def arrived(self, at: float) -> None:
        """Count a request, and keep the smallest distance between two."""
        self.requests += 1
        if self.last_at is not None and (self.smallest_gap is None or at - self.last_at < self.smallest_gap):
            self.smallest_gap = at - self.last_at
        self.last_at = at

    def begin(self) -> None:
        self.now += 1
        self.peak = max(self.peak, self.now)

    def end(self) -> None:
        self.now -= 1


class Seen:
    """The log of one TestWeb, oldest first. A host is named by its address or by the name of its site."""

    def __init__(self, names: Mapping[str, str], *, remember: int) -> None:
        self._names = names
        self._exchanges: deque[Exchange] = deque(maxlen=remember)
        self._hosts: dict[str, HostLog] = {}

    def __len__(self) -> int:
        return len(self._exchanges)

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._exchanges)

    def add(self, exchange: Exchange) -> None:
        self._exchanges.append(exchange)

    def host(self, host: str) -> HostLog:
        """The counts of one host."""
        return self._hosts.setdefault(self._names.get(host, host), HostLog())

    def of(self, host: str) -> list[Exchange]:
        """The exchanges of one host, as far back as they are remembered."""
        address = self._names.get(host, host)
        return [exchange for exchange in self._exchanges if exchange.host == address]

    def paths(self, host: str) -> list[str]:
        """What was asked of one host, in order."""
        return [exchange.path for exchange in self.of(host)]

    def gaps(self, host: str) -> list[float]:
        """Seconds between one request to the host and the next."""
        return [later.at - earlier.at for earlier, later in pairwise(self.of(host))]

    def requests(self, host: str) -> int:
        """How many requests the host got, forgotten ones included."""
        return self.host(host).requests

    def connections(self, host: str) -> int:
        """How many connections the host accepted."""
        return self.host(host).connections

    def max_concurrency(self, host: str) -> int:
        """How many requests the host was answering at once, at most. It says little unless answers take time."""
        return self.host(host).peak

    def clear(self) -> None:
        """Forget everything but the requests that are still being answered."""
        self._exchanges.clear()
        for log in self._hosts.values():
            log.forget()

    def summary(self) -> dict[str, dict[str, float | None]]:
        """The counts of every host that was asked anything, for readers in another process."""
        return {
            address: {
                "requests": log.requests,
                "connections": log.connections,
                "maxConcurrency": log.peak,
                "smallestGap": log.smallest_gap,
            }
            for address, log in self._hosts.items()
            if log.requests
        }
