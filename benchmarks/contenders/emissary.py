"""Emissary on its embedded backend: robots.txt, lanes, receipts and durability as always."""

import asyncio
import sqlite3
import sys
from datetime import timedelta

import msgspec
import uvloop
from pydantic import AnyHttpUrl

from benchmarks.measuring import Cost, Meter, Task, play
from benchmarks.workload import SCHEMA, check_sample
from emissary.compose import LOCAL_ACCOUNT, App, open_app, steady_process
from emissary.engine.jobs import new_job_id
from emissary.model import zstd
from emissary.model.jobs import NewJob
from emissary.model.lanes import host_lane
from emissary.model.pages import Format
from emissary.products.scrape.order import SCRAPE_HTTP, ScrapeOrder
from emissary.reading.urls import parse
from emissary.settings import Settings
from emissary.telemetry.logs import configure_logs

_CHUNK = 1_000
_LOOK_EVERY = timedelta(milliseconds=200)
_FIELDS = msgspec.json.encode(SCHEMA).decode()
_encode = msgspec.json.Encoder().encode


async def _read_all(task: Task) -> Cost:
    settings = Settings(
        data_dir=task.folder,
        host_gap=task.gap,
        host_concurrency=1,
        worker_lanes=100,
        allow_networks=("127.0.0.0/8",),
        log_level="warning",
        agent_url=AnyHttpUrl("https://agent.example/") if "--sign" in sys.argv else None,
        captures="--capture" in sys.argv,
    )
    configure_logs(settings.log, settings.log_level)
    meter = Meter()
    async with open_app(settings) as app:
        steady_process()
        await _accept(app, task.urls)
        async with asyncio.TaskGroup() as group:
            group.create_task(app.worker.run())
            while await app.services.jobs.depth() > 0:
                await app.services.clock.sleep(_LOOK_EVERY.total_seconds())
            app.worker.stop()
    return meter.read(len(task.urls))


async def _accept(app: App, urls: list[str]) -> None:
    for start in range(0, len(urls), _CHUNK):
        await app.services.jobs.accept([_job(app, url) for url in urls[start : start + _CHUNK]])


def _job(app: App, text: str) -> NewJob:
    url = parse(text)
    order = ScrapeOrder(url, text, formats=(Format.FIELDS,), fields=_FIELDS)
    identity = new_job_id(app.services.clock, app.chance)
    return NewJob(identity, LOCAL_ACCOUNT, SCRAPE_HTTP, host_lane(url.authority), _encode(order))


def _check(task: Task) -> None:
    connection = sqlite3.connect(task.folder / "emissary.db")
    rows = connection.execute("SELECT body FROM results JOIN jobs ON number = job WHERE state = 'completed'").fetchall()
    connection.close()
    documents = [msgspec.json.decode(zstd.decompress(body) if body[:1] != b"{" else body) for (body,) in rows]
    check_sample(task.urls, {each["document"]["url"]: each["document"]["fields"] for each in documents})


def _run(task: Task) -> Cost:
    cost = uvloop.run(_read_all(task))
    _check(task)
    return cost


if __name__ == "__main__":
    play(_run)
