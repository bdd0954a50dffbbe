"""The HTTP client: one request, no redirect followed, no cookie kept, no more taken than asked."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Self

from emissary.adapters.http.answer import Answer
from emissary.adapters.http.connection import Connection, Shared
from emissary.adapters.http.connector import Connector, trusting
from emissary.adapters.http.dial import Dial, DialFailed, Outside, Permits
from emissary.adapters.http.errors import BrokenOff, Lost, Silent
from emissary.adapters.http.limits import Limits
from emissary.adapters.http.pool import Pool, purpose_of
from emissary.adapters.http.request import Present, RequestWriter, always
from emissary.model.pages import Code, Heads, Reply, Timings, Unreachable
from emissary.ports.clock import Clock
from emissary.ports.web import Ask

__all__ = ["HttpWeb"]

_READ_AT_ONCE = 128 * 1024


class HttpWeb:
    """Keeps the promise of `ports.web.Web`. All connections are opened by one dial."""

    def __init__(
        self,
        *,
        permits: Permits,
        present: Present | Mapping[str, str],
        clock: Clock,
        limits: Limits = Limits(),  # noqa: B008 - a value
        outside: Outside = Outside(),  # noqa: B008 - a value
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._clock = clock
        self._requests = RequestWriter(always(present) if isinstance(present, Mapping) else present)
        self._pool = Pool(limits)
        shared = Shared(bytearray(_READ_AT_ONCE), limits, clock, set())
        self._connector = Connector(Dial(permits, clock, limits, outside), trusting(trust), shared)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._pool.close()
        await self._connector.close()

    async def ask(self, ask: Ask) -> Reply | Unreachable:
        try:
            return await self._exchange(ask)
        except Lost as error:
            # A site may close a kept connection just as we use it. Whether it saw the request is unknown: asking again
            # is for whoever keeps the pace.
            return Unreachable(ask.url, error.code, str(error), stale=error.stale and ask.body is None)
        except BrokenOff as error:
            return Unreachable(ask.url, error.code, str(error), passing=error.passing)
        except DialFailed as error:
            return Unreachable(ask.url, error.code, error.detail, passing=error.passing, http_status=error.status)
        except OSError:
            return Unreachable(ask.url, Code.CONNECT, "the connection failed")

    async def _exchange(self, ask: Ask) -> Reply:
        head = self._requests.write(ask)
        began, ends = self._clock.monotonic(), asyncio.get_running_loop().time() + ask.timeout
        purpose = purpose_of(ask)
        connection = self._pool.take(purpose) or await self._open(ask, ends)
        try:
            answer = await connection.send(head if ask.body is None else head + ask.body, ask, ends)
        except BaseException:
            connection.drop()
            raise
        if connection.is_open:
            self._pool.keep(purpose, connection)
        return _reply(ask, answer, connection, head=head, began=began)

    async def _open(self, ask: Ask, ends: float) -> Connection:
        try:
            async with asyncio.timeout_at(ends):
                return await self._connector.open(ask.url, ask.via, ask.timeout)
        except TimeoutError:
            raise Silent from None


def _reply(ask: Ask, answer: Answer, connection: Connection, *, head: bytes, began: float) -> Reply:
    assert answer.body is not None
    wire, body = answer.body.whole()
    return Reply(
        status=answer.status,
        headers=answer.headers,
        body=body,
        address=connection.address,
        http_version=answer.version,
        timings=_timings(connection, began),
        wire_bytes=len(wire),
        tls=connection.tls,
        wire=wire,
        egress="direct" if ask.via is None else ask.via.name,
        heads=Heads(head, answer.head),
    )


def _timings(connection: Connection, began: float) -> Timings:
    first, total = connection.first_byte_at - began, connection.ended_at - began
    opening, connection.opening = connection.opening, None  # whoever opened it has waited for that
    return Timings(round(first * 1000, 2), round(total * 1000, 2), *(opening or ()))
