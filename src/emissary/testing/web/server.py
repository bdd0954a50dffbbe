"""The local web: one listening socket for each loopback address, all on one port, none visible from outside."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from email.utils import formatdate, parsedate_to_datetime

from emissary.testing.web.addresses import Addresses
from emissary.testing.web.connection import Connection, Place
from emissary.testing.web.log import Seen
from emissary.testing.web.site import Site
from emissary.testing.web.sites import NAMES, build_sites, numbered_site

__all__ = ["TestWeb"]

_ATTEMPTS = 20
_BACKLOG = 1024


def _wall_clock() -> datetime:
    # The mail library's clock, as whole seconds: only the date in /429-date needs the time of day.
    return parsedate_to_datetime(formatdate(usegmt=True))


class TestWeb:
    """A running local web. `addresses` says where things are, `seen` what was asked, `sites` what there is."""

    __test__ = False  # not a test case, whatever its name

    def __init__(self, addresses: Addresses, seen: Seen, sites: dict[str, Site], numbered: Site) -> None:
        self.addresses = addresses
        self.seen = seen
        self.sites = sites
        self.numbered = numbered

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        *,
        hosts: int = 8,
        port: int = 0,
        latency: timedelta = timedelta(0),
        remember: int = 100_000,
        now: Callable[[], datetime] = _wall_clock,
        numbered: Site | None = None,
    ) -> AsyncIterator["TestWeb"]:
        """Serve all named sites and so many numbered hosts; every answer comes `latency` later.

        `numbered` is what the numbered hosts serve in place of pages for measuring.
        """
        sockets = _bind(hosts, port)
        addresses = Addresses.plan(NAMES, hosts=hosts, port=sockets[0].getsockname()[1])
        seen = Seen(addresses.sites, remember=remember)
        web = cls(addresses, seen, build_sites(addresses, seen, now), numbered or numbered_site())
        places = [web._place(address, latency) for address in addresses.every]
        servers = [await _serve(place, sock) for place, sock in zip(places, sockets, strict=True)]
        try:
            yield web
        finally:
            await _close(servers, places)

    @property
    def port(self) -> int:
        return self.addresses.port

    @property
    def hosts(self) -> tuple[str, ...]:
        """The addresses of the numbered hosts."""
        return self.addresses.hosts

    @property
    def networks(self) -> tuple[str, ...]:
        """The networks that a guard must let through."""
        return self.addresses.networks

    def address(self, site: str) -> str:
        """The address of a named site."""
        return self.addresses.sites[site]

    def url(self, site: str, path: str = "/") -> str:
        """A URL on a named site."""
        return self.addresses.url(site, path)

    def host_url(self, n: int, path: str = "/") -> str:
        """A URL on a numbered host; the first is number 1."""
        return self.addresses.host_url(n, path)

    def _place(self, address: str, latency: timedelta) -> Place:
        named = {where: name for name, where in self.addresses.sites.items()}
        return Place(
            address=address,
            origin=self.addresses.origin(address),
            site=self.sites[named[address]] if address in named else self.numbered,
            seen=self.seen,
            log=self.seen.host(address),
            latency=latency.total_seconds(),
        )


def _bind(hosts: int, port: int) -> list[socket.socket]:
    """A socket for each address. With port 0, a port is looked for that is free on all of them."""
    for attempt in range(_ATTEMPTS):
        sockets: list[socket.socket] = []
        try:
            chosen = port
            for address in Addresses.plan(NAMES, hosts=hosts, port=port).every:
                sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                sockets.append(sock)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((address, chosen))
                chosen = sock.getsockname()[1]
        except OSError as error:
            for sock in sockets:
                sock.close()
            if port or error.errno != errno.EADDRINUSE or attempt == _ATTEMPTS - 1:
                raise
        else:
            return sockets
    raise AssertionError("the last attempt returns or raises")


async def _serve(place: Place, sock: socket.socket) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Connection(place, loop), sock=sock, backlog=_BACKLOG)


async def _close(servers: list[asyncio.Server], places: list[Place]) -> None:
    for server in servers:
        server.close()
    connections = [connection for place in places for connection in place.open]
    for connection in connections:
        connection.abort()
    await asyncio.gather(*(connection.gone for connection in connections))
    await asyncio.gather(*(server.wait_closed() for server in servers))
