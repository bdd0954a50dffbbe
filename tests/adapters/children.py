"""A pool of real child processes for tests, and how to look at them from outside."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from rough import rough

from emissary.adapters.extraction.pool import ExtractionPool
from emissary.adapters.extraction.process import ChildLimits, Extract
from emissary.compose import the_clock
from emissary.model.extraction import Wanted
from emissary.model.pages import Page
from emissary.telemetry.metrics import Metrics

__all__ = ["MIB", "a_pool", "at_work", "counted", "is_gone", "until"]

MIB = 1024 * 1024
_TICKS = os.sysconf("SC_CLK_TCK")


def _is_light(page: Page, wanted: Wanted) -> bool:
    return page.body.startswith(b"light")


@asynccontextmanager
async def a_pool(
    extract: Extract = rough, *, processes: int = 2, limits: ChildLimits | None = None, metrics: Metrics | None = None
) -> AsyncIterator[ExtractionPool]:
    """A pool whose children are all gone in the end, which is checked."""
    limits = limits or ChildLimits(memory=256 * MIB, seconds=20)
    pool = ExtractionPool(extract, _is_light, processes=processes, limits=limits, metrics=metrics or Metrics())
    async with pool:
        yield pool
        started = pool.pids
    assert pool.pids == frozenset()
    assert all(map(is_gone, started))


async def until(look: Callable[[], object], *, within: float = 20.0) -> None:
    """Come back as soon as the look finds something."""
    clock = the_clock()
    end = clock.monotonic() + within
    while not look():
        assert clock.monotonic() < end, f"it did not come true within {within:g} s"
        await clock.sleep(0.01)


def is_gone(pid: int) -> bool:
    """Whether the process has ended, be it that nobody has asked for its exit code yet."""
    stat = _stat(pid)
    return stat is None or stat[0] == "Z"


async def at_work(pool: ExtractionPool, count: int) -> frozenset[int]:
    """The children, once there are so many and all of them are in the middle of a page.

    A child makes itself nice when it has started. What it works from then on, it works on a page.
    """
    await until(lambda: len(pool.pids) == count)
    pids = pool.pids
    for pid in pids:
        await until(lambda pid=pid: _niceness(pid) > os.nice(0))  # type: ignore[misc]
        before = _worked(pid)
        await until(lambda pid=pid, before=before: _worked(pid) > before + 0.05)  # type: ignore[misc]
    return pids


def counted(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(name, labels) or 0.0


def _worked(pid: int) -> float:
    stat = _stat(pid)
    return 0.0 if stat is None else (int(stat[11]) + int(stat[12])) / _TICKS


def _niceness(pid: int) -> int:
    stat = _stat(pid)
    return 0 if stat is None else int(stat[16])


def _stat(pid: int) -> list[str] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
