"""Workers killed under way, with real beats and real waiting: how long until each of their lanes is in hands again."""

import argparse
import asyncio
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import uvloop

from benchmarks.crew import WorkerProcess
from benchmarks.local_app import Place, submit, wish_for_fields
from benchmarks.measuring import percentile
from benchmarks.report import Report, Say
from benchmarks.workload import pages_of
from emissary.backends.cluster.database import Database
from emissary.compose import open_app
from emissary.telemetry.logs import configure_logs
from emissary.testing.servers import ObjectServer, PostgresServer
from emissary.testing.web import TestWebProcess

__all__ = ["run"]

_HOSTS = 100
_WORKERS, _LANES_EACH = 4, 30  # what one leaves behind, the one that comes in its place can take
_LATENCY = timedelta(seconds=0.5)  # of the web: there is always something in hand, and always something left
_BETWEEN_SECONDS = 6.0  # two kills: several deaths are waited for at the same time
_LOOK_SECONDS = 0.1
_PATIENCE_SECONDS = 120.0
_GOAL_SECONDS = 60
_SHOWN = ("p50Seconds", "p99Seconds", "longestSeconds")
_HELD = "SELECT key, fence, holder FROM lanes WHERE holder IS NOT NULL"

_Held = dict[str, tuple[int, str]]  # lanes in somebody's hands: under which fence, and in whose


@dataclass(frozen=True, slots=True)
class _Ground:
    """A store, and who holds which lanes of it."""

    place: Place
    held: Callable[[], Awaitable[_Held]]


_Opened = Callable[[Path], AbstractAsyncContextManager[_Ground]]


@dataclass(slots=True)
class _Deaths:
    """Lanes whose holder was killed, when, under which fence; and how long it took until they were claimed again."""

    open: dict[str, tuple[int, float]] = field(default_factory=dict)
    waited: list[float] = field(default_factory=list)
    kills: int = 0

    def note(self, lanes: dict[str, int]) -> None:
        self.kills += 1
        self.open |= {lane: (fence, time.perf_counter()) for lane, fence in lanes.items()}

    def look(self, held: _Held) -> None:
        now = time.perf_counter()
        for lane, (fence, _) in held.items():
            if lane in self.open and fence > self.open[lane][0]:
                self.waited.append(now - self.open.pop(lane)[1])


def run(*, short: bool, options: Sequence[str] = ()) -> Report:
    """Both backends, one after the other."""
    parser = argparse.ArgumentParser(prog="./emissary bench recovery")
    parser.add_argument("--kills", type=int, default=3 if short else 20)
    kills = parser.parse_args(options).kills
    grounds: dict[str, _Opened] = {"embedded": _embedded, "cluster": _cluster}
    with TestWebProcess(hosts=_HOSTS, latency=_LATENCY) as web:
        origins = [web.host_url(n, "") for n in range(1, _HOSTS + 1)]
        deaths = {name: _measure(name, opened, origins, kills) for name, opened in grounds.items()}
    return _report(deaths)


def _measure(name: str, opened: _Opened, origins: list[str], kills: int) -> _Deaths:
    Say(f"recovery on the {name} store: {kills} workers are killed …")
    pages_each = int((kills * _BETWEEN_SECONDS + _PATIENCE_SECONDS) / _LATENCY.total_seconds())
    urls = pages_of(origins, pages_each * len(origins))
    with tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder:
        return uvloop.run(_kill_some(opened, Path(folder), urls, kills))


async def _kill_some(opened: _Opened, folder: Path, urls: list[str], kills: int) -> _Deaths:
    async with opened(folder) as ground, AsyncExitStack() as stack:
        configure_logs(ground.place.settings.log, "warning")
        app = await stack.enter_async_context(open_app(ground.place.settings))
        await submit(app, urls, wish_for_fields())
        crew = [await _hire(ground.place) for _ in range(_WORKERS)]
        stack.callback(lambda: [worker.process.kill() for worker in crew])
        return await _watch_them_die(ground, crew, kills)


async def _watch_them_die(ground: _Ground, crew: list[WorkerProcess], kills: int) -> _Deaths:
    deaths, kill_at = _Deaths(), time.perf_counter() + _BETWEEN_SECONDS
    while deaths.kills < kills or deaths.open:
        held = await ground.held()
        deaths.look(held)
        now = time.perf_counter()
        if deaths.kills < kills and now >= kill_at:
            deaths.note(await _kill(ground, crew))
            crew.append(await _hire(ground.place))
            kill_at = now + _BETWEEN_SECONDS
            Say(
                f"recovery: {deaths.kills} killed, {len(deaths.waited)} lanes claimed again, {len(deaths.open)} not yet"
            )
        if deaths.open and now - min(at for _, at in deaths.open.values()) > _PATIENCE_SECONDS:
            raise AssertionError(f"{len(deaths.open)} lanes of the dead were not claimed again")
        await asyncio.sleep(_LOOK_SECONDS)
    return deaths


async def _hire(place: Place) -> WorkerProcess:
    worker = WorkerProcess.start(place, "--lanes", str(_LANES_EACH))
    await asyncio.to_thread(worker.ready)
    return worker


async def _kill(ground: _Ground, crew: list[WorkerProcess]) -> dict[str, int]:
    """SIGKILL to the one that has been there for longest; returns what it held then, by the store's books."""
    victim = crew.pop(0)
    victim.process.kill()
    victim.process.communicate()
    return {lane: fence for lane, (fence, holder) in (await ground.held()).items() if holder == victim.name}


@asynccontextmanager
async def _embedded(folder: Path) -> AsyncIterator[_Ground]:
    async def held() -> _Held:
        with closing(sqlite3.connect(folder / "emissary.db", timeout=30)) as connection:
            return {key: (fence, holder) for key, fence, holder in connection.execute(_HELD)}

    yield _Ground(Place(folder), held)


@asynccontextmanager
async def _cluster(folder: Path) -> AsyncIterator[_Ground]:
    with PostgresServer() as server, ObjectServer() as objects:
        database = await Database.open(server.url)

        async def held() -> _Held:
            return {key: (fence, holder) for key, fence, holder in await database.read(_HELD)}

        yield _Ground(Place(folder, server.url, objects.url), held)
        await database.close()


def _report(deaths: dict[str, _Deaths]) -> Report:
    figures = {
        name: {
            "kills": each.kills,
            "lanes": len(each.waited),
            "p50Seconds": percentile(each.waited, 0.5),
            "p99Seconds": percentile(each.waited, 0.99),
            "longestSeconds": max(each.waited),
        }
        for name, each in deaths.items()
    }
    rows = [
        (name, f"{each['kills']}", f"{each['lanes']:,}", *(f"{each[key]:.1f}" for key in _SHOWN))
        for name, each in figures.items()
    ]
    return Report(
        "recovery",
        "Workers killed with SIGKILL: until each of their lanes is in another's hands",
        ("", "kills", "lanes", "p50 s", "p99 s", "longest s"),
        rows,
        figures,
        [
            f"The goal: {_GOAL_SECONDS} s at the 99th percentile. A kill every {_BETWEEN_SECONDS:g} s, and another"
            f" worker in the place of each; {_WORKERS} work on {_HOSTS} hosts. Nothing is hurried: on the cluster a"
            " worker is dead when it was not heard of for 30 s; on one machine the kernel knows at once, and the"
            " leader looks every 5 s. The killed one may have been the leader.",
        ],
    )
