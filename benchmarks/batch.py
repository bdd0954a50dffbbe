"""Reads many pages of many hosts and keeps six fields of each: Emissary, Scrapy and a bare loop."""

import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.measuring import Cost, Task, run_contender
from benchmarks.report import Report, Say
from benchmarks.workload import pages_of
from emissary.testing.web import TestWebProcess

__all__ = ["run"]

_HOSTS = 100
_CONTENDERS = {
    "Emissary": ("benchmarks.contenders.emissary",),
    "Emissary, signing and capturing": ("benchmarks.contenders.emissary", "--sign", "--capture"),
    "Scrapy": ("benchmarks.contenders.scrapy",),
    "Scrapy on uvloop": ("benchmarks.contenders.scrapy", "--uvloop"),
    "bare loop": ("benchmarks.contenders.bare_loop",),
}


def run(*, short: bool) -> Report:
    """One contender after the other, against the same running web."""
    pages = 3_000 if short else 20_000
    with TestWebProcess(hosts=_HOSTS) as web:
        urls = pages_of([web.host_url(n, "") for n in range(1, _HOSTS + 1)], pages)
        costs = {name: _measure(name, urls) for name in _CONTENDERS}
    return _report(costs, pages)


def _measure(name: str, urls: list[str]) -> Cost:
    Say(f"batch: {name} reads {len(urls):,} pages …")
    with tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder:
        return run_contender(_CONTENDERS[name], Task(urls, Path(folder)))


def _report(costs: dict[str, Cost], pages: int) -> Report:
    emissary, capturing, scrapy, on_uvloop, bare = costs.values()
    less_cpu, less_on_uvloop = scrapy.cpu / emissary.cpu, on_uvloop.cpu / emissary.cpu
    less_capturing = scrapy.cpu / capturing.cpu
    speed, speed_capturing = (each.pages_per_second / bare.pages_per_second for each in (emissary, capturing))
    return Report(
        "batch",
        f"{pages:,} pages of {_HOSTS} hosts, six fields each, into the store",
        ("", "pages/s", "CPU s per 1,000 pages", "peak MiB"),
        [
            (name, f"{cost.pages_per_second:,.0f}", f"{cost.cpu_per_thousand:.2f}", f"{cost.rss_mib:.0f}")
            for name, cost in costs.items()
        ],
        {
            "pages": pages,
            "hosts": _HOSTS,
            "contenders": {name: asdict(cost) for name, cost in costs.items()},
            "scrapyCpuToEmissary": less_cpu,
            "scrapyOnUvloopCpuToEmissary": less_on_uvloop,
            "scrapyCpuToCapturing": less_capturing,
            "emissarySpeedToBareLoop": speed,
            "capturingSpeedToBareLoop": speed_capturing,
        },
        [
            f"Scrapy takes {less_cpu:.1f} times Emissary's CPU per page (the goal: 5 times or more);"
            f" on uvloop, which is not its default, {less_on_uvloop:.1f} times.",
            f"With every request signed and every exchange kept as WARC, which the others do not do, Scrapy takes"
            f" {less_capturing:.1f} times the CPU (the goal: 5 times or more).",
            f"Emissary reads {speed:.2f} times as many pages per second as the bare loop; when it signs and captures,"
            f" {speed_capturing:.2f} times as many (the goal: 0.55 or more).",
            "Pages of 20 KB, one request per host at a time and no gap between them. Emissary and Scrapy obey"
            " robots.txt; the bare loop does not ask for it. Emissary accepts, queues and settles each page as a job"
            " of its own, with a receipt, and syncs to disk; the bare loop syncs each hundred rows; Scrapy writes JSON"
            " Lines and does not sync.",
        ],
    )
