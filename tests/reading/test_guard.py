"""Which addresses may be dialled. Nothing here opens a connection.

The forbidden ones are taken from every row of the IANA's special-purpose registries for IPv4 and IPv6 (first, last and
middle addresses; those rows as well that the registry calls globally reachable, for they are relays and anycast
services and no web sites), from the multicast and unallocated space, and from what clouds answer to.
"""

import pytest

from emissary.model.errors import SettingsError
from emissary.reading.guard import Guard

_FORBIDDEN = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 168.63.129.16 169.254.0.1
169.254.169.254 192.0.0.9 192.0.0.10 192.0.0.171 192.0.0.255 192.88.99.2 233.252.0.1 172.16.0.1 172.31.255.255
192.0.0.1 192.0.0.8 192.0.0.170 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.168.255.255
192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 ::
::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1
64:ff9b:1::1 100::1 2001::1 2001:1::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:a00:1::
2620:4f:8000::1 3fff::1 5f00::1 fc00::1 fd00::1 fdff:ffff::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1 ff0e::1
4000::1 e000::1 100:0:0:1::1 2001:1::2 2001:1::3 2001:3::1 2001:4:112::1 2001:30::1 2001:1ff:ffff::1 2001:0:7f00:1::1
2002:: 2002:ffff:ffff::1 3fff:fff:ffff::1 1fff:ffff::1 64:ff9b::808:808 ::ffff:0:0 ::808:808 fdff:ffff:ffff::1
""".split()  # noqa: SIM905 - a table reads better

_PUBLIC = """
1.1.1.1 8.8.8.8 9.9.9.9 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255 172.15.255.255
172.32.0.1 168.63.129.15 168.63.129.17 192.0.1.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255
2a00:1450:4001::1 2606:4700:4700::1111 2620:fe::fe 2400:cb00::1 2001:4860:4860::8888 2001:200::1 2003::1 2000::1
2620:4f:7fff::1 3ffe:ffff::1
""".split()  # noqa: SIM905 - a table reads better


@pytest.mark.parametrize("address", _FORBIDDEN)
def test_an_address_that_is_not_the_public_web_is_not_dialled(address: str) -> None:
    assert not Guard().permits(address)


@pytest.mark.parametrize("address", _PUBLIC)
def test_a_public_address_is_dialled(address: str) -> None:
    assert Guard().permits(address)


def test_there_are_enough_of_both_kinds() -> None:
    assert len(set(_FORBIDDEN)) >= 60
    assert len(set(_PUBLIC)) >= 20


_SERVICES = [22, 25, 53, 110, 143, 445, 587, 3306, 5432, 6379, 9042, 11211, 27017]


@pytest.mark.parametrize("port", [0, 1, 7, 21, 23, 6000, 6667, 10080, *_SERVICES])
def test_the_port_of_another_service_is_not_dialled_wherever_it_is(port: int) -> None:
    assert not Guard().permits("1.1.1.1", port)
    assert not Guard(["127.0.0.0/8"]).permits("127.0.0.1", port)


@pytest.mark.parametrize("port", [80, 443, 81, 591, 3000, 4443, 5000, 7733, 8000, 8008, 8080, 8443, 8888, 9000, 49152])
def test_the_ports_on_which_there_are_web_sites_are_dialled(port: int) -> None:
    assert Guard().permits("1.1.1.1", port)


@pytest.mark.parametrize("text", ["", "example.org", "127.1", "0x7f000001", "1.2.3.4.5", "[::1]"])
def test_what_is_not_an_address_is_not_dialled(text: str) -> None:
    assert not Guard().permits(text)


def test_the_operator_may_name_networks_and_opens_no_others() -> None:
    guard = Guard(["127.0.0.0/8", "fd00::/8"])
    assert guard.permits("127.9.9.9")
    assert guard.permits("fd12::1")
    assert not guard.permits("10.0.0.1")
    assert not guard.permits("::1")


def test_a_network_that_is_none_is_named_at_start() -> None:
    with pytest.raises(SettingsError, match="EMISSARY_ALLOW_NETWORKS: 'localhost'"):
        Guard(["localhost"])
