"""The dial: every connection that Emissary opens is opened here, past the guard.

A name is resolved once. If any of its records is forbidden, the name is; if none is, one of those very addresses is
dialled, and whoever then is at the other end must be the one that was dialled. There is no second lookup whose answer
could differ, and the check is on the address, so that it does not matter by which spelling anybody came to it.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import NamedTuple

from emissary.adapters.http.limits import Limits
from emissary.adapters.http.tunnel import ProxyFailed, TargetFailed, tunnel
from emissary.model.pages import Code
from emissary.ports.clock import Clock
from emissary.ports.web import Proxy

__all__ = ["Dial", "DialFailed", "Dialled", "Outside", "Permits", "connect_to", "resolve_name"]

Permits = Callable[[str, int], bool]
Resolve = Callable[[str], Awaitable[Sequence[str]]]
Connect = Callable[[str, int], Awaitable[socket.socket]]

_MOST_NAMES = 4096


class DialFailed(Exception):
    """No connection. The detail names no address: what is behind the guard is nobody's business."""

    def __init__(self, code: Code, detail: str, *, passing: bool = True, status: int | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.passing = passing
        self.status = status


class Dialled(NamedTuple):
    """An open connection to the target, perhaps through a proxy, and how long it took to get there."""

    sock: socket.socket
    address: str
    dns_ms: float
    connect_ms: float


async def resolve_name(name: str) -> list[str]:
    """The addresses of a name, as this machine's resolver gives them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


async def connect_to(address: str, port: int) -> socket.socket:
    """A connection to the address. Nothing else in Emissary does this, and nothing but `Dial` calls it."""
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return sock


@dataclass(frozen=True, slots=True)
class Outside:
    """The machine's resolver and its sockets; tests put others in their place."""

    resolve: Resolve = resolve_name
    connect: Connect = connect_to


class Dial:
    """Opens connections to targets that the guard permits, directly or through a proxy of the operator."""

    def __init__(self, permits: Permits, clock: Clock, limits: Limits, outside: Outside) -> None:
        self._permits = permits
        self._clock = clock
        self._limits = limits
        self._outside = outside
        self._names: dict[str, tuple[float, list[str]]] = {}

    async def open(self, host: str, port: int, via: Proxy | None, seconds: float) -> Dialled:
        """A connection to the host, for an exchange that may take so many seconds; raises DialFailed."""
        began = self._clock.monotonic()
        addresses = await self._permitted(host, port)
        resolved = self._clock.monotonic()
        if via is None:
            sock, address = await self._reach(addresses, port)
            self._check_peer(sock, address, port)
        else:
            address = min(addresses, key=lambda each: ":" in each)  # many a proxy has no IPv6
            # At most half of the time: what is left may be enough for another proxy.
            seconds = min(self._limits.connect_seconds, seconds / 2)
            sock = await self._through(via, address, port, seconds=seconds)
        connected = self._clock.monotonic()
        return Dialled(sock, address, _ms(resolved - began), _ms(connected - resolved))

    async def _permitted(self, host: str, port: int) -> list[str]:
        addresses = await self._addresses(host)
        if not all(self._permits(address, port) for address in addresses):
            raise _forbidden()
        return addresses[: self._limits.addresses]

    async def _addresses(self, host: str) -> list[str]:
        literal = host.strip("[]")
        if _is_address(literal):
            return [literal]
        now = self._clock.monotonic()
        until, known = self._names.get(host, (now, []))
        if until > now:
            return known
        found = await self._resolve(host)
        self._names.pop(host, None)
        self._names[host] = (now + self._limits.name_kept_seconds, found)
        if len(self._names) > _MOST_NAMES:
            del self._names[next(iter(self._names))]
        return found

    async def _resolve(self, host: str) -> list[str]:
        try:
            async with asyncio.timeout(self._limits.name_seconds):
                found = list(await self._outside.resolve(host))
        except (OSError, UnicodeError):  # TimeoutError is an OSError
            found = []
        if not found:
            raise DialFailed(Code.DNS, "the name of the host could not be resolved")
        return found

    async def _reach(self, addresses: list[str], port: int) -> tuple[socket.socket, str]:
        """Try one after the other; the time for connecting is shared out, so that one dead address does not eat it."""
        ends = self._clock.monotonic() + self._limits.connect_seconds
        timed_out = False
        for place, address in enumerate(addresses):
            share = (ends - self._clock.monotonic()) / (len(addresses) - place)
            try:
                async with asyncio.timeout(share):
                    return await self._outside.connect(address, port), address
            except TimeoutError:
                timed_out = True
            except OSError:
                timed_out = False
        if timed_out:
            raise DialFailed(Code.TIMEOUT, "no connection could be made in time")
        raise DialFailed(Code.CONNECT, "no connection could be made")

    def _check_peer(self, sock: socket.socket, address: str, port: int) -> None:
        try:
            peer = str(sock.getpeername()[0])
        except OSError:
            sock.close()
            raise DialFailed(Code.CONNECT, "no connection could be made") from None
        if ip_address(peer) != ip_address(address) or not self._permits(peer, port):
            sock.close()
            raise _forbidden()

    async def _through(self, via: Proxy, address: str, port: int, *, seconds: float) -> socket.socket:
        """The proxy's own address is the operator's word and not the guard's business; the target has been checked."""
        sock: socket.socket | None = None
        try:
            async with asyncio.timeout(seconds):
                sock = await self._reach_proxy(via)
                await _tunnelled(sock, via, address, port)
        except TargetFailed:
            failed = DialFailed(Code.CONNECT, "no connection could be made through the proxy")
        except ProxyFailed as error:
            failed = _proxy_failed(via, str(error), error.status)
        except TimeoutError:
            # A proxy that takes the call and then is silent may be waiting for the target: that is a gateway's 504.
            failed = _proxy_failed(via, "it did not answer in time", None if sock is None else 504)
        except (OSError, UnicodeError):
            failed = _proxy_failed(via, "it could not be reached")
        else:
            return sock
        raise failed

    async def _reach_proxy(self, via: Proxy) -> socket.socket:
        addresses = [via.host] if _is_address(via.host) else list(await self._outside.resolve(via.host))
        for address in addresses[:-1]:
            try:
                return await self._outside.connect(address, via.port)
            except OSError:
                continue
        if not addresses:
            raise OSError
        return await self._outside.connect(addresses[-1], via.port)


async def _tunnelled(sock: socket.socket, via: Proxy, address: str, port: int) -> None:
    try:
        await tunnel(sock, via, address, port)
    except BaseException:
        sock.close()
        raise


def _proxy_failed(via: Proxy, what: str, status: int | None = None) -> DialFailed:
    return DialFailed(Code.PROXY, f"the proxy {via.name}: {what}", status=status)


def _forbidden() -> DialFailed:
    detail = "the address of this host is not one that may be read: only public addresses are, on ports of the web"
    return DialFailed(Code.GUARD, detail, passing=False)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)
