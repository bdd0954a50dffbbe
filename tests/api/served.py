"""A real Emissary in a process of its own, and a small client for it that hides nothing of what was answered."""

import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from emissary.compose import the_clock
from emissary.testing.web import TestWebProcess

__all__ = ["FINAL", "LOCAL", "Answer", "Emissary", "asked", "environment", "until"]

T = TypeVar("T")

LOCAL: Mapping[str, str] = {"EMISSARY_ALLOW_NETWORKS": "127.0.0.0/8", "EMISSARY_HOST_GAP": "0"}
FINAL = frozenset({"completed", "failed", "refused", "cancelled"})


def environment(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the tester's own environment reaches the process."""
    return {"HOME": str(folder), "LANG": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "200", **settings}


def until(look: Callable[[], T | None], *, within: float = 20.0) -> T:
    """What the look finds, as soon as it finds something."""
    clock, pause = the_clock(), threading.Event()
    end = clock.monotonic() + within
    while clock.monotonic() < end:
        if found := look():
            return found
        pause.wait(0.02)
    raise AssertionError(f"it did not come true within {within:g} s")


def asked(web: TestWebProcess, url: str) -> int:
    """How many requests the host of the URL got so far."""
    return int(web.seen().get(urlsplit(url).hostname or "", {}).get("requests", 0))


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as it came over the wire; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]

    def json(self) -> Any:
        return json.loads(self.body)


class Emissary:
    """`with Emissary(folder, LOCAL) as server:` runs `emissary up` on a free port and ends it by its id."""

    def __init__(self, folder: Path, settings: Mapping[str, str] = LOCAL, *options: str) -> None:
        self.folder = folder
        self.settings = dict(settings)
        self._command = [sys.executable, "-m", "emissary", "up", "--json", "--port", "0"]
        self._command += ["--data-dir", str(folder / "data"), *options]
        self.process: subprocess.Popen[str]
        self.ready: dict[str, str] = {}
        self.key = self.settings.get("EMISSARY_API_KEY", "")

    def spawn(self) -> None:
        """Start the process; whether it gets ready is another question."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment(self.folder, self.settings),
            )

    def await_ready(self) -> bool:
        """Wait for the line that says so; false if the process ends without it."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            return False
        self.ready = json.loads(line)
        self.key = self.ready.get("apiKey", self.key)
        return True

    def __enter__(self) -> Self:
        self.spawn()
        if not self.await_ready():
            self.process.communicate()
            raise AssertionError(f"the server did not start:\n{(self.folder / 'log').read_text()}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def stop(self) -> int:
        """SIGTERM, and the exit code that comes of it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def kill(self) -> None:
        """SIGKILL: no farewell."""
        self.process.kill()
        self.process.communicate()

    @property
    def url(self) -> str:
        return self.ready["url"]

    @property
    def database(self) -> Path:
        return self.folder / "data" / "emissary.db"

    def connect(self, *, timeout: float = 30.0) -> http.client.HTTPConnection:
        where = urlsplit(self.url)
        return http.client.HTTPConnection(str(where.hostname), where.port, timeout=timeout)

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request with exactly these headers, on a connection of its own."""
        connection = self.connect()
        try:
            connection.request(method, path, body, dict(headers or {}))
            got = connection.getresponse()
            return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        return self.ask("GET", path, headers=self.authority)

    def post(self, path: str, document: object) -> Answer:
        return self._send("POST", path, document)

    def patch(self, path: str, document: object) -> Answer:
        return self._send("PATCH", path, document)

    def delete(self, path: str) -> Answer:
        return self.ask("DELETE", path, headers=self.authority)

    def _send(self, method: str, path: str, document: object) -> Answer:
        headers = {**self.authority, "Content-Type": "application/json"}
        return self.ask(method, path, json.dumps(document).encode(), headers)

    @property
    def authority(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def scrape(self, url: str, **options: Any) -> dict[str, Any]:
        """Have the page read; the call itself must work."""
        answer = self.post("/v1/scrape", {"url": url, **options})
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.json()
        return found

    def submit(self, url: str, **options: Any) -> str:
        """Have the page read some time."""
        answer = self.post("/v1/scrape", {"url": url, "async": True, **options})
        assert answer.status == 202, answer.body
        return str(answer.json()["id"])

    def job(self, job: str) -> dict[str, Any]:
        answer = self.get(f"/v1/jobs/{job}")
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.json()
        return found

    def finished(self, job: str) -> dict[str, Any]:
        """The job once it has ended."""

        def look() -> dict[str, Any] | None:
            found = self.job(job)
            return found if found["status"] in FINAL else None

        return until(look)
