"""One answer, read strictly as it comes: where it begins, how long it is and where it ends must be beyond doubt.

llhttp, in httptools, finds the frame: heads, chunks, the end. The fields are then read from the bytes of the head
itself, which are kept as they came. Where llhttp is content with less than is beyond doubt, this module is not.
"""

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from emissary.adapters.http.errors import BadAnswer, BadHead, BrokenOff, TooLarge
from emissary.adapters.http.intake import Body, body_of
from emissary.adapters.http.limits import Limits
from emissary.ports.web import Ask

__all__ = ["Answer"]

_HEAD_ENDS = b"\r\n\r\n"
_WITHOUT_BODY = frozenset({204, 304})
_FRAME_PER_BYTE = 8  # a chunk of a single byte has five more, and may say a little about it


class _Surplus(Exception):
    """Something comes after the answer."""


class Answer:
    """What comes back for one ask. Feed it until it is whole; `release` it in any case."""

    __slots__ = (
        *("_ask", "_frame", "_interim", "_is_chunked", "_is_final", "_is_whole", "_limits", "_parser", "_pieces"),
        *("_start", "body", "head", "headers", "may_keep", "on_body", "status"),
    )

    def __init__(self, ask: Ask, limits: Limits) -> None:
        self._ask = ask
        self._limits = limits
        self._start = b""  # what came before the head was there in full
        self._interim = 0
        self._frame = 0  # bytes that are neither head nor body: sizes of chunks, trailers
        self._is_final = self._is_whole = self._is_chunked = False
        self._pieces: list[bytes] = []
        self.on_body = self._pieces.append  # the parser finds this and the other `on_…` by their names
        self.status = 0
        self.head = b""
        self.headers: dict[str, str] = {}
        self.body: Body | None = None
        self.may_keep = False  # whether the connection can be used again
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        # Some old servers pad the sizes of their chunks. There is but one way to read that.
        self._parser.set_dangerous_leniencies(lenient_spaces_after_chunk_size=True)

    @property
    def has_begun(self) -> bool:
        return bool(self._start) or self._is_final

    @property
    def version(self) -> str:
        return "1.0" if self.head.startswith(b"HTTP/1.0") else "1.1"

    def feed(self, buffer: bytearray, count: int, now: float) -> bool:
        """Take what stands at the beginning of the buffer. Says whether the answer is whole; raises BrokenOff."""
        self._parse(memoryview(buffer)[:count])
        if self.body is None:
            if not self._is_final:
                self._wait_for_head(buffer, count)
                return False
            count -= self._find_head(buffer, count)
            self._read_head()
            # A 304 tells of a body that it does not have.
            told = self.headers if self.status not in _WITHOUT_BODY else {}
            self.body = body_of(self._ask, told, limits=self._limits, now=now)
        return self._take(self.body, count, now)

    def end(self) -> bool:
        """The other side says no more. Says whether that is how this answer ends; raises BadEncoding."""
        if self.body is None or self._is_chunked or "content-length" in self.headers:
            return False
        self.body.finish()
        return True

    def release(self) -> None:
        """The parser knows us and we know it: without this, nothing of the answer would be freed at once."""
        self._parser = None

    def _parse(self, piece: memoryview) -> None:
        assert self._parser is not None
        try:
            self._parser.feed_data(piece)
        except (HttpParserError, HttpParserUpgrade) as error:
            if self._is_whole:
                self.may_keep = False  # what follows the answer is no part of it, and nobody asked for it
            elif isinstance(error.__context__, BrokenOff):
                raise error.__context__ from None
            else:
                raise BadAnswer(f"the answer is not valid HTTP: {error}") from None

    # The head

    def _wait_for_head(self, buffer: bytearray, count: int) -> None:
        self._start += buffer[:count]
        self._check_size(len(self._start))

    def _find_head(self, buffer: bytearray, count: int) -> int:
        """Keep the head as it came; says how much of the buffer it took, with the interim ones before it."""
        before = len(self._start)
        seen = self._start + buffer[:count] if before else buffer
        begin = end = 0
        for _ in range(self._interim + 1):
            begin, end = end, seen.find(_HEAD_ENDS, end, before + count) + len(_HEAD_ENDS)
        self._check_size(end)
        self.head = bytes(seen[begin:end])
        return end - before

    def _check_size(self, size: int) -> None:
        if size > self._limits.header_bytes:
            raise BadHead(f"the head of the answer is larger than {self._limits.header_bytes:,} bytes")

    def _read_head(self) -> None:
        lines = self.head.decode("utf-8", "surrogateescape").split("\r\n")[:-2]
        # The parser has looked at every character. That both mean the same lines is looked at here.
        if not self.head.startswith(b"HTTP/1.") or self.head.count(b"\n") != len(lines) + 1:
            raise BadAnswer("the answer is not valid HTTP")
        if len(lines) - 1 > self._limits.header_fields:
            raise BadHead(f"the head of the answer has more than {self._limits.header_fields} fields")
        headers = self.headers
        for line in lines[1:]:
            name, _, value = line.partition(":")
            key, value = name.lower(), value.strip(" \t")
            headers[key] = f"{headers[key]}, {value}" if key in headers else value
        if "transfer-encoding" in headers:
            self._read_transfer_encoding(headers["transfer-encoding"])

    def _read_transfer_encoding(self, coding: str) -> None:
        """We ask for none but chunks; and HTTP/1.0, which has none, ends where nobody can tell."""
        if coding.lower() != "chunked" or self.head.startswith(b"HTTP/1.0"):
            raise BadAnswer("the answer is not valid HTTP: its Transfer-Encoding leaves its length in doubt")
        self._is_chunked = True

    # The body

    def _take(self, body: Body, count: int, now: float) -> bool:
        if self._pieces:
            piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces.clear()
            count -= len(piece)
            try:
                body.add(piece)
            except TooLarge:
                if not self._ask.truncate:
                    raise
                return True
        if self._is_whole:
            body.finish()
            return True
        body.check_rate(now)
        self._frame += count
        if self._frame > self._limits.header_bytes + _FRAME_PER_BYTE * body.size:
            raise BadHead("the answer says more about its body than the body has")
        return False

    # What the parser tells

    def on_message_begin(self) -> None:
        if self._is_whole:
            raise _Surplus

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        self.status = self._parser.get_status_code()
        if self.status >= 200:
            self._is_final = True
        elif self.status == 101 or self.status < 100:
            raise BadAnswer(f"the answer is not valid HTTP: nobody asked for {self.status}")
        else:
            self._interim += 1

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if self._is_final:
            self._is_whole = True
            self.may_keep = self._parser.should_keep_alive()
