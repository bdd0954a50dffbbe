"""Real `emissary work` processes, and what they and their servers take of the machine, as the kernel counts it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.local_app import Place

__all__ = ["WorkerProcess", "cpu_of", "crew", "rss_mib"]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class WorkerProcess:
    """One of them; it has a name when it is ready."""

    process: "subprocess.Popen[str]"
    name: str = ""

    @classmethod
    def start(cls, place: Place, *options: str) -> Self:
        """On the place; it works when `ready` returns."""
        command = [sys.executable, "-m", "emissary", "work", "--json", *options]
        return cls(subprocess.Popen(command, env=_environment(place), stdout=subprocess.PIPE, text=True))

    def ready(self) -> None:
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            raise AssertionError(f"the worker did not start; it ended with {self.process.wait()}")
        self.name = json.loads(line)["worker"]

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate()


@contextmanager
def crew(place: Place, count: int) -> Iterator[list[WorkerProcess]]:
    """So many workers on one store, ready; stopped in order at the end."""
    with ExitStack() as stack:
        workers = [WorkerProcess.start(place) for _ in range(count)]
        for worker in workers:
            stack.callback(worker.stop)
        for worker in workers:
            worker.ready()
        yield workers


def cpu_of(pid: int) -> float:
    """CPU seconds that the process and its children have used, those that have ended among them."""
    try:
        return _cpu_of_one(pid) + sum(cpu_of(child) for child in _children(pid))
    except (FileNotFoundError, ProcessLookupError):  # it has just ended: from now on its parent has its time
        return 0.0


def rss_mib(pid: int) -> float:
    """What the process has in memory right now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES / 2**20


def _cpu_of_one(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / _TICKS  # its own user and system time, and its ended children's


def _children(pid: int) -> list[int]:
    lists = (task / "children" for task in Path(f"/proc/{pid}/task").iterdir())
    return [int(child) for each in lists for child in each.read_text().split()]


def _environment(place: Place) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("EMISSARY_")}
    return inherited | dict(place.variables)
