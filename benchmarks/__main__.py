"""`python -m benchmarks [name] [--json] [--short]`: measures, and says what it found."""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from rich.console import Console

from benchmarks import (
    api_load,
    batch,
    fairness,
    intake,
    lanes,
    latency,
    machine,
    memory,
    pages,
    plain_sight,
    polite,
    processes,
    recovery,
    signing,
    soak,
    start,
)
from benchmarks.report import Report, Say

_INTRO = """# Benchmarks

Measured by `./emissary bench all`, which wrote this page; the same command measures your machine. A section that
names a date of its own was measured since, by its own command. All of it happens on one machine: the sites that are
read are served by another process of it over loopback, so the network costs nothing, and what is left is what the
software itself takes. Real sites are slower than that and are read with a gap between two requests, so that a host's
patience, not the CPU, sets the pace; the figures say how much machine a crawl of many hosts needs. Other work on the
machine makes every figure worse, pages per second more than CPU seconds; the ratios of one run hold best.
"""


def _extract(*, short: bool) -> Report:
    """It measures in a process of its own, where nothing else has been imported."""
    Say("extract: fields and formats of one page …")
    command = [sys.executable, "-m", "benchmarks.extract", "--json", "--rounds", "50" if short else "300"]
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    rows = [(name, f"{figure:,.2f}") for name, figure in told["figures"].items()]
    title = f"What is taken from one page of {told['bytes']:,} bytes"
    return Report("extract", title, ("", str(told["unit"])), rows, told)


_BENCHMARKS: dict[str, Callable[..., Report]] = {
    "batch": batch.run,
    "polite": polite.run,
    "latency": latency.run,
    "start": start.run,
    "lanes": lanes.run,
    "extract": _extract,
    "signing": signing.run,
    "plain_sight": plain_sight.run,
    "intake": intake.run,
    "api_load": api_load.run,
    "fairness": fairness.run,
    "processes": processes.run,
}
# Those that take an hour or so at full length. `all` has them in short; they have options of their own.
_LONG: dict[str, Callable[..., Report]] = {
    "soak": soak.run,
    "memory": memory.run,
    "recovery": recovery.run,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What Emissary costs on this machine.")
    parser.add_argument(
        "name", nargs="?", default="all", choices=["all", *_BENCHMARKS, *_LONG], help="which; all by default"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    parser.add_argument("--short", action="store_true", help="less of everything: some minutes in all")
    given, options = parser.parse_known_args()
    given.options = options
    if given.options and given.name not in _LONG:
        parser.error(f"{given.name} does not know {' '.join(given.options)}")
    return given


def _run(given: argparse.Namespace) -> list[Report]:
    if given.name in _LONG:
        return [_LONG[given.name](short=given.short, options=given.options)]
    names = list(_BENCHMARKS) if given.name == "all" else [given.name]
    reports = [_BENCHMARKS[name](short=given.short) for name in names]
    return reports + [each(short=True) for each in _LONG.values()] if given.name == "all" else reports


def _write_page(about: dict[str, str], reports: list[Report]) -> None:
    facts = "\n".join(f"- {name}: {value}" for name, value in about.items())
    pages.USUAL.write_text(
        "\n".join([_INTRO, facts, "", *(report.as_markdown() for report in reports)]), encoding="utf-8"
    )


def _show(about: dict[str, str], reports: list[Report]) -> None:
    console = Console(highlight=False)
    console.print("\n".join(f"{name}: {value}" for name, value in about.items()), markup=False)
    for report in reports:
        console.print("", f"[bold]{report.title}[/]", report.as_table(), *report.notes, sep="\n", soft_wrap=True)


def _as_json(about: dict[str, str], reports: list[Report]) -> str:
    told: dict[str, Any] = {"machine": about, **{report.name: report.figures for report in reports}}
    return json.dumps(told, indent=2)


def main() -> None:
    """Run what was asked for. What ran at full length is written into the docs."""
    given = _arguments()
    about = machine.describe()
    reports = _run(given)
    if given.json:
        print(_as_json(about, reports))
    else:
        _show(about, reports)
    if given.name == "all" and not given.short:
        _write_page(about, reports)
        Say("docs/benchmarks.md is written anew.")
    elif not given.short:
        page = pages.LONG if given.name in _LONG else pages.USUAL
        pages.put(page, about, reports[0])
        Say(f"docs/{page.name} has the new figures.")


if __name__ == "__main__":
    main()
