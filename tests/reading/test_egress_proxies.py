"""Egress through real proxies on this machine."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb
from emissary.model.pages import Reply
from emissary.ports.web import Ask
from emissary.reading.egress import EgressPool, EgressWeb, Strategy
from emissary.reading.guard import Guard
from emissary.reading.urls import parse
from emissary.testing.proxies import TestProxy
from emissary.testing.web import TestWeb


@asynccontextmanager
async def _ten(schemes: tuple[str, ...] = ("http", "socks5")) -> AsyncIterator[list[TestProxy]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(TestProxy.start(f"e{n}", schemes[n % 2], provider=f"p{n % 2}"))
            for n in range(10)
        ]


def _client() -> HttpWeb:
    permits = Guard(["127.0.0.0/8"]).permits
    return HttpWeb(permits=permits, present={"User-Agent": "Emissary/0"}, clock=SystemClock())


@pytest.mark.anyio
@pytest.mark.parametrize("strategy", Strategy)
async def test_ten_real_proxies_share_a_thousand_requests(strategy: Strategy) -> None:
    async with TestWeb.start(hosts=100) as web, _ten() as proxies, _client() as client:
        pool = EgressPool([each.proxy for each in proxies], strategy)
        egress = EgressWeb(client, pool, SystemClock())
        shares: Counter[str] = Counter()
        for n in range(1000):
            found = await egress.ask(Ask(parse(web.host_url(n % 100 + 1, "/small")), 5.0, 100_000))
            assert isinstance(found, Reply)
            shares[found.egress] += 1
    assert len(shares) == 10
    assert all(90 <= share <= 110 for share in shares.values()), shares
    assert all(each.asked for each in proxies)


@pytest.mark.anyio
async def test_a_site_is_asked_from_one_address_whatever_it_says_until_that_proxy_fails() -> None:
    async with TestWeb.start() as web, _ten() as proxies, _client() as client:
        egress = EgressWeb(client, EgressPool([each.proxy for each in proxies]), SystemClock())

        async def way(path: str) -> str:
            found = await egress.ask(Ask(parse(web.url("trouble", path)), 5.0, 100_000))
            assert isinstance(found, Reply), found
            return found.egress

        said = [await way(path) for path in ("/", "/status/403", "/429", "/503", "/status/451", "/status/407", "/")]
        assert len(set(said)) == 1
        used = next(each for each in proxies if each.proxy.name == said[0])
        assert sum(len(each.asked) for each in proxies) == len(used.asked)

    async with TestWeb.start() as web, _ten() as proxies, _client() as client:
        egress = EgressWeb(client, EgressPool([each.proxy for each in proxies]), SystemClock())
        proxies[0].answer = 503  # the proxy itself, this time
        found = await egress.ask(Ask(parse(web.url("trouble", "/status/403")), 5.0, 100_000))
        assert isinstance(found, Reply)
        assert (found.status, found.egress) == (403, "e1")
        assert (len(proxies[0].asked), len(proxies[1].asked)) == (1, 1)
        assert len(web.seen.of("trouble")) == 1  # the site was asked once
