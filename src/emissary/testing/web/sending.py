"""Puts one answer on the wire, at its own pace and with its own faults."""

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from emissary.testing.web.answers import After, Answer, Hang, Headers, Prepared, Reset, Streamed, Whole, write_head

__all__ = ["Manner", "Sending"]

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Manner:
    """How the client wants to be answered."""

    head_only: bool = False
    closing: bool = False
    understands_chunks: bool = True


class Sending:
    """One answer on its way. `done` is called when it is out; a broken answer ends with the connection instead."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, done: Callable[[], None]) -> None:
        self._transport = transport
        self._loop = loop
        self._done = done
        self._stream: Streamed | None = None
        self._chunked = False
        self._sent = 0
        self._next: asyncio.Handle | None = None
        self._paused = False

    def send(self, answer: Answer, manner: Manner) -> None:
        """Start on the answer."""
        match answer:
            case Prepared():
                self._send_prepared(answer, manner)
            case Whole():
                self._send_whole(answer, manner)
            case Streamed():
                self._start_stream(answer, manner)
            case After():
                self._next = self._loop.call_later(answer.seconds, self.send, answer.answer, manner)
            case Hang():
                pass
            case Reset():
                self._reset()
            case _:
                assert_never(answer)

    def pause(self) -> None:
        """The client reads more slowly than we write."""
        self._paused = True

    def resume(self) -> None:
        """The client has caught up."""
        self._paused = False
        if self._stream is not None and self._next is None:
            self._step()

    def stop(self) -> None:
        """The client is gone."""
        self._stream = None
        if self._next is not None:
            self._next.cancel()

    def _send_prepared(self, answer: Prepared, manner: Manner) -> None:
        if manner.head_only or manner.closing:
            self._send_whole(answer.whole, manner)
            return
        self._transport.write(answer.wire)
        self._done()

    def _send_whole(self, answer: Whole, manner: Manner) -> None:
        head = answer.head(closing=manner.closing)
        self._transport.write(head if manner.head_only or answer.status in {204, 304} else head + answer.body)
        self._done()

    def _start_stream(self, answer: Streamed, manner: Manner) -> None:
        self._chunked = answer.length is None and manner.understands_chunks
        framing: Headers = ()
        if answer.length is not None:
            framing = (("Content-Length", str(answer.length)),)
        elif self._chunked:
            framing = (("Transfer-Encoding", "chunked"),)
        self._transport.write(write_head(answer.status, answer.headers + framing, closing=manner.closing))
        if manner.head_only:
            self._done()
            return
        self._stream = answer
        self._step()

    def _step(self) -> None:
        # One piece per turn of the loop: a large answer must not keep the other clients waiting.
        self._next = None
        if self._stream is None or self._paused:
            return
        piece = next(self._stream.pieces, None)
        if piece is None:
            self._end_stream(self._stream)
            return
        if piece:
            self._sent += len(piece)
            self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece)
        pause = self._stream.pause
        self._next = self._loop.call_later(pause, self._step) if pause else self._loop.call_soon(self._step)

    def _end_stream(self, stream: Streamed) -> None:
        self._stream = None
        proper = self._chunked if stream.length is None else self._sent == stream.length
        if stream.cut or not proper:
            self._transport.close()
            return
        if self._chunked:
            self._transport.write(b"0\r\n\r\n")
        self._done()

    def _reset(self) -> None:
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._transport.abort()
