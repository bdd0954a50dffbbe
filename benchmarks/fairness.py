"""Three large batches at once, and single scrapes among them: who waits for whom."""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop

from benchmarks.local_app import Place, progress, wish_for_fields
from benchmarks.measuring import percentile
from benchmarks.report import Report, Say
from benchmarks.workload import pages_of
from emissary.compose import LOCAL_ACCOUNT, App, open_app, steady_process
from emissary.model.ids import BatchId
from emissary.model.jobs import JobState, Priority
from emissary.products.scrape.batches import Line
from emissary.products.scrape.order import ScrapeOrder
from emissary.reading.urls import parse
from emissary.telemetry.logs import configure_logs
from emissary.testing.web import TestWebProcess

__all__ = ["run"]

_BATCHES = 3
_HOSTS_EACH = 100
_SINGLES = 20  # of either way to ask for one
_CHUNK = 1_000
_LOOK_SECONDS = 0.02
_PAGES_PER_SECOND = 3_000  # about; the singles are spread over the time that the batches take at this rate
_GOAL_SPREAD, _GOAL_MS = 0.10, 200


@dataclass(slots=True)
class _Outcome:
    """When each batch was done, in seconds from the first page's acceptance, and how long singles waited, in ms."""

    finished: list[float]
    waited: dict[str, list[float]]


def run(*, short: bool) -> Report:
    """One worker, with the API's own way in, in this process; the web is in another."""
    pages = 1_000 if short else 10_000
    Say(f"fairness: {_BATCHES} batches of {pages:,} pages at once …")
    hosts = _BATCHES * _HOSTS_EACH
    with TestWebProcess(hosts=hosts + 2 * _SINGLES) as web, tempfile.TemporaryDirectory(prefix="emissary-bench-") as at:
        origins = [web.host_url(n, "") for n in range(1, hosts + 2 * _SINGLES + 1)]
        outcome = uvloop.run(_measure(Path(at), origins[:hosts], origins[hosts:], pages))
    return _report(outcome, pages)


async def _measure(folder: Path, busy: list[str], free: list[str], pages: int) -> _Outcome:
    settings = Place(folder).settings
    configure_logs(settings.log, settings.log_level)
    async with open_app(settings) as app, asyncio.TaskGroup() as group:
        steady_process()
        began = time.perf_counter()
        batches = await _submit(app, busy, pages)
        group.create_task(app.worker.run())
        singles: dict[str, list[asyncio.Task[float]]] = {"waited for": [], "submitted": []}
        asking = group.create_task(_ask_for_singles(app, free, _BATCHES * pages, singles))
        finished = await asyncio.gather(*(_until_done(app, batch) for batch in batches))
        asking.cancel()  # what comes now meets nobody
        waited = {how: await asyncio.gather(*asked) for how, asked in singles.items()}
        app.worker.stop()
    return _Outcome([each - began for each in finished], waited)


async def _submit(app: App, origins: list[str], pages: int) -> list[BatchId]:
    """Chunk by chunk in turns, before anybody works: none has a head start but that of its first chunk."""
    intakes = [await app.services.batches.begin(LOCAL_ACCOUNT, wish_for_fields()) for _ in range(_BATCHES)]
    urls = [pages_of(origins[each * _HOSTS_EACH : (each + 1) * _HOSTS_EACH], pages) for each in range(_BATCHES)]
    for start in range(0, pages, _CHUNK):
        for intake, of_batch in zip(intakes, urls, strict=True):
            await intake.add([Line(url) for url in of_batch[start : start + _CHUNK]])
    return [(await intake.end()).id for intake in intakes]


async def _until_done(app: App, batch: BatchId) -> float:
    async for _ in progress(app, batch, every=_LOOK_SECONDS):
        pass
    return time.perf_counter()


async def _ask_for_singles(
    app: App, free: list[str], pages: int, asked: "dict[str, list[asyncio.Task[float]]]"
) -> None:
    """Scrapes of hosts that nobody else reads, one after the other while the batches are under way."""
    pause, origins = pages / _PAGES_PER_SECOND * 0.7 / (2 * _SINGLES), iter(free)
    for _ in range(_SINGLES):
        for how, singles in asked.items():
            await asyncio.sleep(pause)
            singles.append(asyncio.create_task(_one(app, next(origins), how)))


async def _one(app: App, origin: str, how: str) -> float:
    """Milliseconds from the acceptance of a scrape to its start."""
    page = f"{origin}/page/1"
    order, scrapes = ScrapeOrder(parse(page), page), app.services.scrapes
    ask = scrapes.scrape if how == "waited for" else scrapes.submit
    shown = await ask(LOCAL_ACCOUNT, order, Priority.NORMAL)
    while shown.job.state in (JobState.WAITING, JobState.ACTIVE):
        await asyncio.sleep(_LOOK_SECONDS)
        shown = await scrapes.show(LOCAL_ACCOUNT, shown.job.id)
    if shown.job.state is not JobState.COMPLETED or shown.job.started_at is None:
        raise AssertionError(f"{page} was not read: {shown.job}")
    return (shown.job.started_at - shown.job.created_at).total_seconds() * 1000


def _report(outcome: _Outcome, pages: int) -> Report:
    first, last = min(outcome.finished), max(outcome.finished)
    spread = (last - first) / last
    return Report(
        "fairness",
        f"{_BATCHES} batches of {pages:,} pages, each on {_HOSTS_EACH} hosts of its own, and single scrapes",
        ("", "p50 ms to start", "longest"),
        list(_rows(outcome)),
        {"pages": pages, "finishedSeconds": outcome.finished, "spread": spread, "singlesMs": outcome.waited},
        [
            f"The batches were done after {', '.join(f'{each:.2f}' for each in sorted(outcome.finished))} s:"
            f" {spread:.1%} between the first and the last (the goal: {_GOAL_SPREAD:.0%} at most).",
            f"A single scrape is to start within {_GOAL_MS} ms of its acceptance when its host is free; each of these"
            " had a host of its own that nobody had read before. One is waited for by its caller, the other is only"
            " submitted.",
        ],
    )


def _rows(outcome: _Outcome) -> Iterator[tuple[str, ...]]:
    for how, waits in outcome.waited.items():
        yield f"{len(waits)} single scrapes, {how}", f"{percentile(waits, 0.5):.0f}", f"{max(waits):.0f}"
