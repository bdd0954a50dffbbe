"""`python -m emissary.testing.web`: serve the local web until told to stop."""

import argparse
import asyncio
import json
import signal
import sys
from datetime import timedelta

import uvloop
from rich.console import Console
from rich.table import Table

from emissary.testing.web.server import TestWeb


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m emissary.testing.web", description="A small web on this machine.")
    parser.add_argument("--port", type=int, default=0, help="one port for all hosts; 0 looks for a free one")
    parser.add_argument("--hosts", type=int, default=8, help="how many numbered hosts there are beside the named sites")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that every answer takes")
    parser.add_argument("--json", action="store_true", help="print one line of JSON when ready, and nothing else")
    parser.add_argument("--until-stdin-ends", action="store_true", help="also stop when the standard input ends")
    return parser.parse_args()


def _as_json(web: TestWeb) -> str:
    where = web.addresses
    return json.dumps(
        {
            "port": web.port,
            "sites": {name: where.origin(address) for name, address in where.sites.items()},
            "hosts": [where.origin(address) for address in where.hosts],
            "networks": list(web.networks),
        }
    )


def _as_table(web: TestWeb) -> Table:
    table = Table("where", "path", "what", title="The local web", title_justify="left")
    for name, site in web.sites.items():
        table.add_section()
        table.add_row(f"[bold]{name}[/bold]", "", f"[italic]{site.about}[/italic]")
        for place, route in enumerate(site.routes):
            table.add_row(web.url(name, "") if place == 0 else "", route.path, route.about)
    if web.hosts:
        table.add_section()
        table.add_row(f"[bold]{len(web.hosts)} numbered[/bold]", "", f"[italic]{web.numbered.about}[/italic]")
        ends = (web.host_url(1, ""), f"… {web.host_url(len(web.hosts), '')}")
        for place, route in enumerate(web.numbered.routes):
            table.add_row(ends[place] if place < len(ends) else "", route.path, route.about)
    return table


def _stop_with_stdin(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    try:
        loop.add_reader(sys.stdin.fileno(), stopped.set)
    except PermissionError:
        stopped.set()  # a file, or /dev/null: not to be waited for, because it has ended already


async def _serve(arguments: argparse.Namespace) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if arguments.until_stdin_ends:
        _stop_with_stdin(loop, stopped)
    latency = timedelta(seconds=arguments.latency)
    async with TestWeb.start(hosts=arguments.hosts, port=arguments.port, latency=latency) as web:
        if arguments.json:
            sys.stdout.write(_as_json(web) + "\n")
            sys.stdout.flush()
        else:
            Console().print(_as_table(web))
        await stopped.wait()
    loop.remove_reader(sys.stdin.fileno())


if __name__ == "__main__":
    uvloop.run(_serve(_arguments()))
