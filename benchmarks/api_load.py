"""What one server takes in, and what becomes of those it lets in when ten times as much comes."""

import json
import os
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from benchmarks import job_lists
from benchmarks.crew import cpu_of
from benchmarks.load_generator import Heard, Load
from benchmarks.report import Report, Say
from benchmarks.serving import Served, emissary_up
from emissary.testing.web import TestWebProcess

__all__ = ["run"]

_HOSTS = 100
_KEYS = 16
_PAGES = 20_000
_GAP = "3600"  # hosts are asked for their robots.txt and then rest: what is measured is taking in
_CLIENTS = 64
_SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
_SMALL = 0.1
_RUSH = 10
_FEW_REFUSED = 0.01
_GOAL_ACCEPTED, _GOAL_RATIO = 1_500, 3


@dataclass(frozen=True, slots=True)
class _Step:
    """One kind of load, what came of it, and the cores that the server used."""

    name: str
    offered: float | None
    heard: Heard
    cores: float

    @property
    def row(self) -> tuple[str, ...]:
        heard = self.heard
        offered = "as answered" if self.offered is None else f"{self.offered:,.0f}"
        rates = (heard.admitted / heard.seconds, heard.refused / heard.seconds)
        times = (f"{heard.p50_ms:.1f}", f"{heard.p99_ms:.1f}")
        counts = (*(f"{rate:,.0f}" for rate in rates), f"{heard.broken:,}")
        return (self.name, offered, *counts, *times, f"{self.cores:.2f}")

    @property
    def figures(self) -> dict[str, Any]:
        return {"offeredPerSecond": self.offered, "serverCores": self.cores, **asdict(self.heard)}


class _Ground:
    """A server on an empty directory, and who asks it."""

    def __init__(self, served: Served, load: Load) -> None:
        self._served = served
        self._load = load

    def step(self, name: str, seconds: float, rate: float | None = None) -> _Step:
        load = replace(self._load, seconds=seconds, rate=rate)
        before = cpu_of(self._served.process)
        command = [sys.executable, "-m", "benchmarks.load_generator"]
        ran = subprocess.run(command, input=json.dumps(asdict(load)), stdout=subprocess.PIPE, text=True, check=True)
        heard = Heard(**json.loads(ran.stdout))
        return _Step(name, rate, heard, (cpu_of(self._served.process) - before) / heard.seconds)


def run(*, short: bool) -> Report:
    """All of it on one server, which keeps whatever it has accepted."""
    seconds, jobs = (3.0, 10_000) if short else (10.0, 100_000)
    with TestWebProcess(hosts=_HOSTS) as web, emissary_up(EMISSARY_HOST_GAP=_GAP) as served:
        urls = [web.host_url(1 + number % _HOSTS, f"/page/{number}") for number in range(_PAGES)]
        port = urlsplit(served.url).port
        assert port is not None, "it listens somewhere"
        keys = [_new_key(port, served.key, f"client {number}") for number in range(_KEYS)]
        steps = _measure(_Ground(served, Load(port, keys, urls, seconds, clients=_CLIENTS)), seconds)
    return _report(steps, jobs, job_lists.measure(jobs))


def _new_key(port: int, first: str, name: str) -> str:
    headers = {"Authorization": f"Bearer {first}", "Content-Type": "application/json"}
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("POST", "/v1/keys", json.dumps({"name": name}), headers)
        key: str = json.load(connection.getresponse())["key"]
    return key


def _measure(ground: _Ground, seconds: float) -> list[_Step]:
    Say(f"api_load: {_CLIENTS} clients …")
    ground.step("warm", 2.0)
    flat = ground.step(f"{_CLIENTS} clients, one after the other", seconds)
    Say("api_load: what can be sustained …")
    sustained = _sustained(ground, flat.heard.admitted_per_second, seconds)
    assert sustained.offered is not None, "it was offered at a rate"
    Say("api_load: hardly any load, then ten times as much as can be sustained …")
    small = ground.step("a tenth of it", 2 * seconds, sustained.offered * _SMALL)
    rush = ground.step("ten times as much", 2 * seconds, sustained.offered * _RUSH)
    return [flat, sustained, small, rush]


def _sustained(ground: _Ground, most: float, seconds: float) -> _Step:
    """The largest share of what could be taken in of which nearly all is, or else the smallest that was tried."""
    for share in _SHARES:
        step = ground.step("sustained", seconds, most * share)
        if step.heard.refused + step.heard.broken <= _FEW_REFUSED * step.heard.admitted:
            break
    return step


def _report(steps: list[_Step], jobs: int, lists: dict[str, dict[str, float]]) -> Report:
    flat, _, small, rush = steps
    more = rush.heard.p99_ms / small.heard.p99_ms
    cost = flat.cores / flat.heard.admitted_per_second * 1e6
    return Report(
        "api_load",
        "Scrapes that nobody waits for (`async`), accepted by one `emissary up` (SQLite)",
        ("", "offered/s", "accepted/s", "429/s", "5xx or none", "p50 ms", "p99 ms", "server's cores"),
        [step.row for step in steps],
        {
            "loadAverage": os.getloadavg()[0],
            "steps": {step.name: step.figures for step in steps},
            "p99Ratio": more,
            "acceptedCpuMicroseconds": cost,
            "jobLists": {"jobs": jobs, "milliseconds": lists},
        },
        [
            f"{flat.heard.admitted_per_second:,.0f} a second were accepted (the goal: {_GOAL_ACCEPTED:,} or more), for"
            f" {cost:,.0f} µs of CPU each: key, limits, validation, and the job on disk before the answer.",
            f"Under ten times the sustained load, p99 of those let in was {more:.1f} times what it was under a tenth of"
            f" it (the goal: {_GOAL_RATIO} at most); {rush.heard.broken:,} got a 5xx or no answer (the goal: none).",
            "Sustained is the largest share of the first row, in tenths, of which 99 % are let in. Arrivals come"
            " at random and do not wait for answers. Where the machine has no core left for the clients, these are late"
            f" themselves, which is not in the times: {small.heard.late_p99_ms:.1f} ms at p99 under little load, and"
            f" {rush.heard.late_p99_ms:.1f} ms in the rush, in which {rush.heard.cpu / rush.heard.seconds:.2f} cores of"
            " the server's machine were theirs.",
            *(_say_of_lists(name, jobs, found) for name, found in lists.items()),
        ],
    )


def _say_of_lists(store: str, jobs: int, found: dict[str, float]) -> str:
    told = ", ".join(f"{what} {taken:.1f} ms" for what, taken in found.items())
    return f"The first page of `GET /v1/jobs` among {jobs:,} on {store}, without HTTP: {told}."
