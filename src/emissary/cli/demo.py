"""`emissary demo`: everything on a temporary directory, against a local web, without the internet."""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import typer
import uvloop
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from emissary.cli.output import Exit
from emissary.cli.serving import serve
from emissary.compose import first_key, open_app
from emissary.model.pages import Reply
from emissary.ports.web import Ask, Web
from emissary.reading.urls import parse
from emissary.settings import load_settings
from emissary.telemetry.logs import configure_logs
from emissary.testing.web import TestWeb

__all__ = ["demo"]

_FIELDS = {
    "name": {"css": "h1", "required": True},
    "price": {"css": "[itemprop=price]", "attr": "content", "type": "number"},
    "inStock": {"css": "[itemprop=availability]", "attr": "href", "type": "boolean"},
    "brand": {"css": "[itemprop=brand]"},
}

_NEXT_STEPS = """[bold]What to try next[/]
  ./emissary up                             start it for good, and get your key
  ./emissary scrape https://example.org/    one page, from the command line
  ./emissary doctor                         what is there, and what is missing
  .venv/bin/python -m emissary.testing.web  the local web, to try things on"""

_LARGEST = 16 * 1024 * 1024

out = Console(highlight=False)


@dataclass(frozen=True, slots=True)
class _Stage:
    """Where the demo plays: a running API with a key, and a web to read."""

    client: Web
    url: str
    key: str
    web: TestWeb

    async def scrape(self, **request: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        order = msgspec.json.encode(request)
        answer = await self.client.ask(Ask(parse(f"{self.url}/v1/scrape"), 60.0, _LARGEST, headers, order))
        if not isinstance(answer, Reply) or answer.status != 200:
            raise RuntimeError(f"the API did not answer as it should: {answer}")
        found: dict[str, Any] = msgspec.json.decode(answer.body)
        return found


def demo() -> None:
    """See it work in a few seconds: a product as data, a page that is refused, one that has moved."""
    configure_logs("pretty", "error")
    with tempfile.TemporaryDirectory(prefix="emissary-demo-") as folder:
        worked = uvloop.run(_demo(Path(folder)))
    if not worked:
        raise typer.Exit(Exit.INTERNAL)


async def _demo(folder: Path) -> bool:
    async with TestWeb.start() as web:
        settings = load_settings(host="127.0.0.1", port=0, data_dir=folder, allow_networks=web.networks, host_gap=0.5)
        settings = settings.model_copy(update={"api_key": None})  # the demo has a key of its own
        async with open_app(settings) as app, asyncio.TaskGroup() as group:
            key, ready, stop = await first_key(app), asyncio.Queue[str](), asyncio.Event()
            group.create_task(serve(app, ready.put_nowait, stop))
            assert key is not None  # a new directory has none yet
            url = await ready.get()
            out.print(f"Emissary is up at {url}, beside a small web of {len(web.sites)} sites.\n")
            try:
                stage = _Stage(app.web, url, key, web)
                worked = [await act(stage) for act in (_product, _refused, _moved)]
            finally:
                stop.set()
    out.print(_NEXT_STEPS)
    return all(worked)


async def _product(stage: _Stage) -> bool:
    page = stage.web.url("shop", "/product/1")
    out.rule(f"1  a product as data: {page}", align="left")
    answer = await stage.scrape(url=page, formats=["markdown", "fields"], fields=_FIELDS)
    document, receipt = answer["document"], answer["receipt"]
    table = Table(box=None, show_header=False)
    for name, value in document["fields"].items():
        table.add_row(f"[bold]{name}", repr(value))
    out.print(table)
    lines = [line for line in document["markdown"].splitlines() if line.strip() and not line.startswith(("!", "*"))]
    out.print(Panel(Syntax("\n".join(lines[:7]) + "\n…", "markdown", background_color="default"), title="markdown"))
    out.print(f"receipt  read as {receipt['agent']}", markup=False)
    rule, took = receipt["robots"]["rule"], receipt["timings"]["totalMs"]
    out.print(f"         under robots.txt's '{rule}': {receipt['bytes']:,} bytes in {took} ms\n")
    return answer["status"] == "completed" and document["fields"]["name"] is not None


async def _refused(stage: _Stage) -> bool:
    page = stage.web.url("closed", "/prices")
    out.rule(f"2  a page that is refused: {page}", align="left")
    answer = await stage.scrape(url=page)
    outcome = answer["outcome"]
    out.print(f"status  [bold]{answer['status']}[/], code [bold]{outcome['code']}[/]")
    out.print(f"why     {outcome['detail']}", markup=False)
    asked = ", ".join(stage.web.seen.paths("closed"))
    out.print(f"The site was asked for {asked}, and for nothing else. No is an answer.\n")
    return answer["status"] == "refused" and asked == "/robots.txt"


async def _moved(stage: _Stage) -> bool:
    page = stage.web.url("moved", "/to/news/")
    out.rule(f"3  a page that has moved to another host: {page}", align="left")
    answer = await stage.scrape(url=page, formats=["text"])
    for hop in answer["receipt"]["redirects"]:
        out.print(f"{hop['status']}  {hop['url']} → {hop['location']}", markup=False)
    out.print("The new host has its own lane, its own robots.txt and its own pace.\n")
    return answer["status"] == "completed" and len(answer["receipt"]["redirects"]) == 1
