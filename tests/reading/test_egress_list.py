"""The operator's list of proxies."""

import pytest

from emissary.model.errors import SettingsError
from emissary.reading.egress_list import read_proxies


def test_the_list_is_read() -> None:
    first, second = read_proxies(
        [
            {"name": "fra-1", "url": "http://me:p%40ss%3A@proxy.example:3128", "provider": "acme", "region": "de"},
            {"url": "socks5://[2001:db8::1]:1081", "labels": ["slow"]},
        ]
    )
    assert (first.name, first.scheme, first.host, first.port) == ("fra-1", "http", "proxy.example", 3128)
    assert (first.user, first.password, first.provider, first.region) == ("me", "p@ss:", "acme", "de")
    assert (second.name, second.scheme, second.host, second.port) == ("egress-2", "socks5", "2001:db8::1", 1081)
    assert second.labels == {"slow"}
    assert (second.user, second.password) == (None, None)


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({}, "the url of egress-1"),
        ({"url": "https://proxy.example"}, "http:// or socks5://"),
        ({"url": "socks4://proxy.example"}, "http:// or socks5://"),
        ({"url": "http://me:hunter22@proxy.example/path"}, "after its port"),
        ({"url": "http://me:hunter22@"}, "the url of egress-1"),
        ({"url": "http://p.example", "name": "direct"}, "direct"),
        ({"url": "http://p.example", "name": "a b"}, "characters"),
        ({"url": "http://p.example", "labels": "slow"}, "labels"),
        ({"url": "http://p.example", "weight": 3}, "'weight'"),
    ],
)
def test_what_is_wrong_in_the_list_is_named_and_no_password_is_shown(entry: dict[str, object], what: str) -> None:
    with pytest.raises(SettingsError, match="EMISSARY_EGRESS") as error:
        read_proxies([entry])
    assert what in str(error.value)
    assert "hunter22" not in str(error.value)


def test_two_of_one_name_are_named() -> None:
    with pytest.raises(SettingsError, match="two proxies named 'a'"):
        read_proxies([{"name": "a", "url": "http://p.example"}] * 2)
