"""A long batch is taken in line by line: how long it takes, and how much memory the server takes for it."""

import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import uvloop

from benchmarks.report import Report, Say
from benchmarks.serving import Served, emissary_up
from emissary.testing.web import TestWebProcess

__all__ = ["run"]

_HOSTS = 100
_LINES_IN_A_PIECE = 500
_GAP = "3600"  # so that hosts are asked for their robots.txt and then rest: what is measured is taking in


def run(*, short: bool) -> Report:
    """Each batch into a server of its own, on an empty directory."""
    counts = [10_000] if short else [100_000, 1_000_000]
    with TestWebProcess(hosts=_HOSTS) as web:
        hosts = [web.host_url(number, "") for number in range(1, _HOSTS + 1)]
        taken = {count: _measure(hosts, count) for count in counts}
    return _report(taken)


def _measure(hosts: list[str], count: int) -> tuple[float, float]:
    """Seconds, and MiB at the peak beyond what there was before."""
    Say(f"intake: {count:,} lines …")
    with emissary_up(EMISSARY_HOST_GAP=_GAP) as served:
        uvloop.run(_send(served, hosts, 1))  # whatever is loaded with the first batch is not the lines' fault
        before = _memory(served, "VmRSS")
        began = time.perf_counter()
        uvloop.run(_send(served, hosts, count))
        return time.perf_counter() - began, _memory(served, "VmHWM") - before


async def _send(served: Served, hosts: list[str], count: int) -> None:
    headers = {"Authorization": f"Bearer {served.key}", "Content-Type": "application/x-ndjson"}
    patience = aiohttp.ClientTimeout(total=None)
    async with (
        aiohttp.ClientSession(timeout=patience) as session,
        session.post(f"{served.url}/v1/batch", data=_lines(hosts, count), headers=headers) as answer,
    ):
        told = await answer.json()
        if told.get("accepted") != count:
            raise AssertionError(f"{count} lines were sent: {told}")


async def _lines(hosts: list[str], count: int) -> AsyncIterator[bytes]:
    for start in range(0, count, _LINES_IN_A_PIECE):
        numbers = range(start, min(start + _LINES_IN_A_PIECE, count))
        yield "".join(f'{{"url": "{hosts[n % len(hosts)]}/page/{n}"}}\n' for n in numbers).encode()


def _memory(served: Served, name: str) -> float:
    status = Path(f"/proc/{served.process}/status").read_text(encoding="ascii")
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


def _report(taken: dict[int, tuple[float, float]]) -> Report:
    rows: list[tuple[str, ...]] = [
        (f"{count:,} lines", f"{seconds:.1f}", f"{count / seconds:,.0f}", f"{more:.0f}")
        for count, (seconds, more) in taken.items()
    ]
    return Report(
        "intake",
        f"A batch of many pages of {_HOSTS} hosts, sent line by line and on disk when it is answered (SQLite)",
        ("", "seconds", "lines/s", "more MiB at the peak"),
        rows,
        {str(count): {"seconds": seconds, "moreMib": more} for count, (seconds, more) in taken.items()},
        [
            "The goal: 100,000 lines in 5 seconds at most, with at most 100 MB more memory.",
            "The server's own worker is at work meanwhile: each host is asked for its robots.txt, and then rests.",
        ],
    )
