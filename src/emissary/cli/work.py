"""`emissary work`: workers beside the API, as many processes as are asked for."""

import asyncio
import json as json_module
import os
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from emissary.cli.crew import Crew
from emissary.cli.output import err
from emissary.cli.starting import settle_in, stop_on_signals
from emissary.compose import at_work, open_app, steady_process
from emissary.model.errors import BadRequest
from emissary.settings import Settings
from emissary.telemetry.logs import configure_logs

__all__ = ["work"]

_AUTO = "auto"


def work(
    *,
    processes: Annotated[str, typer.Option(help="How many processes; `auto` takes one for each core.")] = "1",
    lanes: Annotated[int | None, typer.Option(help="Hosts that one process reads at the same time.")] = None,
    kinds: Annotated[
        str | None, typer.Option(help="Kinds of work to do, separated by commas, such as `deliver`; all by default.")
    ] = None,
    memory: Annotated[
        int | None, typer.Option(help="MiB of memory above which a process takes nothing more on.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file with settings.", exists=True)] = None,
    json: Annotated[bool, typer.Option("--json", help="One line of JSON when ready, for scripts.")] = False,
) -> None:
    """Work on what was accepted, on any number of machines, until told to stop.

    SIGTERM ends it in order: nothing more is taken on, what has begun is finished within two minutes, the rest is
    given back for others.
    """
    settings = settle_in(config, data_dir=data_dir, worker_lanes=lanes, worker_kinds=kinds, worker_memory=memory)
    configure_logs(settings.log, settings.log_level)
    count = _count(processes)
    if count == 1:
        uvloop.run(_work(settings, as_json=json))
    else:
        given = {"--lanes": lanes, "--kinds": kinds, "--memory": memory, "--data-dir": data_dir, "--config": config}
        options = [word for name, value in given.items() if value is not None for word in (name, str(value))]
        uvloop.run(_lead(count, options, as_json=json))


def _count(text: str) -> int:
    if text == _AUTO:
        return len(os.sched_getaffinity(0))
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise BadRequest(f"--processes: {text!r} is neither `auto` nor a number from 1 to 256")
    return int(text)


async def _work(settings: Settings, *, as_json: bool) -> None:
    stop = asyncio.Event()
    async with open_app(settings) as app:
        stop_on_signals(stop)
        async with at_work(app):
            steady_process()
            _announce({"worker": app.worker.id, "pid": os.getpid()}, as_json=as_json)
            await stop.wait()


async def _lead(count: int, options: list[str], *, as_json: bool) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    _announce({"processes": count, "pid": os.getpid()}, as_json=as_json)
    await Crew(["work", "--processes", "1", *options], count).run(stop)


def _announce(ready: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        print(json_module.dumps(ready), flush=True)
    else:
        err.print("working; stop with Ctrl-C", markup=False)
