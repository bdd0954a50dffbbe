"""One connection: it sends a request, has the answer read as it comes, and breaks off what takes too long.

Whatever goes wrong in an exchange ends the connection with it: none is used again whose answer was not read to its end.
"""

import asyncio
import math
import ssl
from typing import NamedTuple, cast

from emissary.adapters.http.answer import Answer
from emissary.adapters.http.errors import BrokenOff, BrokenTls, Lost, Silent
from emissary.adapters.http.limits import Limits
from emissary.ports.clock import Clock
from emissary.ports.web import Ask

__all__ = ["Connection", "Opening", "Shared"]


class Opening(NamedTuple):
    """Milliseconds that it took to open a connection."""

    dns_ms: float
    connect_ms: float
    tls_ms: float | None


class Shared(NamedTuple):
    """What all connections of a client have in common.

    One buffer is enough: what a connection reads into it is used up before the next one reads.
    """

    buffer: bytearray
    limits: Limits
    clock: Clock
    open: set["Connection"]


class Connection(asyncio.BufferedProtocol):
    """Idle, or in the one exchange that somebody waits for."""

    def __init__(self, shared: Shared) -> None:
        self._loop = asyncio.get_running_loop()
        self._buffer, self._limits, self._clock, self._all = shared
        self._room = memoryview(self._buffer)
        self._transport: asyncio.Transport | None = None
        self._closed: asyncio.Future[None] | None = None
        self._answer: Answer | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._ends = self._until = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = math.inf
        self._exchanges = 0
        self.is_open = False
        self.address = ""
        self.tls: str | None = None
        self.opening: Opening | None = None
        self.kept_since = 0.0
        self.first_byte_at = 0.0
        self.ended_at = 0.0

    def send(self, request: bytes, ask: Ask, ends: float) -> asyncio.Future[Answer]:
        """Send the request; the answer is there, or BrokenOff, before the loop's clock says `ends`."""
        assert self._waiter is None
        if self._transport is None or not self.is_open:
            raise self._lost()  # it was opened, and closed again before we came to use it
        self._answer = Answer(ask, self._limits)
        self._waiter = waiter = self._loop.create_future()
        self._ends = ends
        self.first_byte_at = 0.0
        self._watch(ends)
        self._transport.write(request)
        return waiter

    def drop(self) -> None:
        """Close the connection, whatever it is doing."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()
        if self._waiter is not None:
            self._end(self._lost())

    async def close(self) -> None:
        """Close the connection; comes back when it is gone."""
        self._closed = self._loop.create_future()
        self.drop()
        if self._transport is not None:
            await self._closed

    # What the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._all.add(self)
        self.is_open = True

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's form
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        answer = self._answer
        if answer is None:
            self.drop()  # nobody has asked: this is no answer
            return
        if not self.first_byte_at:
            self.first_byte_at = self._clock.monotonic()
        now = self._loop.time()
        try:
            is_whole = answer.feed(self._buffer, nbytes, now)
        except BrokenOff as error:
            self._end(error)
            return
        if is_whole:
            self._end(None)
        elif answer.body is not None:
            self._watch(min(self._ends, now + self._limits.silence_seconds))

    def eof_received(self) -> None:
        self.is_open = False
        if self._answer is None:
            return
        try:
            self._end(None if self._answer.end() else self._lost())
        except BrokenOff as error:
            self._end(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        if self._waiter is not None:
            self._end(BrokenTls() if isinstance(exc, ssl.SSLError) else self._lost())
        self._all.discard(self)
        if self._closed is not None:
            self._closed.set_result(None)

    # The end of an exchange, and the watch over it

    def _lost(self) -> Lost:
        has_begun = self._answer is not None and self._answer.has_begun
        return Lost(stale=self._exchanges > 0 and not has_begun)

    def _end(self, error: BrokenOff | None) -> None:
        answer, waiter = self._answer, self._waiter
        assert answer is not None
        assert waiter is not None
        self._answer = self._waiter = None
        answer.release()
        self.ended_at = self._clock.monotonic()
        self._exchanges += 1
        # An answer may come before the request is out in full: then the rest of it would be taken for the next one.
        if error is not None or not answer.may_keep or self._is_sending():
            self.drop()
        if waiter.done():
            return  # whoever asked has gone
        if error is not None:
            waiter.set_exception(error)
        else:
            waiter.set_result(answer)

    def _is_sending(self) -> bool:
        return self._transport is not None and self._transport.get_write_buffer_size() > 0

    def _watch(self, until: float) -> None:
        """One timer serves all exchanges. It is set anew only if it would ring too late; if early, it looks again."""
        self._until = until
        if until < self._rings_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._rings_at = self._loop.call_at(until, self._ring), until

    def _ring(self) -> None:
        self._timer, self._rings_at = None, math.inf
        if self._waiter is None:
            return
        if self._loop.time() >= self._until:
            self._end(Silent())
        else:
            self._watch(self._until)
