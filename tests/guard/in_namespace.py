"""Runs inside a network namespace that has nothing but `lo`: real sockets, the machine's own resolver, no hook.

Listens on every loopback address the spellings could mean, asks for each of them, and prints who came by.
"""

import asyncio
import json
import socket
import sys

from hostile import HOSTILE

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb
from emissary.model.errors import BadRequest
from emissary.model.pages import Unreachable
from emissary.ports.web import Ask
from emissary.reading.guard import Guard
from emissary.reading.urls import parse


async def _listen(address: str, port: int, came: list[str]) -> asyncio.Server | None:
    async def note(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(f"{address} {port}")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        await writer.drain()
        writer.close()

    try:
        return await asyncio.start_server(note, address, port)
    except OSError:
        return None


async def main(allowed: list[str]) -> None:
    interfaces = [name for _, name in socket.if_nameindex()]
    came: list[str] = []
    places = [(address, port) for address in ("0.0.0.0", "::1") for port in (80, 443, 8443, 22, 6379)]
    servers = [server for place in places if (server := await _listen(*place, came))]
    codes: list[str] = []
    present = {"User-Agent": "Emissary/0"}
    async with HttpWeb(permits=Guard(allowed).permits, present=present, clock=SystemClock()) as client:
        for text in HOSTILE:
            try:
                url = parse(text)
            except BadRequest:
                codes.append("invalid")
                continue
            found = await client.ask(Ask(url, 2.0, 1000))
            codes.append(str(found.code) if isinstance(found, Unreachable) else "reply")
    for server in servers:
        server.close()
    sys.stdout.write(
        json.dumps({"interfaces": interfaces, "listening": len(servers), "came": came, "codes": codes}) + "\n"
    )


asyncio.run(main(sys.argv[1:]))
