"""Measures work by wall clock, CPU and memory, and runs a contender in a process of its own."""

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Cost", "Meter", "Task", "microseconds", "percentile", "play", "run_contender"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What some work took. CPU is user and system time of the process, its threads and its children."""

    pages: int
    seconds: float
    cpu: float
    rss_mib: float

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.seconds

    @property
    def cpu_per_thousand(self) -> float:
        return self.cpu / self.pages * 1000


@dataclass(frozen=True, slots=True)
class Task:
    """What a contender is given: pages by their addresses, an empty folder of its own, and the gap to keep."""

    urls: Sequence[str]
    folder: Path
    gap: float = 0.0  # seconds between two pages of a host, which is asked for one at a time


class Meter:
    """Runs from its making to `read`."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._cpu = _cpu_seconds()

    def read(self, pages: int) -> Cost:
        seconds, cpu = time.perf_counter() - self._began, _cpu_seconds() - self._cpu
        return Cost(pages, seconds, cpu, _peak_rss_mib())


def run_contender(contender: Sequence[str], task: Task) -> Cost:
    """Run a contender's module with its arguments to its end; what it says on standard error is let through."""
    given = json.dumps({"urls": list(task.urls), "folder": str(task.folder), "gap": task.gap})
    command = [sys.executable, "-m", *contender]
    ran = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, check=True)
    return Cost(**json.loads(ran.stdout.splitlines()[-1]))


def play(work: Callable[[Task], Cost]) -> None:
    """A contender's side of `run_contender`."""
    given = json.load(sys.stdin)
    print(json.dumps(asdict(work(Task(given["urls"], Path(given["folder"]), given["gap"])))))


def microseconds(work: Callable[[], object], rounds: int) -> float:
    """The best of seven runs, in CPU time: what the machine does beside it does not count."""
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        for _ in range(rounds):
            work()
        best = min(best, (time.process_time() - start) / rounds)
    return round(best * 1e6, 1)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _peak_rss_mib() -> float:
    """Not ru_maxrss: Linux hands that down from the process that started this one."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) / 1024
