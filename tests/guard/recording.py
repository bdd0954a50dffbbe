"""An outside that is none: names come from a table, and whoever is dialled is written down and never called."""

import socket
from collections.abc import Callable, Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Outside
from emissary.model.pages import Code, Unreachable
from emissary.ports.web import Ask
from emissary.reading.guard import Guard
from emissary.reading.urls import parse

# The special-purpose registries of the IANA (iana-ipv4-special-registry, iana-ipv6-special-registry), the multicast
# and unallocated space, and what of it an operator's network could answer to. Written from the registries, and not
# from the guard, whose judgement it is to check.
_SPECIAL: tuple[IPv4Network | IPv6Network, ...] = tuple(
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/3", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
        *("4000::/2", "8000::/1"),  # all that is not 2000::/3
    )
)


def is_special(address: str) -> bool:
    """Whether the IANA has set the address aside for something else than the public internet."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return True
    return any(ip.version == network.version and ip in network for network in _SPECIAL)


class Recording:
    """Keeps every address that was dialled and every name that was looked up."""

    def __init__(self, names: dict[str, list[str]] | None = None) -> None:
        self.names = names or {}
        self.dialled: list[tuple[str, int]] = []
        self.looked_up: list[str] = []

    @property
    def outside(self) -> Outside:
        return Outside(resolve=self._resolve, connect=self._connect)

    async def _resolve(self, name: str) -> list[str]:
        self.looked_up.append(name)
        plain = name.rstrip(".").lower()
        if plain == "localhost" or plain.endswith(".localhost"):
            return ["127.0.0.1", "::1"]
        if plain in self.names:
            return self.names[plain]
        try:
            # The resolvers of this world read 0177.1 and 2130706433, so this one does, too.
            return [socket.inet_ntoa(socket.inet_aton(plain))]
        except OSError:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None

    async def _connect(self, address: str, port: int) -> socket.socket:
        self.dialled.append((address, port))
        raise ConnectionRefusedError

    def client(
        self,
        permits: Callable[[str, int], bool] | None = None,
    ) -> HttpWeb:
        return HttpWeb(
            permits=permits or Guard().permits,
            present={"User-Agent": "Emissary/0 (+https://bot.example/)"},
            clock=SystemClock(),
            outside=self.outside,
        )


async def code_of(client: HttpWeb, url: str) -> Code:
    """How an ask ends that cannot reach anybody."""
    found = await client.ask(Ask(parse(url), 5.0, 1000))
    assert isinstance(found, Unreachable), found
    return found.code


def forbidden(dialled: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return [(address, port) for address, port in dialled if is_special(address)]
