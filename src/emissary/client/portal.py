"""A thread with an event loop, and a way into it for code that cannot await."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar

import uvloop

from emissary.client.wire import Exchange, Head, Request, Wire

__all__ = ["BlockingWire", "Portal"]

T = TypeVar("T")


class Portal:
    """Runs coroutines on a loop of its own, while the caller's thread waits for them."""

    def __init__(self) -> None:
        self._begun = Future[asyncio.AbstractEventLoop]()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="emissary-client", daemon=True)
        self._thread.start()
        self._loop = self._begun.result()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of it. Whoever is interrupted while waiting takes it back."""
        doing = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return doing.result()
        except BaseException:
            doing.cancel()
            raise

    @contextmanager
    def entered(self, manager: AbstractAsyncContextManager[T]) -> Iterator[T]:
        """The manager, entered and left by one task of the loop, as task groups want it."""
        entered, leave = Future[T](), asyncio.Event()

        async def hold() -> None:
            async with manager as value:
                entered.set_result(value)
                await leave.wait()

        def tell_failure(ended: Future[None]) -> None:
            if not entered.done():
                entered.set_exception(ended.exception())

        holding = asyncio.run_coroutine_threadsafe(hold(), self._loop)
        holding.add_done_callback(tell_failure)
        try:
            yield entered.result()
        finally:
            self._loop.call_soon_threadsafe(leave.set)
            holding.result()

    def close(self) -> None:
        """End the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._wait())

    async def _wait(self) -> None:
        self._begun.set_result(asyncio.get_running_loop())
        await self._stop.wait()


class BlockingWire:
    """Keeps the promise of `Wire`, and never suspends: whoever awaits it blocks until it is done."""

    def __init__(self, wire: Wire, portal: Portal) -> None:
        self._wire = wire
        self._portal = portal

    async def begin(self, request: Request) -> "_BlockingExchange":
        return _BlockingExchange(self._portal.run(self._wire.begin(request)), self._portal)

    async def sleep(self, seconds: float) -> None:
        threading.Event().wait(seconds)

    async def close(self) -> None:
        self._portal.run(self._wire.close())


class _BlockingExchange:
    def __init__(self, exchange: Exchange, portal: Portal) -> None:
        self._exchange = exchange
        self._portal = portal

    async def write(self, piece: bytes) -> bool:
        return self._portal.run(self._exchange.write(piece))

    async def answer(self) -> Head:
        return self._portal.run(self._exchange.answer())

    async def read(self) -> bytes:
        return self._portal.run(self._exchange.read())

    async def close(self) -> None:
        self._portal.run(self._exchange.close())
