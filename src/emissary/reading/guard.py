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

# Where other services than the web's listen. First the ports that browsers do not open (the Fetch standard's list);
# they protect against requests that a mail server or a printer would understand. Then databases, caches, queues,
# remote desktops and the control ports of machines, which speak to whoever reaches them.
_NOT_THE_WEB = frozenset(
    {0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109}
    | {110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530}
    | {531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045}
    | {4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
    | {138, 445, 873, 1080, 1433, 1434, 1521, 1883, 2181, 2375, 2376, 2379, 2380, 3128, 3260, 3268, 3306, 3389, 4369}
    | {5432, 5671, 5672, 5900, 5901, 6379, 6380, 6432, 8883, 9042, 9092, 9300, 10250, 11211, 26379, 27017}
    | {27018, 27019, 33060}
)


class Guard:
    """Permits public addresses, and the networks the operator has named in EMISSARY_ALLOW_NETWORKS.

    On every address, those ports are closed on which something else than the web is at home.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = tuple(_network(text) for text in allowed)

    def permits(self, address: str, port: int = 443) -> bool:
        """Whether a connection to the address may be opened."""
        if port in _NOT_THE_WEB:
            return False
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
