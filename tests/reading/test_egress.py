"""By which way a request leaves, who rests when, and that a site's refusal changes nothing about it."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from emissary.model.pages import Code, Reply, Timings, Unreachable
from emissary.ports.web import Ask, Proxy
from emissary.reading.egress import EgressPool, EgressWeb, Resting, Strategy
from emissary.reading.urls import parse
from emissary.testing.clock import FakeClock

_NOW = datetime(2030, 1, 1, tzinfo=UTC)


def _proxy(name: str, *, provider: str = "p", region: str = "") -> Proxy:
    return Proxy(name, "http", "192.0.2.1", 3128, provider=provider, region=region)


def _pool(count: int = 3, strategy: Strategy = Strategy.ROUND_ROBIN) -> EgressPool:
    """Each of another provider, so that no breaker is in the way."""
    return EgressPool([_proxy(f"e{n}", provider=f"p{n}") for n in range(count)], strategy)


def _name(choice: Proxy | Resting | None) -> str:
    assert isinstance(choice, Proxy), choice
    return choice.name


def _use(pool: EgressPool, now: datetime = _NOW, *, worked: bool | None = True, **wishes: str) -> str:
    choice = pool.choose(now, **wishes)  # type: ignore[arg-type]
    assert isinstance(choice, Proxy)
    pool.done(choice, now, worked=worked)
    return choice.name


def _after(**time: float) -> datetime:
    return _NOW + timedelta(**time)


# Choosing


def test_without_proxies_everything_leaves_directly() -> None:
    pool = EgressPool()
    assert pool.is_direct
    assert pool.choose(_NOW) is None


@pytest.mark.parametrize("strategy", Strategy)
def test_ten_proxies_get_a_tenth_each(strategy: Strategy) -> None:
    pool = _pool(10, strategy)
    shares = Counter(_use(pool) for _ in range(1000))
    assert len(shares) == 10
    assert all(90 <= share <= 110 for share in shares.values())


def test_the_least_loaded_is_taken() -> None:
    pool = _pool(3, Strategy.LEAST_LOADED)
    busy = [_name(pool.choose(_NOW)) for _ in range(3)]
    assert sorted(busy) == ["e0", "e1", "e2"]
    idle = next(each.proxy for each in pool.look(_NOW) if each.proxy.name == "e1")
    pool.done(idle, _NOW, worked=True)
    assert _name(pool.choose(_NOW)) == "e1"


def test_one_that_comes_back_is_not_flooded() -> None:
    pool = _pool(2)
    for _ in range(3):
        _fail(pool, "e0")
    for _ in range(100):
        _use(pool, _after(seconds=1))
    later = Counter(_use(pool, _after(minutes=6)) for _ in range(100))
    assert later["e0"] == later["e1"] == 50


def test_a_session_keeps_its_egress() -> None:
    pool = _pool(5)
    mine = _use(pool, session="mine")
    others = {_use(pool) for _ in range(20)}
    assert len(others) == 5
    assert {_use(pool, session="mine") for _ in range(20)} == {mine}


def test_a_session_goes_on_by_the_egress_it_had_in_another_process() -> None:
    pool = _pool()
    pool.resume("mine", "e2")
    pool.resume("yours", "gone")
    assert {_use(pool, session="mine") for _ in range(5)} == {"e2"}
    assert _use(pool, session="yours") in {"e0", "e1", "e2"}
    pool.resume("mine", "e0")
    assert _use(pool, session="mine") == "e2"


def test_a_session_whose_egress_rests_gets_another_and_keeps_that() -> None:
    pool = _pool(3)
    mine = _use(pool, session="mine")
    for _ in range(3):
        _use(pool, session="mine", worked=False)
    other = _use(pool, session="mine")
    assert other != mine
    assert {_use(pool, _after(hours=1), session="mine") for _ in range(10)} == {other}


def test_the_region_is_a_wish() -> None:
    pool = EgressPool([_proxy("de", region="de", provider="a"), _proxy("us", region="us", provider="b")])
    assert {_use(pool, region="de") for _ in range(5)} == {"de"}
    for _ in range(3):
        _fail(pool, "de")
    assert {_use(pool, region="de") for _ in range(5)} == {"us"}
    assert {_use(pool, _after(minutes=6), region="de") for _ in range(5)} == {"de"}
    assert _use(pool, region="fr") in {"de", "us"}


# Health


def _fail(pool: EgressPool, name: str, now: datetime = _NOW, *, site: str | None = None) -> None:
    others = [each.proxy.name for each in pool.look(now) if each.proxy.name != name]
    choice = pool.choose(now, without=others)
    assert isinstance(choice, Proxy)
    pool.done(choice, now, worked=False, site=site)


def test_three_failures_in_a_row_are_a_rest_of_five_minutes() -> None:
    pool = _pool(1)
    for _ in range(2):
        _fail(pool, "e0")
    assert isinstance(pool.choose(_NOW), Proxy)
    _fail(pool, "e0")
    assert pool.choose(_after(seconds=299)) == Resting(_after(minutes=5))
    assert isinstance(pool.choose(_after(minutes=5)), Proxy)


def test_a_success_in_between_restores() -> None:
    pool = _pool(1)
    for _ in range(5):
        _fail(pool, "e0")
        _fail(pool, "e0")
        for _ in range(5):  # so many that its provider is not in question
            _use(pool)
    assert isinstance(pool.choose(_NOW), Proxy)


def test_one_that_fails_again_after_its_rest_rests_again() -> None:
    pool = _pool(1)
    for _ in range(3):
        _fail(pool, "e0")
    _fail(pool, "e0", _after(minutes=5))
    assert pool.choose(_after(minutes=6)) == Resting(_after(minutes=10))


def test_what_says_nothing_about_the_proxy_changes_nothing() -> None:
    pool = _pool(1)
    for _ in range(50):
        _use(pool, worked=None)
    _fail(pool, "e0")
    _fail(pool, "e0")
    _use(pool, worked=None)
    _fail(pool, "e0")
    assert isinstance(pool.choose(_NOW), Resting)


def test_one_dead_site_does_not_take_the_pool_down() -> None:
    """Over HTTP a proxy says 502 for a target that is down as for its own trouble: one site counts once in a row."""
    pool = _pool(1)
    for _ in range(20):
        _fail(pool, "e0", site="dead.example")
    assert isinstance(pool.choose(_NOW), Proxy)
    _fail(pool, "e0", site="b.example")
    _fail(pool, "e0", site="c.example")
    assert isinstance(pool.choose(_NOW), Resting)


def test_when_all_rest_it_says_until_when_the_first_does() -> None:
    pool = _pool(2)
    for _ in range(3):
        _fail(pool, "e0")
    for _ in range(3):
        _fail(pool, "e1", _after(seconds=20))
    assert pool.choose(_after(seconds=30)) == Resting(_after(minutes=5))


# Providers


def _two_providers(count: int = 20) -> EgressPool:
    return EgressPool([_proxy(f"{provider}{n}", provider=provider) for provider in ("a", "b") for n in range(count)])


def test_ten_failures_of_a_provider_are_a_rest_of_half_a_minute_for_all_of_it() -> None:
    pool = _two_providers()
    for n in range(9):
        _fail(pool, f"a{n}")
    assert any(_use(pool, worked=None).startswith("a") for _ in range(40))
    _fail(pool, "a9")
    assert all(_use(pool, _after(seconds=29)).startswith("b") for _ in range(40))
    assert any(_use(pool, _after(seconds=30)).startswith("a") for _ in range(40))


def test_half_of_what_a_provider_did_in_a_minute_is_enough() -> None:
    pool = _two_providers()
    for n in range(5):
        _work(pool, f"a{n}")
        _fail(pool, f"a{n + 5}")
    assert all(_use(pool, worked=None).startswith("b") for _ in range(40))


def _work(pool: EgressPool, name: str, now: datetime = _NOW) -> None:
    others = [each.proxy.name for each in pool.look(now) if each.proxy.name != name]
    choice = pool.choose(now, without=others)
    assert isinstance(choice, Proxy)
    pool.done(choice, now, worked=True)


def test_less_than_half_is_not() -> None:
    pool = _two_providers()
    for n in range(60):
        _work(pool, f"a{n % 20}")
        _work(pool, f"a{n % 20}")
        _fail(pool, f"a{n % 20}")
    assert any(_use(pool, worked=None).startswith("a") for _ in range(40))


def test_what_was_a_minute_ago_does_not_count() -> None:
    pool = _two_providers()
    for n in range(5):
        _fail(pool, f"a{n}")
    _work(pool, "a6", _after(seconds=30))
    for n in range(4):
        _fail(pool, f"a{n + 10}", _after(seconds=61))
    assert any(_use(pool, _after(seconds=62), worked=None).startswith("a") for _ in range(40))


def test_proxies_of_no_named_provider_do_not_share_one() -> None:
    pool = EgressPool([_proxy(f"e{n}", provider="") for n in range(20)])
    for n in range(12):
        _fail(pool, f"e{n}")
    assert isinstance(pool.choose(_NOW), Proxy)


# The web through the pool


class _FakeWeb:
    """Keeps the promise of `ports.web.Web`; answers what a test has said for each egress."""

    def __init__(self, answer: Callable[[Ask], Reply | Unreachable]) -> None:
        self._answer = answer
        self.asks: list[Ask] = []

    async def ask(self, ask: Ask) -> Reply | Unreachable:
        self.asks.append(ask)
        return self._answer(ask)


def _reply(ask: Ask, status: int = 200) -> Reply:
    name = ask.via.name if ask.via else "direct"
    return Reply(status, {}, b"", "192.0.2.9", "1.1", Timings(1, 1), 0, egress=name)


def _broken(ask: Ask, status: int | None = None) -> Unreachable:
    return Unreachable(ask.url, Code.PROXY, "the proxy is broken", http_status=status)


def _ask(n: int = 0, **more: object) -> Ask:
    return Ask(parse(f"http://site{n}.example/"), 10.0, 1000, **more)  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_without_a_pool_the_web_is_used_as_it_is() -> None:
    web = _FakeWeb(_reply)
    found = await EgressWeb(web, EgressPool(), FakeClock()).ask(_ask())
    assert isinstance(found, Reply)
    assert found.egress == "direct"


@pytest.mark.anyio
@pytest.mark.parametrize("status", [401, 403, 407, 429, 451, 500, 502, 503, 504])
async def test_a_refusal_of_the_site_never_changes_the_egress(status: int) -> None:
    pool = _pool(5)
    web = _FakeWeb(lambda ask: _reply(ask, status))
    egress = EgressWeb(web, pool, FakeClock())
    for _ in range(50):
        assert isinstance(await egress.ask(_ask()), Reply)
    assert len({ask.via for ask in web.asks}) == 1
    assert len(web.asks) == 50  # and nothing was tried twice
    assert all(each.resting_until is None and each.failures == 0 for each in pool.look(_NOW))


@pytest.mark.anyio
@pytest.mark.parametrize("code", [code for code in Code if code not in (Code.PROXY, Code.OK)])
async def test_nor_does_anything_else_that_is_not_the_proxys(code: Code) -> None:
    web = _FakeWeb(lambda ask: Unreachable(ask.url, code, "no"))
    pool = _pool(5)
    egress = EgressWeb(web, pool, FakeClock())
    for _ in range(20):
        await egress.ask(_ask())
    assert len({ask.via for ask in web.asks}) == 1
    assert len(web.asks) == 20
    assert all(each.failures == 0 for each in pool.look(_NOW))


@pytest.mark.anyio
async def test_an_error_of_the_proxy_does() -> None:
    web = _FakeWeb(lambda ask: _broken(ask) if ask.via and ask.via.name == "e0" else _reply(ask))
    egress = EgressWeb(web, _pool(3), FakeClock())
    names = []
    for _ in range(10):
        found = await egress.ask(_ask())
        assert isinstance(found, Reply)
        names.append(found.egress)
    assert set(names) == {"e1"}  # the site has moved there, and stays
    assert [ask.via.name for ask in web.asks if ask.via].count("e0") == 1


@pytest.mark.anyio
async def test_three_ways_are_tried_and_no_more() -> None:
    web = _FakeWeb(_broken)
    found = await EgressWeb(web, _pool(9), FakeClock()).ask(_ask())
    assert isinstance(found, Unreachable)
    assert found.code is Code.PROXY
    assert len({ask.via for ask in web.asks}) == len(web.asks) == 3


@pytest.mark.anyio
async def test_when_all_rest_nothing_is_sent_and_nothing_leaves_directly() -> None:
    web, clock = _FakeWeb(_broken), FakeClock()
    egress = EgressWeb(web, _pool(2), clock)
    for n in range(3):
        await egress.ask(_ask(n))
    web.asks.clear()
    found = await egress.ask(_ask(9))
    assert isinstance(found, Unreachable)
    assert (found.code, found.passing, web.asks) == (Code.PROXY, True, [])
    assert found.back_at == clock.now() + timedelta(minutes=5)
    assert "2030-01-01T00:05:00+00:00" in found.detail


@pytest.mark.anyio
async def test_whoever_was_asked_in_vain_is_not_taken_for_somebody_who_was_not_asked() -> None:
    egress = EgressWeb(_FakeWeb(_broken), _pool(1), FakeClock())
    for n in range(3):
        found = await egress.ask(_ask(n))
        assert isinstance(found, Unreachable)
        assert found.back_at is None


@pytest.mark.anyio
async def test_the_time_of_all_tries_adds_up() -> None:
    clock = FakeClock()

    def slow(ask: Ask) -> Unreachable:
        clock.advance(4)
        return _broken(ask)

    web = _FakeWeb(slow)
    await EgressWeb(web, _pool(9), clock).ask(_ask())
    assert [ask.timeout for ask in web.asks] == [10.0, 6.0, 2.0]


@pytest.mark.anyio
async def test_a_named_session_wins_over_the_site_and_a_named_egress_over_both() -> None:
    web = _FakeWeb(_reply)
    egress = EgressWeb(web, _pool(5), FakeClock())
    for n in range(5):
        await egress.ask(_ask(n, session="mine"))
    assert len({ask.via for ask in web.asks}) == 1
    chosen = _proxy("chosen")
    found = await egress.ask(_ask(0, via=chosen))
    assert isinstance(found, Reply)
    assert found.egress == "chosen"
