"""`emissary mcp`: our verbs as tools for a model, over standard input and output."""

import asyncio
import sys

import uvloop

from emissary.cli.reaching import Server
from emissary.client import AsyncEmissary
from emissary.mcp import serve
from emissary.settings import load_settings
from emissary.telemetry.logs import configure_logs

__all__ = ["mcp"]


def mcp(*, server: Server = None) -> None:
    """Serve the Model Context Protocol over standard input and output, for whoever starts it."""
    settings = load_settings()
    configure_logs(settings.log, "error")
    uvloop.run(_mcp(server or (None if settings.url is None else str(settings.url))))


async def _mcp(url: str | None) -> None:
    async with AsyncEmissary.open() if url is None else AsyncEmissary(url) as client:
        await serve(client, _next_line, _write)


async def _next_line() -> bytes:
    return await asyncio.to_thread(sys.stdin.buffer.readline)


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
