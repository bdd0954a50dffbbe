"""A site that says exactly what a test tells it to, byte by byte, and keeps what it was sent."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

__all__ = ["RawSite"]

Say = Callable[[asyncio.StreamWriter], Awaitable[None]]


class RawSite:
    def __init__(self, say: Say | bytes) -> None:
        self._say = say
        self.heads: list[bytes] = []
        self.connections = 0
        self.port = 0
        self._open: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def start(
        cls, say: Say | bytes, *, address: str = "127.0.0.1", secured: ssl.SSLContext | None = None
    ) -> AsyncIterator["RawSite"]:
        site = cls(say)
        server = await asyncio.start_server(site._serve, address, 0, ssl=secured)
        site.port = server.sockets[0].getsockname()[1]
        try:
            yield site
        finally:
            server.close()
            for task in site._open:
                task.cancel()
            await asyncio.gather(*site._open, return_exceptions=True)

    @property
    def open(self) -> int:
        """How many connections nobody has closed yet."""
        return len(self._open)

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                if isinstance(self._say, bytes):
                    writer.write(self._say)
                else:
                    await self._say(writer)
                await writer.drain()
        except (EOFError, OSError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()
