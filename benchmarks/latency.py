"""A scrape that its caller waits for, beside a bare fetch of the same page, in turns."""

import statistics
import time
from collections.abc import Awaitable

import aiohttp
import uvloop

from benchmarks.measuring import percentile
from benchmarks.report import Report, Say
from benchmarks.serving import Served, emissary_up, scrape
from emissary.testing.web import TestWebProcess

__all__ = ["run"]

_WARM_UP = 20
_VARIANTS = 50


def run(*, short: bool) -> Report:
    """Sequential and warm: what one caller sees."""
    count = 100 if short else 300
    Say(f"latency: {count} scrapes and {count} bare fetches in turns …")
    with TestWebProcess(hosts=1) as web, emissary_up() as served:
        pages = [web.host_url(1, f"/page/{k}") for k in range(_VARIANTS)]
        scrapes, fetches = uvloop.run(_measure(served, pages, count))
    return _report(scrapes, fetches)


async def _measure(served: Served, pages: list[str], count: int) -> tuple[list[float], list[float]]:
    scrapes, fetches = [], []
    async with aiohttp.ClientSession() as session:
        for place in range(_WARM_UP + count):
            page = pages[place % len(pages)]
            scrapes.append(await _milliseconds(scrape(session, served, page)))
            fetches.append(await _milliseconds(_fetch(session, page)))
    return scrapes[_WARM_UP:], fetches[_WARM_UP:]


async def _milliseconds(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


async def _fetch(session: aiohttp.ClientSession, page: str) -> bytes:
    async with session.get(page) as answer:
        return await answer.read()


def _report(scrapes: list[float], fetches: list[float]) -> Report:
    kinds = {"scrape through the API": scrapes, "bare fetch": fetches}
    figures = {
        name: {"p50Ms": statistics.median(taken), "p95Ms": percentile(taken, 0.95)} for name, taken in kinds.items()
    }
    more = statistics.median(scrapes) - statistics.median(fetches)
    return Report(
        "latency",
        f"One 20 KB page as Markdown, waited for ({len(scrapes)} of each)",
        ("", "p50 ms", "p95 ms"),
        [(name, f"{figure['p50Ms']:.1f}", f"{figure['p95Ms']:.1f}") for name, figure in figures.items()],
        {"requests": len(scrapes), **figures, "moreAtP50Ms": more},
        [
            f"Emissary adds {more:.1f} ms at the median (the goal: 15 ms at most).",
            "In that time the job is accepted, claimed and settled, each synced to disk before the next.",
        ],
    )
