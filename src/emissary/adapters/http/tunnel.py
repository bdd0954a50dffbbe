"""The two handshakes with a proxy, HTTP's CONNECT and SOCKS5 (RFC 1928, 1929), over a connection that is open already.

Always a tunnel, for http as for https: the proxy is given the address that the guard has checked, never the name. And
what the proxy says is said before the site can speak, so that the one is never taken for the other.
"""

import asyncio
import socket
from base64 import b64encode
from ipaddress import ip_address

from emissary.ports.web import Proxy

__all__ = ["ProxyFailed", "TargetFailed", "tunnel"]

_LONGEST_ANSWER = 16 * 1024
_OPEN, _WITH_PASSWORD = 0, 2

# RFC 1928, 6: network unreachable, host unreachable, connection refused, TTL expired. These speak of the target, and a
# target that lets nobody in is no reason to come in by another way.
_ABOUT_THE_TARGET = frozenset({3, 4, 5, 6})


class ProxyFailed(Exception):
    """The proxy did not do its work; `status` is what it said over HTTP."""

    def __init__(self, what: str, status: int | None = None) -> None:
        super().__init__(what)
        self.status = status


class TargetFailed(Exception):
    """The proxy did its work, and the target could not be reached."""


async def tunnel(sock: socket.socket, proxy: Proxy, address: str, port: int) -> None:
    """Have the proxy connect the socket with the address."""
    if proxy.scheme == "http":
        await _connect(sock, proxy, address, port)
    else:
        await _socks5(sock, proxy, address, port)


async def _connect(sock: socket.socket, proxy: Proxy, address: str, port: int) -> None:
    place = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.user is not None:
        secret = b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {secret}")
    await asyncio.get_running_loop().sock_sendall(sock, "\r\n".join([*lines, "", ""]).encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += await _receive(sock, 4096)
        if len(answer) > _LONGEST_ANSWER:
            raise ProxyFailed("its answer has no end")
    version, _, rest = answer.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise ProxyFailed("it does not speak HTTP")
    status = int(rest[:3])
    if not 200 <= status < 300:
        raise ProxyFailed(f"it answered {status}", status)
    if not answer.endswith(b"\r\n\r\n"):
        # Nobody speaks before we do: what comes with the answer is not from the target.
        raise ProxyFailed("it said more than it was asked")


async def _socks5(sock: socket.socket, proxy: Proxy, address: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    methods = bytes([_OPEN]) if proxy.user is None else bytes([_OPEN, _WITH_PASSWORD])
    await loop.sock_sendall(sock, bytes([5, len(methods)]) + methods)
    version, method = await _exactly(sock, 2)
    if version != 5:
        raise ProxyFailed("it does not speak SOCKS5")
    if method == _WITH_PASSWORD and proxy.user is not None:
        await _authenticate(sock, proxy)
    elif method != _OPEN:
        raise ProxyFailed("it wants another authentication")
    target = ip_address(address)
    kind = 1 if target.version == 4 else 4
    await loop.sock_sendall(sock, bytes([5, 1, 0, kind]) + target.packed + port.to_bytes(2, "big"))
    version, reply, _, kind = await _exactly(sock, 4)
    if version != 5:
        raise ProxyFailed("it does not speak SOCKS5")
    if reply in _ABOUT_THE_TARGET:
        raise TargetFailed
    if reply != 0:
        raise ProxyFailed(f"it answered SOCKS error {reply}")
    await _skip_address(sock, kind)


async def _authenticate(sock: socket.socket, proxy: Proxy) -> None:
    user, password = (proxy.user or "").encode(), (proxy.password or "").encode()
    if not 0 < len(user) < 256 or len(password) > 255:
        raise ProxyFailed("its user name or password is too long for SOCKS5")
    said = bytes([1, len(user)]) + user + bytes([len(password)]) + password
    await asyncio.get_running_loop().sock_sendall(sock, said)
    _, refused = await _exactly(sock, 2)
    if refused:
        raise ProxyFailed("it does not accept the user name and password")


async def _skip_address(sock: socket.socket, kind: int) -> None:
    """Where the proxy says it is connected from; of no use to us."""
    if kind == 3:
        (length,) = await _exactly(sock, 1)
    elif kind in (1, 4):
        length = 4 if kind == 1 else 16
    else:
        raise ProxyFailed("it does not speak SOCKS5")
    await _exactly(sock, length + 2)


async def _exactly(sock: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        got += await _receive(sock, count - len(got))
    return got


async def _receive(sock: socket.socket, most: int) -> bytes:
    got = await asyncio.get_running_loop().sock_recv(sock, most)
    if not got:
        raise ProxyFailed("it closed the connection")
    return got
