"""One call to the API: sent, tried again where that can do no harm, and read as what it is."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

import msgspec

from emissary import __version__
from emissary.client.errors import ApiError, ServerUnreachable, read_problem
from emissary.client.wire import Exchange, Request, Wire
from emissary.ports.clock import Chance

__all__ = ["NDJSON", "Call", "Caller", "Patience", "Pieces"]

T = TypeVar("T")

NDJSON = "application/x-ndjson"
_JSON = "application/json"
_PASSING = frozenset({429, 502, 503, 504})
_FIRST_REST, _LONGEST_REST = 0.25, 10.0
_LOOK_AGAIN = 0.5

Pieces = Callable[[], AsyncGenerator[bytes, None]]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a silent server is waited for, how often it is asked, and which `Retry-After` is still waited for."""

    timeout: float = 60.0
    attempts: int = 4
    longest_rest: float = 60.0


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked of the API. A body is JSON, or pieces of lines that can perhaps be had only once."""

    method: str
    path: str
    query: Mapping[str, object] | None = None
    body: object = None
    pieces: Pieces | None = None
    is_repeatable: bool = True
    accept: str = _JSON
    takes: float = 0.0  # seconds that the server itself will take, at most

    @property
    def target(self) -> str:
        given = {name: value for name, value in (self.query or {}).items() if value not in (None, "")}
        return f"{self.path}?{urlencode(given)}" if given else self.path


class Caller:
    """Makes calls over a wire, in the name of a key."""

    def __init__(self, wire: Wire, key: str | None, *, patience: Patience, chance: Chance) -> None:
        self.wire = wire
        self._key = key
        self._patience = patience
        self._chance = chance

    async def ask(self, call: Call, kind: type[T]) -> T:
        """The answer, as this type; raises ApiError for a problem, and ServerUnreachable if there is no answer."""
        return _as(kind, await self.fetch(call))

    async def fetch(self, call: Call) -> bytes:
        """The same, as the bytes that came."""
        request, tried, waited = self._request(call), 0, 0.0
        while True:
            tried += 1
            try:
                return b"".join([piece async for piece in self._once(call, request)])
            except (ApiError, ServerUnreachable) as error:
                if _is_under_way(error) and waited < request.timeout:
                    await self.wire.sleep(_LOOK_AGAIN)
                    tried, waited = tried - 1, waited + _LOOK_AGAIN
                else:
                    await self.rest(error, tried, is_repeatable=call.is_repeatable)

    async def stream(self, call: Call) -> AsyncGenerator[bytes, None]:
        """The answer's body as it comes. It is asked for once: where it breaks off, the caller knows how to go on."""
        async with aclosing(self._once(call, self._request(call))) as pieces:
            async for piece in pieces:
                yield piece

    async def rest(self, error: ApiError | ServerUnreachable, tried: int, *, is_repeatable: bool = True) -> None:
        """Wait before the call is made once more, or raise its error where that would be of no use."""
        rest = min(_FIRST_REST * 2 ** (tried - 1), _LONGEST_REST)
        if isinstance(error, ApiError):
            is_passing = error.status in _PASSING
            rest = rest if error.retry_after is None else error.retry_after
        else:
            is_passing = True
        if not (is_passing and is_repeatable) or tried >= self._patience.attempts or rest > self._patience.longest_rest:
            raise error
        await self.wire.sleep(rest)

    def _request(self, call: Call) -> Request:
        headers = {"Accept": call.accept, "User-Agent": f"emissary-client/{__version__}"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        if call.method == "POST":
            # The same over all tries: whatever came of the first is the answer to the others.
            headers["Idempotency-Key"] = self._chance.draw(16).hex()
        has_body = call.pieces is not None or call.body is not None
        if has_body:
            headers["Content-Type"] = _JSON if call.pieces is None else NDJSON
        return Request(call.method, call.target, headers, has_body, self._patience.timeout + call.takes)

    async def _once(self, call: Call, request: Request) -> AsyncGenerator[bytes, None]:
        exchange = await self.wire.begin(request)
        try:
            await _send_body(exchange, call)
            head = await exchange.answer()
            if head.status >= 400:
                raise read_problem(head.status, head.headers, await _whole(exchange))
            while piece := await exchange.read():
                yield piece
        finally:
            await exchange.close()


def _is_under_way(error: ApiError | ServerUnreachable) -> bool:
    """Whether it is our own first try that is in the way: its connection was cut, and it is still being answered."""
    return error.code == "idempotency_in_flight"


async def _send_body(exchange: Exchange, call: Call) -> None:
    if call.pieces is not None:
        async with aclosing(call.pieces()) as pieces:
            async for piece in pieces:
                if not await exchange.write(piece):
                    return
    elif call.body is not None:
        await exchange.write(msgspec.json.encode(call.body))


async def _whole(exchange: Exchange) -> bytes:
    pieces = []
    while piece := await exchange.read():
        pieces.append(piece)
    return b"".join(pieces)


def _as(kind: type[T], body: bytes) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        detail = f"the server's answer is not what was expected ({error}): is it an Emissary of this version?"
        raise ServerUnreachable(detail) from error
