"""What every verb that needs the data directory does first, and how it is told to stop."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import uvloop

from emissary.compose import App, open_app, settle_in
from emissary.telemetry.logs import configure_logs

__all__ = ["in_app", "settle_in", "stop_on_signals"]

T = TypeVar("T")


def in_app(work: Callable[[App], Awaitable[T]]) -> T:
    """Do something with the parts, in this process; nothing is served, and no worker works."""
    settings = settle_in()
    configure_logs(settings.log, "error")

    async def run() -> T:
        async with open_app(settings) as app:
            return await work(app)

    return uvloop.run(run())


def stop_on_signals(stop: asyncio.Event) -> None:
    """SIGTERM and SIGINT ask for a graceful stop."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
