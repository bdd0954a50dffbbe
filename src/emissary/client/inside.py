"""The way to an Emissary in this process: the API's own routes, called without a socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote

import structlog

from emissary.api.app import create_app
from emissary.api.auth import Caller, KeyKeeper
from emissary.client.errors import ServerUnreachable
from emissary.client.wire import Head, Request
from emissary.compose import LOCAL_ACCOUNT, App, at_work, open_app, settle_in
from emissary.model.accounts import Account
from emissary.model.ids import KeyId
from emissary.model.keys import ApiKey
from emissary.ports.clock import Clock
from emissary.telemetry.logs import configure_logs

__all__ = ["InsideWire", "inside"]

_PIECES_UNDER_WAY = 8

log = structlog.get_logger(__name__)


@asynccontextmanager
async def inside(data_dir: Path | str | None = None, **settings: Any) -> AsyncIterator["InsideWire"]:
    """Open everything in this process, with a worker, unless another process works on the same directory already."""
    settled = settle_in(data_dir=None if data_dir is None else Path(data_dir), **settings)
    if not structlog.is_configured():
        configure_logs(settled.log, "error")  # the program is somebody else's: only what it must know is said
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(settled))
        if not await app.workers.living():
            await stack.enter_async_context(at_work(app))
        group = await stack.enter_async_context(asyncio.TaskGroup())
        # Keys may be made for it here, which a server that opens the directory later goes by.
        await app.services.accounts.open_account(Account(LOCAL_ACCOUNT, "local", app.services.clock.now()))
        yield InsideWire(_api_of(app), group, app.services.clock)


def _api_of(app: App) -> Any:
    """The routes, for the one account of this machine: whoever runs this process needs no key."""
    api = create_app(app.services)
    owner = ApiKey(KeyId("key_none"), LOCAL_ACCOUNT, b"", app.services.clock.now())
    for who, found in ((Caller, LOCAL_ACCOUNT), (KeyKeeper, owner)):
        _, needed = get_args(who)
        api.dependency_overrides[needed.dependency] = lambda found=found: found
    return api


class _InsideExchange:
    """Keeps the promise of `Exchange`, by the rules of ASGI."""

    def __init__(self, request: Request) -> None:
        self._timeout = request.timeout
        self._asked = asyncio.Queue[dict[str, Any]](_PIECES_UNDER_WAY)
        self._told = asyncio.Queue[bytes | None](_PIECES_UNDER_WAY)
        self._head = asyncio.get_running_loop().create_future()
        self._is_left = asyncio.Event()
        self._is_at_end = False

    async def write(self, piece: bytes) -> bool:
        putting = asyncio.ensure_future(self._asked.put({"type": "http.request", "body": piece, "more_body": True}))
        await asyncio.wait([putting, self._head], return_when=asyncio.FIRST_COMPLETED)
        if self._head.done():
            putting.cancel()
        return not self._head.done()

    async def answer(self) -> Head:
        if not self._head.done():
            await self._asked.put({"type": "http.request", "body": b"", "more_body": False})
        try:
            async with asyncio.timeout(self._timeout):
                head: Head = await self._head
        except TimeoutError as error:
            raise ServerUnreachable(f"there was no answer within {self._timeout:g} s") from error
        return head

    async def read(self) -> bytes:
        piece = b"" if self._is_at_end else await self._told.get()
        if piece is None:
            raise ServerUnreachable("the answer broke off: the call failed on our side, and was logged")
        self._is_at_end = not piece
        return piece

    async def close(self) -> None:
        self._is_left.set()
        while not self._told.empty():
            self._told.get_nowait()

    async def receive(self) -> dict[str, Any]:
        """What the app asks for: the body, and then whether the caller is still there."""
        asking, leaving = asyncio.ensure_future(self._asked.get()), asyncio.ensure_future(self._is_left.wait())
        try:
            await asyncio.wait([asking, leaving], return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else {"type": "http.disconnect"}
        finally:
            asking.cancel()
            leaving.cancel()

    async def send(self, message: dict[str, Any]) -> None:
        """What the app tells; a caller who has left is told no more."""
        if message["type"] == "http.response.start" and not self._head.done():
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in message["headers"]}
            self._head.set_result(Head(message["status"], headers))
        elif message["type"] == "http.response.body" and not self._is_left.is_set():
            if piece := message.get("body", b""):
                await self._told.put(piece)
            if not message.get("more_body", False):
                await self._told.put(b"")

    async def break_off(self) -> None:
        """The app has failed: whoever waits for the rest of its answer waits in vain."""
        if not self._head.done():
            self._head.set_exception(ServerUnreachable("the call failed on our side, and was logged"))
        elif not self._is_left.is_set():
            await self._told.put(None)


class InsideWire:
    """Keeps the promise of `Wire`."""

    def __init__(self, api: Any, group: asyncio.TaskGroup, clock: Clock) -> None:
        self._api = api
        self._group = group
        self._clock = clock

    async def begin(self, request: Request) -> _InsideExchange:
        exchange = _InsideExchange(request)
        self._group.create_task(self._serve(request, exchange))
        if not request.has_body:
            await exchange.write(b"")
        return exchange

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    async def close(self) -> None:
        """Whoever opened it closes it."""

    async def _serve(self, request: Request, exchange: _InsideExchange) -> None:
        try:
            await self._api(_scope(request), exchange.receive, exchange.send)
        except Exception:  # as of any server: this call has failed, and the others go on
            log.exception("a call failed", path=request.path)
            await exchange.break_off()


def _scope(request: Request) -> dict[str, Any]:
    path, _, query = request.path.partition("?")
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items()]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "root_path": "",
        "headers": headers,
        "client": None,
        "server": None,
    }
