"""The dial: every connection that Emissary opens over HTTP is opened here, past the guard.

The resolver alone would not do: it is never asked about an address that stands in the URL itself. The socket factory
sees every address, so the veto is there, and the resolver only makes sure that one bad record condemns the name.
"""

import socket
from collections.abc import Callable

from aiohttp import TCPConnector, ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

__all__ = ["ForbiddenAddress", "connector"]

Permits = Callable[[str], bool]
_MOST_ADDRESSES = 4


class ForbiddenAddress(OSError):
    """The guard does not permit this address, and says no more: what is behind it is nobody's business."""

    def __init__(self) -> None:
        super().__init__("the address is not one that may be read")


class _GuardedResolver(AbstractResolver):
    def __init__(self, permits: Permits) -> None:
        self._permits = permits
        self._inner = ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, socket.AddressFamily(family))
        if not all(self._permits(result["host"]) for result in found):
            raise ForbiddenAddress
        return found[:_MOST_ADDRESSES]

    async def close(self) -> None:
        await self._inner.close()


def connector(permits: Permits) -> TCPConnector:
    """Connections for one client; how many there are is the lanes' business."""

    def open_socket(info: tuple[int, int, int, str, tuple[str | int, ...]]) -> socket.socket:
        family, kind, protocol, _, address = info
        if not permits(str(address[0])):
            raise ForbiddenAddress
        return socket.socket(family, kind, protocol)

    return TCPConnector(
        resolver=_GuardedResolver(permits),
        socket_factory=open_socket,
        limit=0,
        ttl_dns_cache=60,
        keepalive_timeout=15,
        happy_eyeballs_delay=None,
    )
