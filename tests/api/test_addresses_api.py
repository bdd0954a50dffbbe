"""Names in the query that a route does not know are told, and not passed over."""

import json
from typing import Any

import pytest
from served import Emissary

_PAGE = "http://nowhere.invalid/"


def _document(server: Emissary) -> dict[str, Any]:
    found: dict[str, Any] = server.get("/openapi.json").json()
    return found


def _codes(server: Emissary, method: str, path: str, body: object = None) -> tuple[int, Any]:
    headers = {**server.authority, **({} if body is None else {"Content-Type": "application/json"})}
    answer = server.ask(method, path, None if body is None else json.dumps(body).encode(), headers)
    return answer.status, answer.json()


def test_every_list_names_what_it_does_not_know(server: Emissary) -> None:
    paths = [path for path, item in _document(server)["paths"].items() if path.startswith("/v1/") and "get" in item]
    lists = [path for path in paths if "{" not in path]
    assert {"/v1/jobs", "/v1/usage", "/v1/account", "/v1/webhooks", "/v1/keys", "/v1/admin/accounts"} == set(lists)
    for path in lists:
        status, told = _codes(server, "GET", f"{path}?colour=red&zeal=1")
        assert (status, told["code"]) == (400, "unknown_field"), (path, told)
        assert "`colour`, `zeal`" in told["detail"]


def test_it_says_what_there_is_instead(server: Emissary) -> None:
    _, told = _codes(server, "GET", "/v1/usage?frm=2030-01-01")
    assert told["detail"] == (
        "the query has `frm`, which this route does not know; it takes `after`, `by`, `from`, `limit`, `to`"
    )
    assert "it takes nothing" in _codes(server, "GET", "/v1/account?by=day")[1]["detail"]


@pytest.mark.parametrize("path", ["/items", "/results", "/errors", "/events", ""])
def test_what_is_in_a_batch_is_not_asked_for_by_an_unknown_name_either(server: Emissary, path: str) -> None:
    batch = _codes(server, "POST", "/v1/batch", {"urls": [_PAGE]})[1]["id"]
    status, told = _codes(server, "GET", f"/v1/batch/{batch}{path}?state=failed")
    assert (status, told["code"]) == (400, "unknown_field")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/scrape?formats=text", {"url": _PAGE, "async": True}),
        ("/v1/batch?formats=text", {"urls": [_PAGE]}),
        ("/v1/crawl?limit=1", {"url": _PAGE}),
        ("/v1/keys?name=a", {"name": "a"}),
    ],
)
def test_options_are_not_passed_over_where_they_stand_in_the_wrong_place(
    server: Emissary, path: str, body: object
) -> None:
    status, told = _codes(server, "POST", path, body)
    assert (status, told["code"]) == (400, "unknown_field"), told


def test_the_other_format_is_lenient(server: Emissary) -> None:
    assert _codes(server, "GET", "/v2/team/queue-status?colour=red")[0] == 200


def test_whoever_has_no_key_is_told_of_that_first(server: Emissary) -> None:
    assert server.ask("GET", "/v1/jobs?colour=red").status == 401


def test_the_document_says_so_of_every_route(server: Emissary) -> None:
    for path, item in _document(server)["paths"].items():
        for operation in item.values() if path.startswith("/v1/") else ():
            assert "application/problem+json" in operation["responses"]["400"]["content"], path
