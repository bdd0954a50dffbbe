"""Idempotency-Key: a POST that is sent again under its key gets the first answer, and has no second effect.

The request is watched from outside, and its key is claimed where it is known whose request it is: nobody gets past
`auth` without it, so no route can forget it. Without the header nothing is done.
"""

import asyncio
from collections import deque
from hashlib import sha256

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emissary.api.limits import is_long_list
from emissary.api.services import Services
from emissary.engine.answer_book import AnswerBook
from emissary.model.errors import BadRequest
from emissary.model.idempotency import ClaimedKey, FirstAnswer, KeptAnswer
from emissary.model.ids import AccountId

__all__ = ["HEADER", "LONGEST_KEY", "REPLAYED", "AnsweredBefore", "Idempotency", "answered_before", "claim_key"]

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
LONGEST_KEY = 255
_REUSED = f"this {HEADER} came with another body before: a new request takes a new key"
_ON_THE_WIRE = HEADER.lower().encode()


class AnsweredBefore(Exception):
    """The request came before; this is what it was answered."""

    def __init__(self, answer: FirstAnswer) -> None:
        super().__init__()
        self.answer = answer


async def answered_before(_: Request, found: Exception) -> Response:
    """The first answer again, byte for byte."""
    assert isinstance(found, AnsweredBefore)
    response = Response(found.answer.body, found.answer.status)
    response.raw_headers = [*found.answer.headers, (REPLAYED.lower().encode(), b"true")]
    return response


async def claim_key(request: Request, account: AccountId) -> None:
    """Claim the request's key for the account, where it has one.

    Raises AnsweredBefore if the same request was answered, and RequestInFlight if it is just being.
    """
    keyed: _Keyed | None = request.scope.get("state", {}).get("keyed")
    if keyed is not None:
        await keyed.claim(account)


class Idempotency:
    """Watches the requests that have a key."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or not _has_key(scope):
            await self._app(scope, receive, send)
            return
        services: Services = scope["app"].state.services
        keyed = _Keyed(scope, receive, send, services.answer_book)
        scope.setdefault("state", {})["keyed"] = keyed
        try:
            await self._app(scope, keyed.receive, keyed.send)
        finally:
            await keyed.leave()


def _has_key(scope: Scope) -> bool:
    return any(name == _ON_THE_WIRE for name, _ in scope["headers"])


class _Body:
    """The body as it comes in: digested on the way, and held back only where somebody looked at it too early."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._held: deque[Message] = deque()
        self._digest = sha256(scope["query_string"] + b"\n")  # a long list has its options there
        self.is_whole = False
        self._is_broken = False

    async def receive(self) -> Message:
        return self._held.popleft() if self._held else await self._next()

    async def hold(self) -> None:
        """Read to the end, for whoever reads it later."""
        while not self.is_whole:
            self._held.append(await self._next_of_body())

    async def pass_over(self) -> bytes:
        """The digest of all of it; nothing is held."""
        while not self.is_whole:
            await self._next_of_body()
        return self.digest

    @property
    def digest(self) -> bytes:
        return self._digest.digest()

    async def _next_of_body(self) -> Message:
        message = await self._next()
        if self._is_broken:
            raise BadRequest("the connection ended before the body did")
        return message

    async def _next(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._digest.update(message.get("body", b""))
            self.is_whole = not message.get("more_body", False)
        elif not self.is_whole:
            self._is_broken = True
        return message


class _Keyed:
    """One request under its key. Its answer is kept before the first byte of it leaves."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, book: AnswerBook) -> None:
        self._scope = scope
        self._body = _Body(scope, receive)
        self._send = send
        self._book = book
        self._claimed: ClaimedKey | None = None
        self._staying: asyncio.Task[None] | None = None
        self._start: Message = {}
        self._pieces: list[bytes] = []

    async def receive(self) -> Message:
        return await self._body.receive()

    async def claim(self, account: AccountId) -> None:
        if self._claimed is not None:
            return
        key, path = _key_in(Headers(scope=self._scope)), self._scope["path"]
        if not is_long_list(self._scope):
            await self._body.hold()
        route = getattr(self._scope.get("route"), "path", "")
        found = await self._book.claim(account, path, key=key, route=route)
        if isinstance(found, KeptAnswer):
            if await self._body.pass_over() != found.asked:
                raise BadRequest(_REUSED, "idempotency_key_reused")
            raise AnsweredBefore(await self._book.open(account, path, key, found))
        self._claimed = found
        self._staying = asyncio.create_task(self._book.stay(found))

    async def send(self, message: Message) -> None:
        if self._claimed is None:
            await self._send(message)
        elif message["type"] == "http.response.start":
            self._start = message
        else:
            self._pieces.append(message.get("body", b""))
            if not message.get("more_body", False):
                await self._conclude(self._claimed)

    async def _conclude(self, claimed: ClaimedKey) -> None:
        body = b"".join(self._pieces)
        if self._is_worth_keeping(self._start["status"]):
            answer = FirstAnswer(self._start["status"], list(self._start["headers"]), body)
            await self._book.keep(claimed, self._body.digest, answer)
            self._claimed = None
        await self.leave()
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": body})

    def _is_worth_keeping(self, status: int) -> bool:
        """Whoever was told to come later, or did not get to say all, has not had his answer."""
        return status < 500 and status != 429 and self._body.is_whole

    async def leave(self) -> None:
        """Nothing more is done for the key; if it was not answered, it is free again."""
        if self._staying is not None:
            self._staying.cancel()
        claimed, self._claimed = self._claimed, None
        if claimed is not None:
            await self._book.release(claimed)


def _key_in(headers: Headers) -> str:
    given = headers.getlist(HEADER)
    if len(given) == 1 and 1 <= len(given[0]) <= LONGEST_KEY and given[0].isascii() and given[0].isprintable():
        return given[0]
    raise BadRequest(f"send one {HEADER} of 1 to {LONGEST_KEY} printable ASCII characters", "invalid_idempotency_key")
