"""`emissary up`: API, worker and store in one process."""

import asyncio
import json as json_module
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.panel import Panel

from emissary.cli.output import err
from emissary.cli.serving import serve
from emissary.cli.starting import settle_in, stop_on_signals
from emissary.compose import first_key, open_app
from emissary.settings import Settings
from emissary.telemetry.logs import configure_logs

__all__ = ["up"]


def up(
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on; loopback unless you say otherwise.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file with settings.", exists=True)] = None,
    json: Annotated[bool, typer.Option("--json", help="One line of JSON when ready, for scripts.")] = False,
) -> None:
    """Start Emissary: the API and a worker, on SQLite and files."""
    settings = settle_in(config, host=host, port=port, data_dir=data_dir)
    configure_logs(settings.log, settings.log_level)
    uvloop.run(_up(settings, as_json=json))


async def _up(settings: Settings, *, as_json: bool) -> None:
    stop = asyncio.Event()
    async with open_app(settings) as app:
        key = await first_key(app)
        stop_on_signals(stop)
        await serve(app, lambda url: _announce(url, key, settings, as_json=as_json), stop)


def _announce(url: str, key: str | None, settings: Settings, *, as_json: bool) -> None:
    if as_json:
        ready = {"url": url, "dataDir": str(settings.data_dir)} | ({"apiKey": key} if key else {})
        print(json_module.dumps(ready), flush=True)
        return
    shown = key or "$EMISSARY_API_KEY"
    lines = [f"listening   {url}   (reference: {url}/docs)", f"kept in     {settings.data_dir}"]
    err.print(Panel("\n".join(lines), title="Emissary is up", expand=False), markup=False)
    if key:
        err.print(f"Your API key, shown this once:\n  {key}\n", markup=False, soft_wrap=True)
    if settings.agent_url is None:
        err.print("Set EMISSARY_AGENT_URL before you read other people's sites, so that they can reach you.")
    call = f"""curl -s {url}/v1/scrape -H "Authorization: Bearer {shown}" \\
     -H 'Content-Type: application/json' -d '{{"url": "https://example.org/"}}'"""
    err.print(f"Try it:\n  {call}\n\nStop with Ctrl-C.", markup=False, soft_wrap=True)
