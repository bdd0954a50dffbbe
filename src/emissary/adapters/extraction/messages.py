"""What goes through the pipes between us and a child: a task one way, an answer the other, each with its length."""

from datetime import UTC, datetime
from typing import IO, Self

import msgspec

from emissary.model.extraction import Extracted, Wanted
from emissary.model.pages import Page, Reply, RobotsNote, Timings, WebUrl

__all__ = ["OUT_OF_MEMORY", "READY", "Answer", "OversizedFrame", "Task", "read_frame", "write_frame"]

READY = b"ready"
OUT_OF_MEMORY = 77  # the exit code of a child that could not go on
_LENGTH_BYTES = 8
_NO_TIME = Timings(0, 0)
_NO_ROBOTS = RobotsNote(None, None, datetime.fromtimestamp(0, UTC))


class OversizedFrame(Exception):
    """The other side says more than we are willing to hear."""


class Task(msgspec.Struct, frozen=True, array_like=True):
    """A page as far as extraction reads it. No header goes along, so no cookie and no other secret does."""

    url: WebUrl
    status: int
    content_type: str
    charset: str
    body: bytes
    wanted: Wanted

    @classmethod
    def of(cls, page: Page, wanted: Wanted) -> Self:
        return cls(page.url, page.reply.status, page.content_type, page.charset, page.body, wanted)

    @property
    def page(self) -> Page:
        reply = Reply(self.status, {}, self.body, "", "", _NO_TIME, 0)
        return Page(self.url, reply, _NO_ROBOTS, self.content_type, self.charset)

    @classmethod
    def decode(cls, frame: bytes) -> "Task":
        return _decode_task(frame)

    def encode(self) -> bytes:
        return _encode_task(self)


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was taken from the page, or the error that reading it raised, with its trace."""

    extracted: Extracted | None = None
    error: str = ""
    trace: str = ""

    @classmethod
    def decode(cls, frame: bytes) -> "Answer":
        return _decode_answer(frame)

    def encode(self) -> bytes:
        return _encode_answer(self)


_encode_task = msgspec.msgpack.Encoder().encode
_decode_task = msgspec.msgpack.Decoder(Task).decode
# JSON, as the result will be kept: what a page says of itself may hold integers that MessagePack has no room for.
_encode_answer = msgspec.json.Encoder().encode
_decode_answer = msgspec.json.Decoder(Answer).decode


def write_frame(pipe: IO[bytes], frame: bytes) -> None:
    """Send a frame; raises BrokenPipeError if nobody listens any more."""
    pipe.write(len(frame).to_bytes(_LENGTH_BYTES, "big"))
    pipe.write(frame)
    pipe.flush()


def read_frame(pipe: IO[bytes], most: int) -> bytes | None:
    """The next frame, or None if the other side is gone, in the middle of it or before; raises OversizedFrame."""
    head = pipe.read(_LENGTH_BYTES)
    length = int.from_bytes(head, "big")
    if length > most:
        raise OversizedFrame(f"{length} bytes")
    frame = pipe.read(length) if len(head) == _LENGTH_BYTES else b""
    return frame if len(head) == _LENGTH_BYTES and len(frame) == length else None
