"""The way to a server behind a socket: HTTP/1.1, connections kept, bodies streamed both ways."""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httptools

from emissary.client.errors import ServerUnreachable
from emissary.client.wire import Head, Request
from emissary.model.errors import SettingsError
from emissary.ports.clock import Clock

__all__ = ["HttpWire"]

_CONNECT_SECONDS = 10.0
_PIECE = 64 * 1024
_MOST_KEPT = 8
_KEPT_SECONDS = 3.0  # servers close what is idle, ours after five: whoever comes at that moment finds nobody


class _Reply:
    """What the parser has told of the answer so far."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.headers: dict[str, str] = {}
        self.pieces: deque[bytes] = deque()
        self.has_head = False
        self.is_whole = False
        self.may_go_on = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.has_head = True

    def on_body(self, body: bytes) -> None:
        self.pieces.append(body)

    def on_message_complete(self) -> None:
        self.is_whole = True
        self.may_go_on = self.parser.should_keep_alive()  # asked later, it speaks of an answer that has not begun


class _Connection:
    """A socket with its two ends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.used_at = 0.0

    @property
    def is_usable(self) -> bool:
        return not (self.reader.at_eof() or self.writer.is_closing())

    def end(self) -> None:
        """At once: a farewell over TLS would wait for the other side, when our loop may be gone already."""
        self.writer.transport.abort()


class _HttpExchange:
    """Keeps the promise of `Exchange`."""

    def __init__(self, connection: _Connection, request: Request, keep: Callable[[_Connection], None]) -> None:
        self._connection = connection
        self._request = request
        self._keep = keep
        self._reply = _Reply()
        # The server may answer before it has all of the body, so it is listened to from the beginning.
        self._head = asyncio.create_task(self._read_head())
        self._is_sent = not request.has_body

    async def write(self, piece: bytes) -> bool:
        writer = self._connection.writer
        try:
            async with _in_time(self._request.timeout):
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
        except OSError:
            return False  # it has hung up, perhaps with an answer: that tells more
        return not self._head.done()

    async def answer(self) -> Head:
        if not self._is_sent and not self._head.done():
            self._connection.writer.write(b"0\r\n\r\n")
            self._is_sent = True
        await asyncio.wait([self._head])
        self._head.result()
        return Head(self._reply.parser.get_status_code(), self._reply.headers)

    async def read(self) -> bytes:
        while not self._reply.pieces and not self._reply.is_whole:
            await self._more()
        return self._reply.pieces.popleft() if self._reply.pieces else b""

    async def close(self) -> None:
        self._head.cancel()
        await asyncio.gather(self._head, return_exceptions=True)
        if self._is_sent and self._reply.may_go_on:
            self._keep(self._connection)
        else:
            self._connection.end()

    async def _read_head(self) -> None:
        while not self._reply.has_head:
            await self._more()

    async def _more(self) -> None:
        async with _in_time(self._request.timeout):
            try:
                piece = await self._connection.reader.read(_PIECE)
            except OSError as error:
                raise ServerUnreachable(f"the connection to the server broke off: {error}") from error
        if not piece:
            raise ServerUnreachable("the server closed the connection before its answer was whole")
        try:
            self._reply.parser.feed_data(piece)
        except httptools.HttpParserError as error:
            raise ServerUnreachable(f"what the server sent is no HTTP: {error}") from error


class HttpWire:
    """Keeps the promise of `Wire`. It speaks to the server that its operator named, and to nobody else."""

    def __init__(self, url: str, clock: Clock) -> None:
        try:
            where = urlsplit(url)
            self._port = where.port or (443 if where.scheme == "https" else 80)
        except ValueError as error:
            raise SettingsError(f"{url!r} is no address of a server: {error}") from error
        if where.scheme not in ("http", "https") or not where.hostname or where.username is not None:
            raise SettingsError(f"{url!r} is no address of a server: write http://127.0.0.1:7733, or https://…")
        self._host, self._named = where.hostname, where.netloc
        self._prefix = where.path.rstrip("/")
        self._trust = ssl.create_default_context() if where.scheme == "https" else None
        self._clock = clock
        self._kept: list[_Connection] = []

    async def begin(self, request: Request) -> _HttpExchange:
        connection = self._take() or await self._connect()
        connection.writer.write(self._written(request))
        return _HttpExchange(connection, request, self._keep)

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    async def close(self) -> None:
        while self._kept:
            self._kept.pop().end()

    def _written(self, request: Request) -> bytes:
        framing = {"Transfer-Encoding": "chunked"} if request.has_body else {}
        if request.method == "POST" and not request.has_body:
            framing = {"Content-Length": "0"}
        lines = [f"{request.method} {self._prefix}{request.path} HTTP/1.1", f"Host: {self._named}"]
        lines += [f"{name}: {value}" for name, value in {**framing, **request.headers}.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    async def _connect(self) -> _Connection:
        async with _in_time(_CONNECT_SECONDS):
            try:
                opened = await asyncio.open_connection(self._host, self._port, ssl=self._trust)
            except ssl.SSLError as error:
                raise ServerUnreachable(f"{self._named} cannot be spoken to in confidence: {error}") from error
            except OSError as error:
                raise ServerUnreachable(f"nobody answers at {self._named}: {error}") from error
        return _Connection(*opened)

    def _take(self) -> _Connection | None:
        while self._kept:
            connection = self._kept.pop()
            if connection.is_usable and self._clock.monotonic() - connection.used_at < _KEPT_SECONDS:
                return connection
            connection.end()
        return None

    def _keep(self, connection: _Connection) -> None:
        connection.used_at = self._clock.monotonic()
        if len(self._kept) < _MOST_KEPT and connection.is_usable:
            self._kept.append(connection)
        else:
            connection.end()


@asynccontextmanager
async def _in_time(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise ServerUnreachable(f"nothing came from the server for {seconds:g} s") from error
