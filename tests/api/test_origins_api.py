"""Pages of other origins ask from a browser: those that the operator has named, and no others."""

from collections.abc import Callable, Iterator

import pytest
from served import LOCAL, Answer, Emissary

_ORIGIN = "https://app.example"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emissary]:
    with Emissary(
        tmp_path_factory.mktemp("opened"), {**LOCAL, "EMISSARY_API_ORIGINS": f"{_ORIGIN}, https://b.example"}
    ) as server:
        yield server


def _may_i(server: Emissary, origin: str, method: str = "POST") -> Answer:
    asked = {"Access-Control-Request-Method": method}
    asked["Access-Control-Request-Headers"] = "authorization,content-type,idempotency-key"
    return server.ask("OPTIONS", "/v1/scrape", headers={"Origin": origin, **asked})


def test_a_browser_is_told_that_the_page_may_ask(opened: Emissary) -> None:
    told = _may_i(opened, _ORIGIN)
    assert told.status == 200
    assert told.headers["access-control-allow-origin"] == _ORIGIN
    assert {"POST", "GET", "PATCH", "DELETE"} == set(told.headers["access-control-allow-methods"].split(", "))
    allowed = told.headers["access-control-allow-headers"].split(", ")
    assert {"Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"} <= set(allowed)
    assert "access-control-allow-credentials" not in told.headers


def test_the_page_can_read_the_answer_and_what_is_left_of_its_rate(opened: Emissary) -> None:
    for path, status in (("/v1/account", 200), ("/v1/nowhere", 404), ("/v1/account?colour=red", 400)):
        told = opened.ask("GET", path, headers={**opened.authority, "Origin": _ORIGIN})
        assert told.status == status
        assert told.headers["access-control-allow-origin"] == _ORIGIN
        shown = set(told.headers["access-control-expose-headers"].split(", "))
        assert shown == {"RateLimit", "RateLimit-Policy", "Retry-After", "Idempotent-Replayed"}
        assert told.headers["vary"] == "Origin"


def test_a_page_of_another_origin_may_not(opened: Emissary) -> None:
    told = _may_i(opened, "https://c.example")
    assert told.status == 400
    assert "access-control-allow-origin" not in told.headers
    answer = opened.ask("GET", "/v1/account", headers={**opened.authority, "Origin": "https://c.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_nobody_may_unless_it_is_set(server: Emissary) -> None:
    told = _may_i(server, _ORIGIN)
    assert told.status == 405
    assert not any(name.startswith("access-control") for name in told.headers)


def test_all_may_where_the_operator_says_so(start: Callable[..., Emissary]) -> None:
    assert _may_i(start(EMISSARY_API_ORIGINS="*"), "https://c.example").headers["access-control-allow-origin"] == "*"
