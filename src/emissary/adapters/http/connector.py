"""Makes a connection of a socket of the dial, secured where the URL asks for that."""

import asyncio
import ssl

from emissary.adapters.http.connection import Connection, Opening, Shared
from emissary.adapters.http.dial import Dial, DialFailed, Dialled
from emissary.model.pages import Code, WebUrl
from emissary.ports.web import Proxy

__all__ = ["Connector", "trusting"]

_BROKEN_TLS = "no secure connection could be made: its certificate or its TLS was not acceptable"


def trusting(context: ssl.SSLContext | None) -> ssl.SSLContext:
    """How certificates are checked: against this machine's authorities, where nobody has named others."""
    trust = context or ssl.create_default_context()
    trust.set_alpn_protocols(["http/1.1"])
    return trust


class Connector:
    """Opens connections past the guard, and knows which are open; how many there are is the lanes' business."""

    def __init__(self, dial: Dial, trust: ssl.SSLContext, shared: Shared) -> None:
        self._dial = dial
        self._trust = trust
        self._shared = shared
        self._is_closed = False

    async def open(self, url: WebUrl, via: Proxy | None, seconds: float) -> Connection:
        """A connection for an exchange that may take so many seconds; raises DialFailed."""
        if self._is_closed:
            raise DialFailed(Code.CONNECT, "this client is closed")
        dialled = await self._dial.open(url.host, url.port, via, seconds)
        if url.scheme == "https":
            connection = await self._secured(dialled, url.host.strip("[]").rstrip("."))
        else:
            _, connection = await asyncio.get_running_loop().create_connection(self._connection, sock=dialled.sock)
            connection.opening = Opening(dialled.dns_ms, dialled.connect_ms, None)
        connection.address = dialled.address
        return connection

    async def close(self) -> None:
        """Close every connection, in use or not; comes back when they are gone."""
        self._is_closed = True
        for connection in list(self._shared.open):
            await connection.close()

    async def _secured(self, dialled: Dialled, name: str) -> Connection:
        """The name in the certificate is the one in the URL, whatever address was dialled for it."""
        clock, began = self._shared.clock, self._shared.clock.monotonic()
        try:
            async with asyncio.timeout(self._shared.limits.tls_seconds):
                transport, connection = await asyncio.get_running_loop().create_connection(
                    self._connection, sock=dialled.sock, ssl=self._trust, server_hostname=name
                )
        except (ssl.SSLError, ssl.CertificateError):
            raise DialFailed(Code.TLS, _BROKEN_TLS) from None
        except TimeoutError:
            raise DialFailed(Code.TIMEOUT, "no secure connection could be made in time") from None
        except OSError:
            raise DialFailed(Code.CONNECT, "the connection was lost before it was secure") from None
        secured = transport.get_extra_info("ssl_object")
        cipher = secured.cipher()
        connection.tls = f"{secured.version()} {cipher[0]}" if cipher else secured.version()
        tls_ms = round((clock.monotonic() - began) * 1000, 2)
        connection.opening = Opening(dialled.dns_ms, dialled.connect_ms, tls_ms)
        return connection

    def _connection(self) -> Connection:
        return Connection(self._shared)
