"""A line to a server on which everything takes its time, in both directions."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from emissary.adapters.clock import SystemClock

__all__ = ["SlowLine"]

_PIECE = 65_536
_WAITS = (0.05, 0.2)
_STALL_SECONDS, _STALLS = 2.0, 0.01  # how long one is, and how many of all pieces meet one


@dataclass
class SlowLine:
    """A running line. While it `is_slow` every piece waits, and now and then one for long; these are counted."""

    server: str
    port: int = 0
    is_slow: bool = False
    pieces: int = 0
    stalls: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(7733))

    @classmethod
    @asynccontextmanager
    async def to(cls, server: str) -> AsyncIterator["SlowLine"]:
        """Listen on a free loopback port; everything is hung up again at the end."""
        line, calls = cls(server), set[asyncio.Task[None]]()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            calls.add(task)
            try:
                await line._serve(reader, writer)
            except (OSError, asyncio.CancelledError):
                pass
            finally:
                calls.discard(task)
                writer.close()

        listener = await asyncio.start_server(serve, "127.0.0.1", 0)
        line.port = listener.sockets[0].getsockname()[1]
        try:
            yield line
        finally:
            listener.close()
            for call in list(calls):
                call.cancel()
            await asyncio.gather(*calls)

    @property
    def url(self) -> str:
        """The server's, by way of the line."""
        where = urlsplit(self.server)
        return where._replace(netloc=f"{where.netloc.rpartition(':')[0]}:{self.port}").geturl()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        where = urlsplit(self.server)
        answers, asks = await asyncio.open_connection(where.hostname, where.port)
        try:
            await asyncio.gather(self._carry(reader, asks), self._carry(answers, writer))
        finally:
            asks.close()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(_PIECE):
                if self.is_slow:
                    await SystemClock().sleep(self._wait())
                target.write(piece)
                await target.drain()
        target.close()

    def _wait(self) -> float:
        self.pieces += 1
        if self.chance.random() >= _STALLS:
            return self.chance.uniform(*_WAITS)
        self.stalls += 1
        return _STALL_SECONDS
