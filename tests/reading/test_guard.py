"""Which addresses may be dialled. Nothing here opens a connection."""

import pytest

from emissary.model.errors import SettingsError
from emissary.reading.guard import Guard

_FORBIDDEN = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 168.63.129.16
169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.8 192.0.0.170 192.0.2.1 192.31.196.1
192.52.193.1 192.88.99.1 192.168.0.1 192.168.255.255 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1
64:ff9b:1::1 100::1 2001::1 2001:1::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:a00:1::
2620:4f:8000::1 3fff::1 5f00::1 fc00::1 fd00::1 fdff:ffff::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1 ff0e::1
4000::1 e000::1
""".split()  # noqa: SIM905 - a table reads better

_PUBLIC = """
1.1.1.1 8.8.8.8 9.9.9.9 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255 172.15.255.255
172.32.0.1 192.0.1.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255 2a00:1450:4001::1
2606:4700:4700::1111 2620:fe::fe 2400:cb00::1 2001:4860:4860::8888
""".split()  # noqa: SIM905 - a table reads better


@pytest.mark.parametrize("address", _FORBIDDEN)
def test_an_address_that_is_not_the_public_web_is_not_dialled(address: str) -> None:
    assert not Guard().permits(address)


@pytest.mark.parametrize("address", _PUBLIC)
def test_a_public_address_is_dialled(address: str) -> None:
    assert Guard().permits(address)


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
