"""aiohttp's side of the dial: the connections of one egress, each opened past the guard."""

import asyncio
import math
import ssl
from contextvars import ContextVar
from typing import NamedTuple

from aiohttp import BaseConnector, ClientRequest, ClientTimeout
from aiohttp.client_proto import ResponseHandler
from aiohttp.tracing import Trace

from emissary.adapters.http.dial import Dial, DialFailed, Dialled
from emissary.model.pages import Code
from emissary.ports.clock import Clock
from emissary.ports.web import Proxy

__all__ = ["DIALLED", "GuardedConnector", "Line", "Opening", "trusting"]

DIALLED: ContextVar[bool] = ContextVar("dialled", default=False)
"""Whether a connection has been opened for the exchange under way, and not taken from those that were kept."""

_BROKEN_TLS = "no secure connection could be made: its certificate or its TLS was not acceptable"


class Opening(NamedTuple):
    """Milliseconds that it took to open a connection."""

    dns_ms: float
    connect_ms: float
    tls_ms: float | None


class Line(ResponseHandler):
    """A connection that knows who is at the other end; `opening` is there until the first answer has taken it."""

    address = ""
    tls: str | None = None
    opening: Opening | None = None


def trusting(context: ssl.SSLContext | None) -> ssl.SSLContext:
    """How certificates are checked: against this machine's authorities, where nobody has named others."""
    trust = context or ssl.create_default_context()
    trust.set_alpn_protocols(["http/1.1"])
    return trust


class GuardedConnector(BaseConnector):
    """Keeps connections for reuse as aiohttp's own does; how many there are is the lanes' business."""

    def __init__(
        self, dial: Dial, via: Proxy | None, *, trust: ssl.SSLContext, tls_seconds: float, clock: Clock
    ) -> None:
        super().__init__(limit=0, keepalive_timeout=15)
        self._dial = dial
        self._via = via
        self._trust = trust
        self._tls_seconds = tls_seconds
        self._clock = clock

    async def _create_connection(
        self,
        req: ClientRequest,
        traces: list[Trace],  # noqa: ARG002 - aiohttp's form
        timeout: ClientTimeout,  # noqa: ASYNC109 - the same; its total runs around all of this
    ) -> Line:
        host, port = req.url.raw_host, req.port
        assert host is not None
        assert port is not None
        DIALLED.set(True)
        dialled = await self._dial.open(host, port, self._via, timeout.total or math.inf)
        if not req.is_ssl():
            return await self._plain(dialled)
        began = self._clock.monotonic()
        line = await self._secured(dialled, host.rstrip("."))
        spent = round((self._clock.monotonic() - began) * 1000, 2)
        line.opening = Opening(dialled.dns_ms, dialled.connect_ms, spent)
        return line

    async def _plain(self, dialled: Dialled) -> Line:
        _, line = await self._loop.create_connection(self._line, sock=dialled.sock)
        line.address = dialled.address
        line.opening = Opening(dialled.dns_ms, dialled.connect_ms, None)
        return line

    async def _secured(self, dialled: Dialled, name: str) -> Line:
        """The name in the certificate is the one in the URL, whatever address was dialled for it."""
        try:
            async with asyncio.timeout(self._tls_seconds):
                transport, line = await self._loop.create_connection(
                    self._line, sock=dialled.sock, ssl=self._trust, server_hostname=name
                )
        except (ssl.SSLError, ssl.CertificateError):
            raise DialFailed(Code.TLS, _BROKEN_TLS) from None
        except TimeoutError:
            raise DialFailed(Code.TIMEOUT, "no secure connection could be made in time") from None
        except OSError:
            raise DialFailed(Code.CONNECT, "the connection was lost before it was secure") from None
        secured = transport.get_extra_info("ssl_object")
        cipher = secured.cipher()
        line.address = dialled.address
        line.tls = f"{secured.version()} {cipher[0]}" if cipher else secured.version()
        return line

    def _line(self) -> Line:
        return Line(self._loop)
