"""Connections that are kept for the next request to the same place, by the same way, in the same session."""

import asyncio
from collections import OrderedDict

from emissary.adapters.http.connection import Connection
from emissary.adapters.http.limits import Limits
from emissary.ports.web import Ask, Proxy

__all__ = ["Pool", "Purpose", "purpose_of"]

Purpose = tuple[str, str, int, Proxy | None, str | None]
"""Scheme, host, port, egress and session: a connection is used for one purpose only."""


def purpose_of(ask: Ask) -> Purpose:
    """What a connection must have been opened for to carry this ask."""
    url = ask.url
    return url.scheme, url.host, url.port, ask.via, ask.session


class Pool:
    """Idle connections. The one that was used last is taken first, and the one that idles longest is closed first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._by_purpose: dict[Purpose, list[Connection]] = {}
        self._by_age: OrderedDict[Connection, Purpose] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    def take(self, purpose: Purpose) -> Connection | None:
        """A connection that is still open, as far as anybody can tell."""
        while (kept := self._by_purpose.get(purpose)) is not None:
            connection = kept[-1]
            self._forget(connection)
            if connection.is_open:
                return connection
        return None

    def keep(self, purpose: Purpose, connection: Connection) -> None:
        """Keep it for a while, as long as there are not too many."""
        loop = asyncio.get_running_loop()
        kept = self._by_purpose.setdefault(purpose, [])
        if len(kept) >= self._limits.kept_per_purpose:
            connection.drop()
            return
        kept.append(connection)
        self._by_age[connection] = purpose
        connection.kept_since = loop.time()
        if len(self._by_age) > self._limits.kept:
            self._close_oldest()
        if self._timer is None:
            self._timer = loop.call_later(self._limits.kept_seconds, self._sweep)

    def close(self) -> None:
        """Close all of them."""
        while self._by_age:
            self._close_oldest()
        if self._timer is not None:
            self._timer.cancel()

    def _close_oldest(self) -> None:
        connection = next(iter(self._by_age))
        self._forget(connection)
        connection.drop()

    def _forget(self, connection: Connection) -> None:
        purpose = self._by_age.pop(connection)
        kept = self._by_purpose[purpose]
        kept.remove(connection)
        if not kept:
            del self._by_purpose[purpose]

    def _sweep(self) -> None:
        loop, self._timer = asyncio.get_running_loop(), None
        while self._by_age:
            left = next(iter(self._by_age)).kept_since + self._limits.kept_seconds - loop.time()
            if left > 0:
                self._timer = loop.call_later(left, self._sweep)
                return
            self._close_oldest()
