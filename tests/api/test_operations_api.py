"""How the installation is, its headers, and its own description: all without a key."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from served import Answer, Emissary
from within import ask_within

from emissary import __version__
from emissary.api.app import create_app
from emissary.api.services import PartHealth
from emissary.compose import open_app
from emissary.settings import load_settings
from emissary.testing.web import TestWebProcess

_CAREFUL = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}

_PROBLEM = "application/problem+json"


def check_headers(answer: Answer) -> None:
    for name, value in _CAREFUL.items():
        assert answer.headers[name] == value
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "server" not in answer.headers


def test_it_says_that_it_is_alive(server: Emissary) -> None:
    answer = server.ask("GET", "/healthz")
    assert (answer.status, answer.kind) == (200, "application/json")
    assert answer.json() == {"status": "ok", "version": __version__}


def test_it_says_how_each_part_is(server: Emissary) -> None:
    answer = server.ask("GET", "/readyz")
    told = answer.json()
    assert answer.status == 200
    assert told["parts"]["store"] == {"status": "ok", "reason": None}
    assert set(told["parts"]) == {"store", "disk", "http", "browser"}
    for part in told["parts"].values():
        assert part["status"] == "ok" or part["reason"]


def test_a_browser_that_nobody_set_up_does_not_make_the_whole_degraded(
    server: Emissary, start: Callable[..., Emissary]
) -> None:
    assert server.ask("GET", "/readyz").json()["status"] == "ok"
    wanting = start(EMISSARY_CHROMIUM="/usr/bin/chromium").ask("GET", "/readyz")
    assert (wanting.status, wanting.json()["status"]) == (200, "degraded")
    assert wanting.json()["parts"]["browser"] == server.ask("GET", "/readyz").json()["parts"]["browser"]
    assert "no browser" in wanting.json()["parts"]["browser"]["reason"]


def test_its_figures_count_by_route_and_not_by_path(server: Emissary, web: TestWebProcess) -> None:
    server.get("/v1/jobs/job_of_nobody")
    server.get("/nowhere/at/all")
    server.scrape(web.host_url(1, "/small"))
    answer = server.ask("GET", "/metrics")
    assert (answer.status, answer.kind) == (200, "text/plain")
    figures = answer.body.decode()
    assert 'emissary_api_requests_total{route="/v1/jobs/{job}",status="404"}' in figures
    assert 'emissary_api_requests_total{route="/v1/scrape",status="200"}' in figures
    assert 'emissary_api_requests_total{route="unknown",status="404"}' in figures
    assert 'emissary_visits_total{code="ok",kind="page"}' in figures
    assert "job_of_nobody" not in figures
    assert "/nowhere" not in figures


def test_it_describes_itself_in_openapi_31(server: Emissary) -> None:
    answer = server.ask("GET", "/openapi.json")
    document = answer.json()
    assert (answer.status, answer.kind) == (200, "application/json")
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["version"] == __version__
    assert {"/v1/scrape", "/v1/jobs/{job}", "/healthz", "/readyz", "/metrics"} <= set(document["paths"])


def test_the_description_promises_no_answer_that_is_never_given(server: Emissary) -> None:
    document = server.ask("GET", "/openapi.json").json()
    operations = [(path, *pair) for path, item in document["paths"].items() for pair in item.items()]
    for path, method, operation in operations:
        assert operation["operationId"]
        for status, answer in operation["responses"].items():
            assert status != "422" or method == "post", "an Idempotency-Key with another body, and nothing else"
            if int(status) >= 400 and operation["operationId"] != "readyz_readyz_get":
                assert list(answer["content"]) == ["application/json" if path.startswith("/v2/") else _PROBLEM]
    assert "ValidationError" not in json.dumps(document)


def test_every_reference_in_the_description_leads_somewhere(server: Emissary) -> None:
    document = server.ask("GET", "/openapi.json").json()
    for reference in _references(document):
        place: Any = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def _references(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in _references(value)]
    return [found for value in node for found in _references(value)] if isinstance(node, list) else []


def test_the_reference_is_a_page_without_scripts(server: Emissary) -> None:
    answer = server.ask("GET", "/docs")
    page = answer.body.decode()
    assert (answer.status, answer.kind) == (200, "text/html")
    assert "/v1/scrape" in page
    assert "onlyMainContent" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/docs"),
        ("GET", "/nope"),
        ("PUT", "/v1/scrape"),
        ("POST", "/v1/scrape"),
        ("GET", "/v1/jobs/job_x"),
    ],
)
def test_every_answer_asks_browsers_to_be_careful(server: Emissary, method: str, path: str) -> None:
    check_headers(server.ask(method, path))


def test_answers_with_a_page_and_refused_bodies_ask_for_care_too(server: Emissary, web: TestWebProcess) -> None:
    check_headers(server.post("/v1/scrape", {"url": web.host_url(1, "/small")}))
    check_headers(server.post("/v1/scrape", {"url": "nonsense"}))
    check_headers(server.ask("POST", "/v1/scrape", b" " * (11 * 1024 * 1024), {"Content-Type": "application/json"}))


@pytest.mark.anyio
async def test_an_error_of_our_own_is_a_problem_that_gives_nothing_away(tmp_path: Path) -> None:
    async def broken() -> list[PartHealth]:
        raise RuntimeError("the password is hunter2")

    async with open_app(load_settings(data_dir=tmp_path)) as app:
        answer = await ask_within(create_app(replace(app.services, health=broken)), "/readyz")
    assert (answer.status, answer.kind) == (500, "application/problem+json")
    assert answer.json()["code"] == "internal"
    assert b"hunter2" not in answer.body
    check_headers(answer)
