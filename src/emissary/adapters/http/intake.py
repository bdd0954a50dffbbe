"""Takes in a body: no more than is allowed, no slower than is decent, unpacked while it comes."""

from aiohttp import ClientResponse

from emissary.adapters.http.decoding import Decoding, Overflow
from emissary.adapters.http.limits import Limits
from emissary.ports.clock import Clock
from emissary.ports.web import Ask

__all__ = ["TooLarge", "TooSlow", "take"]


class TooLarge(Exception):
    """More came than was wanted."""


class TooSlow(Exception):
    """It comes, but so slowly that it only keeps a connection busy."""


class _Plain:
    """A body that is what it is."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.pieces: list[bytes] = []

    def add(self, piece: bytes) -> None:
        self.pieces.append(piece)
        self.size += len(piece)
        if self.size > self.limit:
            raise TooLarge(f"the page is larger than {self.limit:,} bytes")

    def finish(self) -> None:
        pass

    def whole(self) -> tuple[bytes, bytes]:
        body = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        body = body if self.size <= self.limit else body[: self.limit]
        return body, body


class _Packed(_Plain):
    """A body that is unpacked piece by piece."""

    def __init__(self, encodings: str, most: int, limits: Limits) -> None:
        super().__init__(limits.wire_bytes)
        self._most = most
        self._ratio = limits.ratio
        self._decoding = Decoding(encodings, most, limits)
        self._unpacked: list[bytes] = []

    def add(self, piece: bytes) -> None:
        super().add(piece)
        try:
            self._unpacked.append(self._decoding.feed(piece))
        except Overflow as overflow:
            self._unpacked.append(overflow.start)
            if overflow.by_ratio:
                raise TooLarge(f"the page unpacks into more than {self._ratio} times what was sent") from None
            raise TooLarge(f"the page is larger than {self._most:,} bytes") from None

    def finish(self) -> None:
        self._decoding.finish()

    def whole(self) -> tuple[bytes, bytes]:
        wire, _ = super().whole()
        return wire, self._unpacked[0] if len(self._unpacked) == 1 else b"".join(self._unpacked)


async def take(
    answer: ClientResponse, ask: Ask, encodings: str, *, limits: Limits, clock: Clock
) -> tuple[bytes, bytes]:
    """The body as it came over the wire and as it is: one and the same object where it was not packed.

    Whatever ends this early ends the connection as well: aiohttp keeps none with an answer half read.
    """
    most = min(ask.max_bytes, limits.decoded_bytes)
    body = _Packed(encodings, most, limits) if encodings else _Plain(min(most, limits.wire_bytes))
    try:
        if answer.content_length is not None and answer.content_length > body.limit and not ask.truncate:
            raise TooLarge(f"the page is larger than {body.limit:,} bytes")
        await _read(answer, body, limits, clock)
    except TooLarge:
        if not ask.truncate:
            raise
    return body.whole()


async def _read(answer: ClientResponse, body: _Plain, limits: Limits, clock: Clock) -> None:
    content = answer.content
    if not content.is_eof():
        _break_silence(answer, limits.silence_seconds)
        since, before = clock.monotonic(), 0
        while not content.is_eof() and (piece := await content.readany()):
            body.add(piece)
            now = clock.monotonic()
            if now - since >= limits.rate_seconds:
                if body.size - before < limits.least_rate * (now - since):
                    raise TooSlow(f"the page came at less than {limits.least_rate:g} bytes a second")
                since, before = now, body.size
    while not content.at_eof():
        body.add(await content.readany())
    body.finish()


def _break_silence(answer: ClientResponse, seconds: float) -> None:
    """End the exchange when nothing at all comes for so long. A page that is here already needs no watch."""
    connection = answer.connection
    if connection is not None and connection.protocol is not None:
        connection.protocol.read_timeout = seconds
        connection.protocol.start_timeout()
