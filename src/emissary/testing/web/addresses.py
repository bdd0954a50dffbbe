"""Where everything is: the addresses of the named sites and of the numbered hosts, all on one port."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import ClassVar

__all__ = ["Addresses"]

_FIRST_NAMED = IPv4Address("127.0.0.1")
_FIRST_NUMBERED = IPv4Address("127.0.1.1")


@dataclass(frozen=True, slots=True)
class Addresses:
    """Named sites live from 127.0.0.1 on, numbered hosts from 127.0.1.1 on. Nothing here is seen from outside."""

    networks: ClassVar[tuple[str, ...]] = ("127.0.0.0/8",)

    port: int
    sites: dict[str, str]
    hosts: tuple[str, ...]

    @classmethod
    def plan(cls, names: Iterable[str], *, hosts: int, port: int) -> "Addresses":
        """Give every site and host its address."""
        sites = {name: str(_FIRST_NAMED + place) for place, name in enumerate(names)}
        return cls(port, sites, tuple(str(_FIRST_NUMBERED + place) for place in range(hosts)))

    @property
    def every(self) -> tuple[str, ...]:
        """All addresses."""
        return (*self.sites.values(), *self.hosts)

    def origin(self, address: str) -> str:
        return f"http://{address}:{self.port}"

    def url(self, site: str, path: str = "/") -> str:
        """A URL on a named site."""
        return self.origin(self.sites[site]) + path

    def host_url(self, n: int, path: str = "/") -> str:
        """A URL on a numbered host; the first is number 1."""
        if not 1 <= n <= len(self.hosts):
            raise IndexError(f"There are numbered hosts 1 to {len(self.hosts)}, and no {n}.")
        return self.origin(self.hosts[n - 1]) + path
