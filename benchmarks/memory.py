"""The memory of a worker over a batch of a million pages: it must not grow with what was done."""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from benchmarks.crew import crew, rss_mib
from benchmarks.local_app import Place, progress, submit
from benchmarks.report import Report, Say
from emissary.compose import open_app
from emissary.model.pages import Format
from emissary.products.scrape.batches import BatchWish
from emissary.products.scrape.order import ScrapeOptions
from emissary.telemetry.logs import configure_logs
from emissary.testing.web import TestWebProcess

__all__ = ["run"]

_HOSTS = 1_000
_WARM = 0.1  # the share of all pages that are read before it counts
_GOAL = 0.10
_TELL_EVERY = 10.0


@dataclass(slots=True)
class _Samples:
    """Pages that had ended, and MiB in memory at that moment."""

    pages: list[int] = field(default_factory=list)
    mib: list[float] = field(default_factory=list)

    def after(self, count: float) -> "_Samples":
        first = next(place for place, pages in enumerate(self.pages) if pages >= count)
        return _Samples(self.pages[first:], self.mib[first:])

    @property
    def spread(self) -> float:
        """How far the farthest sample is from the median, as a share of it."""
        middle = statistics.median(self.mib)
        return max(max(self.mib) - middle, middle - min(self.mib)) / middle

    @property
    def slope(self) -> float:
        """MiB for each 100,000 pages, by the straight line that fits best."""
        return statistics.linear_regression(self.pages, self.mib).slope * 100_000


def run(*, short: bool, options: Sequence[str] = ()) -> Report:
    """One worker process on the embedded store; whoever submits and the web are other processes."""
    parser = argparse.ArgumentParser(prog="./emissary bench memory")
    parser.add_argument("--pages", type=int, default=20_000 if short else 1_000_000)
    pages = parser.parse_args(options).pages
    Say(f"memory: {pages:,} pages of {_HOSTS:,} hosts …")
    with TestWebProcess(hosts=_HOSTS) as web, tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder:
        origins = [web.host_url(n, "") for n in range(1, _HOSTS + 1)]
        urls = [f"{origins[place % _HOSTS]}/small?page={place // _HOSTS}" for place in range(pages)]
        samples, seconds = uvloop.run(_measure(Place(Path(folder)), urls))
    return _report(samples, pages, seconds)


async def _measure(place: Place, urls: list[str]) -> tuple[_Samples, float]:
    settings, samples = place.settings, _Samples()
    configure_logs(settings.log, settings.log_level)
    async with open_app(settings) as app:
        batch = await submit(app, urls, BatchWish(ScrapeOptions(formats=(Format.TEXT,))))
        with crew(place, 1) as (worker,):
            began = tell_at = time.perf_counter()
            async for ended in progress(app, batch, every=1.0 if len(urls) > 100_000 else 0.05):
                samples.pages.append(ended)
                samples.mib.append(rss_mib(worker.pid))
                if time.perf_counter() >= tell_at:
                    Say(f"memory: {ended:,} pages, {samples.mib[-1]:.0f} MiB")
                    tell_at += _TELL_EVERY
    return samples, time.perf_counter() - began


def _report(samples: _Samples, pages: int, seconds: float) -> Report:
    warm = samples.after(pages * _WARM)
    least, middle, most = min(warm.mib), statistics.median(warm.mib), max(warm.mib)
    return Report(
        "memory",
        f"A worker's memory over a batch of {pages:,} pages of {_HOSTS:,} hosts",
        ("pages", "MiB"),
        list(_rows(warm, pages)),
        {
            "pages": pages,
            "seconds": seconds,
            "minMib": least,
            "medianMib": middle,
            "maxMib": most,
            "spread": warm.spread,
            "mibPer100000Pages": warm.slope,
        },
        [
            f"After the first {_WARM:.0%} of the pages: {least:.0f} MiB at least, {middle:.0f} at the median,"
            f" {most:.0f} at most, so within {warm.spread:.1%} (the goal: {_GOAL:.0%});"
            f" {warm.slope:+.2f} MiB for each 100,000 pages ({len(warm.mib):,} samples).",
            f"Pages of 2 KB as text, in {seconds:,.0f} s. What counts is the resident memory of the worker's process.",
        ],
    )


def _rows(samples: _Samples, pages: int) -> Iterator[tuple[str, ...]]:
    for share in (0.1, 0.25, 0.5, 0.75, 1.0):
        found = samples.after(min(pages * share, samples.pages[-1]))
        yield f"{found.pages[0]:,}", f"{found.mib[0]:.0f}"
