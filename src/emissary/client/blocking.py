"""The same client for code that cannot await: no verb is written twice, each is driven to its end on the spot."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import update_wrapper, wraps
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from emissary.client.asynchronous import AsyncEmissary
from emissary.client.calling import Patience
from emissary.client.http_wire import HttpWire
from emissary.client.opening import inside
from emissary.client.portal import BlockingWire, Portal
from emissary.client.wire import Wire
from emissary.compose import the_clock
from emissary.settings import server_of

__all__ = ["Emissary"]

P = ParamSpec("P")
T = TypeVar("T")


def _drive(work: Coroutine[Any, Any, T]) -> T:
    """Run it to its end in this thread: over a blocking wire there is nothing that it could be suspended for."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("a verb awaited something else than its wire")


class _Verb(Generic[P, T]):
    """A verb that is called and answers."""

    def __init__(self, function: Callable[Concatenate[AsyncEmissary, P], Coroutine[Any, Any, T]]) -> None:
        self._function = function
        update_wrapper(self, function)  # type: ignore[arg-type] # for help(), which asks the class

    def __get__(self, client: "Emissary", owner: type["Emissary"] | None = None) -> Callable[P, T]:
        @wraps(self._function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return _drive(self._function(client._inner, *args, **kwargs))

        return call


class _Stream(Generic[P, T]):
    """A verb that answers bit by bit."""

    def __init__(self, function: Callable[Concatenate[AsyncEmissary, P], AsyncGenerator[T, None]]) -> None:
        self._function = function
        update_wrapper(self, function)  # type: ignore[arg-type] # for help(), which asks the class

    def __get__(self, client: "Emissary", owner: type["Emissary"] | None = None) -> Callable[P, Iterator[T]]:
        @wraps(self._function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            told = self._function(client._inner, *args, **kwargs)
            try:
                while True:
                    try:
                        each = _drive(told.__anext__())
                    except StopAsyncIteration:
                        return
                    yield each
            finally:
                _drive(told.aclose())

        return call


class Emissary:
    """A client of one server; `with Emissary(url, key) as emissary:`.

    Without a URL or a key, EMISSARY_URL and EMISSARY_API_KEY are taken. `Emissary.open()` needs no server.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        patience: Patience = Patience(),  # noqa: B008 - a value
    ) -> None:
        url, key = server_of(url, key)
        wire = HttpWire(url, the_clock())
        self._join(wire, Portal(), key, patience)

    @classmethod
    @contextmanager
    def open(cls, data_dir: Path | str | None = None, **settings: Any) -> Iterator[Self]:
        """Everything in this process, without a server; the settings are those of docs/settings.md, in small letters.

        What is begun and not waited for goes on when the same directory is opened again, here or by a server.
        """
        portal = Portal()
        try:
            with portal.entered(inside(data_dir, **settings)) as wire:
                client = cls.__new__(cls)
                client._join(wire, portal, None, Patience())
                yield client
        finally:
            portal.close()

    def _join(self, wire: Wire, portal: Portal, key: str | None, patience: Patience) -> None:
        self._portal = portal
        self._inner = AsyncEmissary(key=key, patience=patience, wire=BlockingWire(wire, portal))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the connections."""
        _drive(self._inner.close())
        self._portal.close()

    scrape = _Verb(AsyncEmissary.scrape)
    submit = _Verb(AsyncEmissary.submit)
    job = _Verb(AsyncEmissary.job)
    jobs = _Stream(AsyncEmissary.jobs)
    wait_for_job = _Verb(AsyncEmissary.wait_for_job)
    cancel_job = _Verb(AsyncEmissary.cancel_job)
    receipt = _Verb(AsyncEmissary.receipt)
    batch = _Verb(AsyncEmissary.batch)
    crawl = _Verb(AsyncEmissary.crawl)
    status = _Verb(AsyncEmissary.status)
    pause = _Verb(AsyncEmissary.pause)
    resume = _Verb(AsyncEmissary.resume)
    retry = _Verb(AsyncEmissary.retry)
    cancel = _Verb(AsyncEmissary.cancel)
    watch = _Stream(AsyncEmissary.watch)
    wait = _Verb(AsyncEmissary.wait)
    items = _Stream(AsyncEmissary.items)
    errors = _Stream(AsyncEmissary.errors)
    results = _Stream(AsyncEmissary.results)
    result_lines = _Stream(AsyncEmissary.result_lines)
    map = _Verb(AsyncEmissary.map)
    plan = _Verb(AsyncEmissary.plan)
    account = _Verb(AsyncEmissary.account)
    usage = _Stream(AsyncEmissary.usage)
    keys = _Stream(AsyncEmissary.keys)
    create_key = _Verb(AsyncEmissary.create_key)
    rotate_key = _Verb(AsyncEmissary.rotate_key)
    revoke_key = _Verb(AsyncEmissary.revoke_key)
    document = _Verb(AsyncEmissary.document)
    capture = _Verb(AsyncEmissary.capture)
    webhooks = _Stream(AsyncEmissary.webhooks)
    create_webhook = _Verb(AsyncEmissary.create_webhook)
    delete_webhook = _Verb(AsyncEmissary.delete_webhook)
    deliveries = _Stream(AsyncEmissary.deliveries)
    replay = _Verb(AsyncEmissary.replay)
    test_webhook = _Verb(AsyncEmissary.test_webhook)
