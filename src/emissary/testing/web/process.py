"""The local web in a process of its own, for benchmarks and for tests that are not asynchronous."""

import http.client
import json
import subprocess
import sys
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from emissary.testing.web.addresses import Addresses

__all__ = ["TestWebProcess"]


class TestWebProcess:
    """`with TestWebProcess(hosts=100) as web:` runs `python -m emissary.testing.web` and ends it by its id."""

    __test__ = False  # not a test case, whatever its name

    addresses: Addresses

    def __init__(self, *, hosts: int = 8, port: int = 0, latency: timedelta = timedelta(0)) -> None:
        # The child also ends when its standard input does: it cannot outlive a parent that was killed.
        self._command = [sys.executable, "-m", "emissary.testing.web", "--json", "--until-stdin-ends"]
        self._command += ["--hosts", str(hosts), "--port", str(port), "--latency", str(latency.total_seconds())]
        self._process: subprocess.Popen[str]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603  # our own module
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise OSError(f"The local web did not start; it ended with {self._process.returncode}.")
        told = json.loads(line)
        self.addresses = Addresses(
            told["port"],
            {name: _host(origin) for name, origin in told["sites"].items()},
            tuple(_host(origin) for origin in told["hosts"]),
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process and wait for it."""
        self._process.terminate()
        self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def port(self) -> int:
        return self.addresses.port

    @property
    def hosts(self) -> tuple[str, ...]:
        """The addresses of the numbered hosts."""
        return self.addresses.hosts

    @property
    def networks(self) -> tuple[str, ...]:
        """The networks that a guard must let through."""
        return self.addresses.networks

    def url(self, site: str, path: str = "/") -> str:
        """A URL on a named site."""
        return self.addresses.url(site, path)

    def host_url(self, n: int, path: str = "/") -> str:
        """A URL on a numbered host; the first is number 1."""
        return self.addresses.host_url(n, path)

    def seen(self) -> dict[str, dict[str, Any]]:
        """Per address: requests, connections, maxConcurrency and smallestGap, of the hosts that were asked anything."""
        told: dict[str, dict[str, Any]] = json.loads(self._ask("GET", "/seen.json"))
        return told

    def clear(self) -> None:
        """Forget what was seen."""
        self._ask("POST", "/clear")

    def _ask(self, method: str, path: str) -> bytes:
        connection = http.client.HTTPConnection(self.addresses.sites["log"], self.port, timeout=10)
        try:
            connection.request(method, path)
            return connection.getresponse().read()
        finally:
            connection.close()


def _host(origin: str) -> str:
    return origin.removeprefix("http://").partition(":")[0]
