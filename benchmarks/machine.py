"""What the figures were measured on: the machine, without its name, and the versions of all who took part."""

import os
import platform
import re
import statistics
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["describe"]

_PACKAGES = ("emissary-web", "aiohttp", "uvloop", "selectolax", "scrapy", "twisted", "parsel")
_SYNCS = 200


def describe() -> dict[str, str]:
    """Each thing to know about the machine, by its name."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "CPU": f"{_cpu_model()}, {len(os.sched_getaffinity(0))} cores",
        "load before": f"{os.getloadavg()[0]:.1f} (what else ran on those cores)",
        "Python": platform.python_version(),
        "pace": f"{_million_additions_ms():.0f} ms for a million additions in plain Python",
        "versions": ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
        "fsync": f"{_fsync_ms():.2f} ms (the median of {_SYNCS}, each after 4 KB appended)",
    }


def _million_additions_ms() -> float:
    """By which figures of two machines can be compared: one may be three times as fast as another of as many cores."""
    taken = []
    for _ in range(5):
        began, total = time.perf_counter(), 0
        for number in range(1_000_000):
            total += number
        taken.append(time.perf_counter() - began)
    return min(taken) * 1000


def _cpu_model() -> str:
    found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return found[1] if found else platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _fsync_ms() -> float:
    """Where the benchmarks keep their files; a disk that answers in microseconds does not really sync."""
    taken = []
    with tempfile.NamedTemporaryFile(prefix="emissary-bench-") as file:
        for _ in range(_SYNCS):
            file.write(bytes(4096))
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000
