"""How long it takes from the command to the first page, on a machine that has nothing of it yet."""

import statistics
import time

import aiohttp
import uvloop

from benchmarks.report import Report, Say
from benchmarks.serving import Served, emissary_up, scrape
from emissary.testing.web import TestWebProcess

__all__ = ["run"]


def run(*, short: bool) -> Report:
    """Each time on a fresh directory."""
    times = 3 if short else 5
    Say(f"start: {times} starts …")
    with TestWebProcess(hosts=1) as web:
        taken = [_measure(web.host_url(1, "/page/1")) for _ in range(times)]
    ready, first = (statistics.median(column) for column in zip(*taken, strict=True))
    return Report(
        "start",
        f"From `emissary up` on an empty directory to the first page (median of {times})",
        ("", "seconds"),
        [("ready", f"{ready:.2f}"), ("first page read", f"{first:.2f}")],
        {"times": times, "readySeconds": ready, "firstPageSeconds": first},
        ["The goal: the first page in less than 10 seconds, with everything installed."],
    )


def _measure(page: str) -> tuple[float, float]:
    began = time.perf_counter()
    with emissary_up() as served:
        ready = time.perf_counter() - began
        uvloop.run(_first_page(served, page))
        return ready, time.perf_counter() - began


async def _first_page(served: Served, page: str) -> None:
    async with aiohttp.ClientSession() as session:
        await scrape(session, served, page)
