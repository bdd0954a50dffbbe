"""Takes in a body: no more than is allowed, no slower than is decent, unpacked while it comes.

It is taken in on the spot, piece by piece as the connection reads it: nothing waits in between, so that there is no
queue that could grow, and whoever sends faster than we unpack is held back by his own socket.
"""

from collections.abc import Mapping

from emissary.adapters.http.decoding import Decoding, Overflow
from emissary.adapters.http.errors import TooLarge, TooSlow
from emissary.adapters.http.limits import Limits
from emissary.ports.web import Ask

__all__ = ["Body", "body_of"]

_MANY = 1024


class _Pieces:
    """Bytes that come one after the other; as little memory for many small pieces as for few large ones."""

    __slots__ = ("_recent", "_whole")

    def __init__(self) -> None:
        self._whole: list[bytes] = []
        self._recent: list[bytes] = []

    def add(self, piece: bytes) -> None:
        self._recent.append(piece)
        if len(self._recent) >= _MANY:
            self._whole.append(b"".join(self._recent))
            self._recent.clear()

    def together(self) -> bytes:
        pieces = [*self._whole, *self._recent] if self._whole else self._recent
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class Body:
    """A body that is what it is."""

    def __init__(self, limit: int, limits: Limits, now: float) -> None:
        self.limit = limit
        self.size = 0
        self._pieces = _Pieces()
        self._limits = limits
        self._since = now
        self._before = 0

    def add(self, piece: bytes) -> None:
        """Take the next piece; raises TooLarge or BadEncoding."""
        self._pieces.add(piece)
        self.size += len(piece)
        if self.size > self.limit:
            raise TooLarge(f"the page is larger than {self.limit:,} bytes")

    def check_rate(self, now: float) -> None:
        """Raises TooSlow where too little has come for too long."""
        spent, least = now - self._since, self._limits.least_rate
        if spent < self._limits.rate_seconds:
            return
        if self.size - self._before < least * spent:
            raise TooSlow(f"the page came at less than {least:g} bytes a second")
        self._since, self._before = now, self.size

    def finish(self) -> None:
        """There is no more; raises BadEncoding if there should be."""

    def whole(self) -> tuple[bytes, bytes]:
        """The body as it came over the wire and as it is: one and the same object where it was not packed."""
        body = self._pieces.together()
        body = body if self.size <= self.limit else body[: self.limit]
        return body, body


class _Packed(Body):
    """A body that is unpacked piece by piece."""

    def __init__(self, encodings: str, most: int, *, limits: Limits, now: float) -> None:
        super().__init__(limits.wire_bytes, limits, now)
        self._most = most
        self._decoding = Decoding(encodings, most, limits)
        self._unpacked = _Pieces()

    def add(self, piece: bytes) -> None:
        super().add(piece)
        try:
            self._unpacked.add(self._decoding.feed(piece))
        except Overflow as overflow:
            self._unpacked.add(overflow.start)
            if overflow.by_ratio:
                ratio = self._limits.ratio
                raise TooLarge(f"the page unpacks into more than {ratio} times what was sent") from None
            raise TooLarge(f"the page is larger than {self._most:,} bytes") from None

    def finish(self) -> None:
        self._decoding.finish()

    def whole(self) -> tuple[bytes, bytes]:
        wire, _ = super().whole()
        return wire, self._unpacked.together()


def body_of(ask: Ask, headers: Mapping[str, str], *, limits: Limits, now: float) -> Body:
    """What the body goes into that this head announces; raises TooLarge or BadEncoding where that is in vain."""
    most = min(ask.max_bytes, limits.decoded_bytes)
    encodings = headers.get("content-encoding")
    body = (
        _Packed(encodings, most, limits=limits, now=now)
        if encodings
        else Body(min(most, limits.wire_bytes), limits, now)
    )
    announced = headers.get("content-length")
    if announced is not None and int(announced) > body.limit and not ask.truncate:
        raise TooLarge(f"the page is larger than {body.limit:,} bytes")
    return body
