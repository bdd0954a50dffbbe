"""Proxies on this machine, HTTP and SOCKS5, for tests: they count what they are asked for, and fail when told to."""

import asyncio
import struct
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address

from emissary.ports.web import Proxy

__all__ = ["TestProxy"]


@dataclass
class TestProxy:
    """A running proxy. `asked` is every target it was given, as it was given: `address:port`.

    `route` sends all tunnels to one place, so that a test can hand over public addresses and reach none. `answer` is
    said instead of doing the work: a status over HTTP, a reply code over SOCKS5; `hangs` says nothing at all.
    """

    __test__ = False  # not a test case, whatever its name

    proxy: Proxy
    route: tuple[str, int] | None = None
    answer: int | None = None
    hangs: bool = False
    asked: list[str] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)  # over HTTP, what CONNECT came with

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        name: str,
        scheme: str = "http",
        *,
        user: str | None = None,
        password: str | None = None,
        provider: str = "",
        region: str = "",
    ) -> AsyncIterator["TestProxy"]:
        """Listen on a free loopback port; everything is closed again at the end."""
        tunnels: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tunnels.add(task)
            try:
                await running._serve(reader, writer)
            except (OSError, EOFError, asyncio.CancelledError):
                pass
            finally:
                tunnels.discard(task)
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        assert scheme in ("http", "socks5")
        running = cls(
            Proxy(
                name,
                "http" if scheme == "http" else "socks5",
                "127.0.0.1",
                port,
                user=user,
                password=password,
                provider=provider,
                region=region,
            )
        )
        try:
            yield running
        finally:
            server.close()
            for task in tunnels:
                task.cancel()
            await asyncio.gather(*tunnels, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        speak = self._speak_http if self.proxy.scheme == "http" else self._speak_socks5
        target = await speak(reader, writer)
        if target is not None:
            await _tunnel(reader, writer, *target)

    async def _speak_http(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, place, _ = head.split(b" ", 2)
        self.heads.append(head)
        self.asked.append(place.decode())
        if self.hangs:
            await reader.read()
            return None
        if (status := self._http_status(method, head)) != 200:
            writer.write(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status)
            return None
        host, _, port = place.decode().rpartition(":")
        try:
            target = await self._dial(host.strip("[]"), int(port))
        except OSError:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            return None
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return target

    def _http_status(self, method: bytes, head: bytes) -> int:
        if self.proxy.user is not None:
            secret = b64encode(f"{self.proxy.user}:{self.proxy.password}".encode())
            if b"Proxy-Authorization: Basic " + secret + b"\r\n" not in head:
                return 407
        return self.answer or (200 if method == b"CONNECT" else 405)

    async def _speak_socks5(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        if not await self._admits(methods, reader, writer):
            return None
        _, _, _, kind = await reader.readexactly(4)
        host = str(ip_address(await reader.readexactly({1: 4, 4: 16}[kind])))
        (port,) = struct.unpack(">H", await reader.readexactly(2))
        self.asked.append(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        if self.hangs:
            await reader.read()
            return None
        reply, target = self.answer or 0, None
        if not reply:
            try:
                target = await self._dial(host, port)
            except OSError:
                reply = 5
        writer.write(bytes([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
        return target

    async def _admits(self, methods: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if self.proxy.user is None:
            writer.write(b"\x05\x00")
            return True
        if 2 not in methods:
            writer.write(b"\x05\xff")
            return False
        writer.write(b"\x05\x02")
        _, length = await reader.readexactly(2)
        user = await reader.readexactly(length)
        password = await reader.readexactly((await reader.readexactly(1))[0])
        known = (user.decode(), password.decode()) == (self.proxy.user, self.proxy.password)
        writer.write(b"\x01\x00" if known else b"\x01\x01")
        return known

    async def _dial(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not ip_address(host).is_loopback and self.route is None:
            raise OSError("a test proxy leads to this machine only")
        return await asyncio.open_connection(*(self.route or (host, port)))


async def _tunnel(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    target_reader: asyncio.StreamReader,
    target_writer: asyncio.StreamWriter,
) -> None:
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(_copy(reader, target_writer))
            both.create_task(_copy(target_reader, writer))
    except* (OSError, EOFError):
        pass
    finally:
        target_writer.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(64 * 1024):
        sink.write(piece)
        await sink.drain()
    sink.close()
