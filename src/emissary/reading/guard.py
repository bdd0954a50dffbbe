"""Which addresses may be dialled: an allow-rule on the address itself, never on the string that led to it."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from emissary.model.errors import SettingsError

__all__ = ["Guard"]

Network = IPv4Network | IPv6Network

_GLOBAL_UNICAST = IPv6Network("2000::/3")

# Public by Python's reckoning, yet not the public web: forms that carry another address inside, relays, multicast,
# and the metadata service of one large cloud.
_NEVER: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "168.63.129.16/32",
        "192.0.0.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "2620:4f:8000::/48",
        "3fff::/20",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "5f00::/16",
        "fec0::/10",
        "ff00::/8",
    )
)


class Guard:
    """Permits public addresses, and the networks the operator has named in EMISSARY_ALLOW_NETWORKS."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = tuple(_network(text) for text in allowed)

    def permits(self, address: str) -> bool:
        """Whether a connection to the address may be opened."""
        try:
            ip = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        return _within(ip, self._allowed) or _is_public(ip)


def _is_public(ip: IPv4Address | IPv6Address) -> bool:
    if isinstance(ip, IPv6Address) and ip not in _GLOBAL_UNICAST:
        return False
    return ip.is_global and not _within(ip, _NEVER)


def _within(ip: IPv4Address | IPv6Address, networks: tuple[Network, ...]) -> bool:
    return any(ip.version == network.version and ip in network for network in networks)


def _network(text: str) -> Network:
    try:
        return ip_network(text.strip())
    except ValueError as error:
        raise SettingsError(
            f"EMISSARY_ALLOW_NETWORKS: {text!r} is not a network such as 127.0.0.0/8: {error}"
        ) from error
