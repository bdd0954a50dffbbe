"""One client's connection: reads requests in order, and answers them one after the other."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import cast

import httptools

from emissary.testing.web.answers import After, Request, text
from emissary.testing.web.log import Exchange, HostLog, Seen
from emissary.testing.web.sending import Manner, Sending
from emissary.testing.web.site import Site

__all__ = ["Connection", "Place"]

_MOST_PIPELINED = 64
_LARGEST_BODY = 16 * 1024 * 1024
_USUAL = Manner()


@dataclass(frozen=True, slots=True)
class Place:
    """What every connection to one host shares."""

    address: str
    origin: str
    site: Site
    seen: Seen
    log: HostLog
    latency: float
    open: set["Connection"] = field(default_factory=set)


class Connection(asyncio.Protocol):
    """A connection, kept alive until either side wants to close it."""

    def __init__(self, place: Place, loop: asyncio.AbstractEventLoop) -> None:
        self._place = place
        self._loop = loop
        self._parser = httptools.HttpRequestParser(self)
        self.gone = loop.create_future()
        self._transport: asyncio.Transport
        self._sending: Sending
        self._waiting: deque[tuple[Request, Manner]] = deque()
        self._answering: Manner | None = None
        self._target = b""
        self._fields: list[tuple[bytes, bytes]] = []
        self._body = b""

    # What the transport tells us.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are not registered as such
        self._sending = Sending(self._transport, self._loop, self._answered)
        self._place.open.add(self)
        self._place.log.connections += 1

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._refuse(400, "That is not a request that this server understands.\n")

    def pause_writing(self) -> None:
        self._sending.pause()

    def resume_writing(self) -> None:
        self._sending.resume()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # a client may leave as it likes
        self._sending.stop()
        self._waiting.clear()
        self._place.open.discard(self)
        if self._answering is not None:
            self._answering = None
            self._place.log.end()
        self.gone.set_result(None)

    def abort(self) -> None:
        """Drop the client: the server is closing."""
        self._transport.abort()

    # What the parser tells us.

    def on_message_begin(self) -> None:
        self._target = b""
        self._fields = []
        self._body = b""

    def on_url(self, url: bytes) -> None:
        self._target += url  # comes in several pieces when the client's packets do

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name, value))

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > _LARGEST_BODY:
            self._refuse(413, "That is more than this server wants to remember.\n")

    def on_message_complete(self) -> None:
        place, parser = self._place, self._parser
        method = parser.get_method().decode("latin-1")
        exchange = Exchange(
            self._loop.time(),
            place.address,
            method,
            self._target.decode("latin-1"),
            tuple(self._fields),
            self._body,
        )
        place.seen.add(exchange)
        place.log.arrived(exchange.at)
        manner = _USUAL
        if (old := parser.get_http_version() == "1.0") or method == "HEAD" or not parser.should_keep_alive():
            closing = old or not parser.should_keep_alive()
            manner = Manner(head_only=method == "HEAD", closing=closing, understands_chunks=not old)
        self._waiting.append((Request(exchange, place.origin), manner))
        if self._answering is None:
            self._answer_next()
        elif len(self._waiting) >= _MOST_PIPELINED:
            self._transport.pause_reading()

    # What we say.

    def _answer_next(self) -> None:
        request, manner = self._waiting.popleft()
        self._answering = manner
        self._place.log.begin()
        answer = self._place.site.answer(request)
        self._sending.send(After(self._place.latency, answer) if self._place.latency else answer, manner)

    def _answered(self) -> None:
        manner, self._answering = self._answering, None
        self._place.log.end()
        if manner is not None and manner.closing:
            self._transport.close()
        elif self._waiting and not self._transport.is_closing():
            # On a later turn, so that a thousand pipelined requests are not a thousand frames deep.
            self._loop.call_soon(self._continue)

    def _continue(self) -> None:
        if self._waiting and self._answering is None and not self._transport.is_closing():
            self._transport.resume_reading()
            self._answer_next()

    def _refuse(self, status: int, why: str) -> None:
        # Only when nothing else is on its way: an answer in the middle of another would be noise.
        if self._answering is None and not self._transport.is_closing():
            self._transport.write(text(why, status=status).head(closing=True) + why.encode())
        self._transport.close()
