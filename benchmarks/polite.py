"""Pages of many hosts with a gap on each: the least time that it can take, beside the time that it takes."""

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measuring import Cost, Task, run_contender
from benchmarks.report import Report, Say
from benchmarks.watched_web import Sighting, WatchedWeb, watched_web
from benchmarks.workload import pages_of

__all__ = ["run"]

_CONTENDERS = {
    "Emissary": ("benchmarks.contenders.emissary",),
    "Emissary, signing and capturing": ("benchmarks.contenders.emissary", "--sign", "--capture"),
    "Scrapy": ("benchmarks.contenders.scrapy",),
    "bare loop": ("benchmarks.contenders.bare_loop",),
}
_RESOLUTION = 0.001  # seconds: the server's clock counts whole milliseconds


@dataclass(frozen=True, slots=True)
class _Course:
    """A gap, how many pages of each host are read with it, and what share of the time may not be lost."""

    gap: float
    pages: int
    goal: float

    @property
    def ideal(self) -> float:
        return (self.pages - 1) * self.gap


@dataclass(frozen=True, slots=True)
class _Ran:
    course: _Course
    cost: Cost
    sighting: Sighting

    @property
    def efficiency(self) -> float:
        return self.course.ideal / self.sighting.seconds

    @property
    def kept_the_gap(self) -> bool:
        return self.sighting.smallest_gap >= self.course.gap - _RESOLUTION

    def row(self, name: str) -> tuple[str, ...]:
        seen = self.sighting
        gap = f"{seen.smallest_gap * 1000:.0f}"
        return (
            f"{name}, {self.course.gap * 1000:.0f} ms",
            f"{self.course.ideal:.2f}",
            f"{seen.seconds:.2f}",
            f"{self.efficiency:.2f}",
            gap if self.kept_the_gap else f"{gap} (too close)",
            f"{self.cost.cpu_per_thousand:.2f}",
        )

    def figures(self) -> dict[str, Any]:
        told = {"efficiency": self.efficiency, "keptTheGap": self.kept_the_gap}
        return told | {"seen": asdict(self.sighting), "cost": asdict(self.cost)}


def run(*, short: bool) -> Report:
    """One contender after the other, against the same running web."""
    courses = [_Course(0.05, 40 if short else 100, 0.90), _Course(0.5, 8 if short else 30, 0.95)]
    with watched_web() as web:
        ran = {course: {name: _measure(name, course, web) for name in _CONTENDERS} for course in courses}
    return _report(ran, len(web.origins))


def _measure(name: str, course: _Course, web: WatchedWeb) -> _Ran:
    urls = pages_of(web.origins, len(web.origins) * course.pages)
    Say(f"polite: {name} reads {len(urls):,} pages with {course.gap * 1000:.0f} ms between two of a host …")
    with tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder:
        cost = run_contender(_CONTENDERS[name], Task(urls, Path(folder), course.gap))
    sighting = web.look()
    if sighting.pages != len(urls):
        raise AssertionError(f"{name} was given {len(urls)} pages and asked for {sighting.pages}")
    return _Ran(course, cost, sighting)


def _report(ran: dict[_Course, dict[str, _Ran]], hosts: int) -> Report:
    courses = " and ".join(f"{course.pages} pages of each, {course.gap * 1000:.0f} ms apart" for course in ran)
    return Report(
        "polite",
        f"How much of their patience is used: {hosts} hosts, {courses}",
        ("", "ideal s", "actual s", "ideal / actual", "smallest gap ms", "CPU s per 1,000 pages"),
        [each.row(name) for contenders in ran.values() for name, each in contenders.items()],
        {
            "hosts": hosts,
            "courses": [
                {
                    "gapSeconds": course.gap,
                    "pagesPerHost": course.pages,
                    "idealSeconds": course.ideal,
                    "goal": course.goal,
                    "contenders": {name: each.figures() for name, each in contenders.items()},
                }
                for course, contenders in ran.items()
            ],
        },
        [
            *(_verdict(name, each) for of in ran.values() for name, each in of.items() if name.startswith("Emissary")),
            "The ideal time is (pages per host - 1) × gap: what it takes if an exchange takes no time. The actual time"
            " runs from the first page request to the last, of all hosts, by the server's clock; starting up and"
            " robots.txt do not count.",
            "The smallest gap is the least time between two requests to one host, as the server saw them arrive, in"
            " whole milliseconds. One request at a time per host. Emissary's gap runs from the end of an exchange to"
            " the beginning of the next, and is drawn out a little by chance; the bare loop sleeps after each page;"
            " Scrapy has DOWNLOAD_DELAY, not randomised.",
        ],
    )


def _verdict(name: str, ran: _Ran) -> str:
    course, seen = ran.course, ran.sighting
    return (
        f"{name}, {course.gap * 1000:.0f} ms: {ran.efficiency:.3f} (the goal: {course.goal:.2f} or more);"
        f" no two requests to a host came closer than {seen.smallest_gap * 1000:.0f} ms."
    )
