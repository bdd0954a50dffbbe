"""One `emissary work` process against two on one store: where the web is slow, and where the machine is."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import uvloop

from benchmarks.crew import cpu_of, crew
from benchmarks.local_app import Place, progress, submit, wish_for_fields
from benchmarks.report import Report, Say
from benchmarks.workload import pages_of
from emissary.compose import open_app
from emissary.telemetry.logs import configure_logs
from emissary.testing.servers import ObjectServer, PostgresServer
from emissary.testing.web import TestWebProcess

__all__ = ["run"]

_HOSTS = 400
_GOAL = 1.7
_LOOK_SECONDS = 0.05
# Between these shares of all pages it is measured: starting, and the end where lanes run dry, do not count.
_FROM, _TO = 0.2, 0.9


@dataclass(frozen=True, slots=True)
class _Web:
    """How long each answer takes, and how many pages are read of it."""

    latency: timedelta
    pages: int


@dataclass(frozen=True, slots=True)
class _Rate:
    """Pages per second, and what each process took meanwhile, in parts of a core."""

    pages_per_second: float
    cores: dict[str, float]

    @property
    def pages_per_worker_cpu(self) -> float:
        return self.pages_per_second / self.cores["workers"]


@dataclass(frozen=True, slots=True)
class _Ground:
    """A store, and the processes that serve it."""

    place: Place
    servers: Sequence[int] = ()


_Opened = Callable[[Path], AbstractContextManager[_Ground]]


def run(*, short: bool) -> Report:
    """The same pages with one process and with two, on both backends."""
    webs = {
        "a web that takes 200 ms": _Web(timedelta(milliseconds=200), 6_000 if short else 20_000),
        "a web that takes no time": _Web(timedelta(), 15_000 if short else 40_000),
    }
    grounds = {"embedded": _embedded, "cluster": _cluster}
    rates: dict[str, tuple[_Rate, _Rate]] = {}
    for kind, slow in webs.items():
        with TestWebProcess(hosts=_HOSTS, latency=slow.latency) as web:
            urls = pages_of([web.host_url(n, "") for n in range(1, _HOSTS + 1)], slow.pages)
            for name, opened in grounds.items():
                one, two = (_measure(f"{name}, {kind}", opened, urls, web=web.pid, count=count) for count in (1, 2))
                rates[f"{name}, {kind}"] = one, two
    return _report(rates)


def _measure(name: str, opened: _Opened, urls: list[str], *, web: int, count: int) -> _Rate:
    Say(f"processes: {name}, {count} of them, {len(urls):,} pages …")
    with tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder, opened(Path(folder)) as ground:
        return uvloop.run(_read_all(ground, urls, web, count))


async def _read_all(ground: _Ground, urls: list[str], web: int, count: int) -> _Rate:
    settings = ground.place.settings
    configure_logs(settings.log, settings.log_level)
    async with open_app(settings) as app:  # takes the batch in and looks at it; it does not work
        batch = await submit(app, urls, wish_for_fields())
        with crew(ground.place, count) as workers:
            pids = {"workers": [each.pid for each in workers], "web": [web], "store's servers": list(ground.servers)}
            marks: list[tuple[int, float, dict[str, float]]] = []
            async for ended in progress(app, batch, every=_LOOK_SECONDS):
                if _FROM <= ended / len(urls) <= _TO:
                    used = {who: sum(map(cpu_of, each)) for who, each in pids.items()}
                    marks.append((ended, time.perf_counter(), used))
    (began, at, before), (done, until, after) = marks[0], marks[-1]
    seconds = until - at
    return _Rate((done - began) / seconds, {who: (after[who] - before[who]) / seconds for who in after})


@contextmanager
def _embedded(folder: Path) -> Iterator[_Ground]:
    yield _Ground(Place(folder))


@contextmanager
def _cluster(folder: Path) -> Iterator[_Ground]:
    with PostgresServer() as database, ObjectServer() as objects:
        yield _Ground(Place(folder, database.url, objects.url), (database.pid, objects.pid))


def _report(rates: dict[str, tuple[_Rate, _Rate]]) -> Report:
    cores = len(os.sched_getaffinity(0))
    rows, notes = [], []
    for name, pair in rates.items():
        for count, rate in enumerate(pair, start=1):
            used = (f"{share:.2f}" for share in rate.cores.values())
            rows.append((f"{name}, {count}", f"{rate.pages_per_second:,.0f}", *used))
        one, two = pair
        more = two.pages_per_second / one.pages_per_second
        thrift = two.pages_per_worker_cpu / one.pages_per_worker_cpu
        notes.append(
            f"{name}: two read {more:.2f} times as much as one, and {thrift:.2f} times as much per CPU second."
        )
    who = next(iter(rates.values()))[0].cores
    return Report(
        "processes",
        f"One `emissary work` and two of them, on one store and {cores} cores",
        ("", "pages/s", *(f"cores for the {each}" for each in who)),
        rows,
        {
            "cores": cores,
            "rates": {
                name: [{"pagesPerSecond": each.pages_per_second, "cores": each.cores} for each in pair]
                for name, pair in rates.items()
            },
        },
        [
            *notes,
            f"The goal: {_GOAL} times or more where cores allow. Where the web takes its time, as real ones do, the"
            " lanes of a process (100) set its pace, and there are cores enough. Where it takes none, a process fills"
            " a core, and web and store need theirs too: with two cores, two processes cannot have one each. What"
            " they read per CPU second of theirs then tells what sharing a store costs them, and nothing more.",
        ],
    )
