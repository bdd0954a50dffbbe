"""PostgreSQL keeps no NUL in a text: wherever one is sent, on every route, it is told and never a fault of ours."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from served import Emissary

from emissary.api.app import create_app
from emissary.telemetry.metrics import Metrics

_PAGE = "http://nowhere.invalid/"
_PREFIXES = {
    "/v1/webhooks": "whk_",
    "/v1/keys": "key_",
    "/v1/jobs": "job_",
    "/v1/receipts": "rec_",
    "/v1/documents": "doc_",
    "/v1/batch": "bat_",
    "/v1/crawl": "crl_",
    "/v2/batch/scrape": "bat_",
    "/v2/crawl": "crl_",
    "/v1/admin/accounts": "acc_",
}
# What a route needs before it looks at an id.
_BODIES: dict[str, object] = {
    "POST /v1/admin/accounts/{account}/keys": {"name": "a way in"},
    "POST /v1/webhooks/{webhook}/replay": {"since": "2020-01-01T00:00:00Z"},
}
_TEXTS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/scrape", {"url": _PAGE, "session": "a\0"}),
    ("/v1/scrape", {"url": _PAGE, "webhook": "whk_\0"}),
    ("/v1/scrape", {"url": _PAGE, "formats": ["text\0"]}),
    ("/v1/scrape", {"url": "http://a\0.invalid/"}),
    ("/v1/batch", {"urls": [_PAGE], "name": "a\0"}),
    ("/v1/batch", {"urls": [_PAGE], "session": "a\0"}),
    ("/v1/batch", {"urls": ["\0"]}),
    ("/v1/crawl", {"url": _PAGE, "name": "a\0"}),
    ("/v1/crawl", {"url": "\0"}),
    ("/v1/map", {"url": "\0"}),
    ("/v1/plan", {"url": "\0"}),
    ("/v1/keys", {"name": "a\0"}),
    ("/v1/webhooks", {"url": "https://hooks.invalid/", "description": "a\0"}),
    ("/v1/webhooks", {"url": "https://hooks\0.invalid/"}),
    ("/v1/admin/accounts", {"name": "a\0"}),
    ("/bot/opt-out", {"host": "shop\0.invalid"}),
    ("/v2/scrape", {"url": "\0"}),
    ("/v2/batch/scrape", {"urls": ["\0"], "ignoreInvalidURLs": False}),
    ("/v2/crawl", {"url": "\0"}),
    ("/v2/map", {"url": "\0"}),
]


@pytest.fixture
def cluster(start: Callable[..., Emissary], database_url: str, objects_url: str) -> Emissary:
    return start(EMISSARY_DATABASE_URL=database_url, EMISSARY_OBJECTS_URL=objects_url)


def _operations() -> list[tuple[str, str, list[str]]]:
    """Every method and path that asks for a key, with the names of the texts in its query, as the document has them."""
    bare = SimpleNamespace(version="0", metrics=Metrics(), clock=None)
    document = create_app(bare).openapi()  # type: ignore[arg-type]
    return [
        (method.upper(), path, [each["name"] for each in operation.get("parameters", ()) if _is_free(each)])
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if "security" in operation
    ]


def _is_free(parameter: dict[str, Any]) -> bool:
    schemas = parameter["schema"].get("anyOf", [parameter["schema"]])
    return parameter["in"] == "query" and any(each.get("type") == "string" for each in schemas)


def _with_nul(path: str) -> str:
    """The path with ids in it that nothing has, the last of them with a NUL."""
    folder, _, rest = path.partition("/{")
    return f"{folder}/{_PREFIXES[folder]}%00{rest.partition('}')[2].replace('{key}', 'key_%00')}"


def _ask(server: Emissary, method: str, path: str, body: object, **headers: str) -> tuple[int, Any]:
    given = {**server.authority, "Content-Type": "application/json", **headers}
    answer = server.ask(method, path, json.dumps(body).encode() if method in ("POST", "PATCH") else None, given)
    return answer.status, answer.json()


def test_nothing_has_an_id_with_a_nul(cluster: Emissary) -> None:
    for method, path, _ in _operations():
        if "{" in path:
            body = _BODIES.get(f"{method} {path}", {})
            keyed = {"Idempotency-Key": "once"} if method == "POST" else {}
            status, told = _ask(cluster, method, _with_nul(path), body, **keyed)
            assert (status, told["code"]) == (404, "not_found"), (method, path, told)


def test_no_query_has_a_nul_in_it(cluster: Emissary) -> None:
    asked = [(method, path, name) for method, path, names in _operations() if "{" not in path for name in names]
    assert {("GET", "/v1/jobs", "host"), ("GET", "/v1/jobs", "batch"), ("GET", "/v1/webhooks", "after")} <= set(asked)
    for method, path, name in asked:
        for value in ("%00", "bat_%00"):
            status, told = _ask(cluster, method, f"{path}?{name}={value}", {})
            assert (status, told["code"]) in {(400, "invalid_request"), (400, "invalid_cursor")}, (path, name, told)


def test_no_text_that_is_kept_has_a_nul_in_it(cluster: Emissary) -> None:
    for path, body in _TEXTS:
        status, told = _ask(cluster, "POST", path, body)
        assert status == 400, (path, body, told)
    account = cluster.post("/v1/admin/accounts", {"name": "Ann"}).json()["id"]
    webhook = cluster.post("/v1/webhooks", {"url": "https://hooks.invalid/"}).json()["id"]
    for method, path, body in (
        ("PATCH", f"/v1/admin/accounts/{account}", {"name": "a\0"}),
        ("POST", f"/v1/admin/accounts/{account}/keys", {"name": "a\0"}),
        ("PATCH", f"/v1/webhooks/{webhook}", {"description": "a\0"}),
        ("POST", f"/v1/webhooks/{webhook}/replay", {"delivery": "job_\0"}),
    ):
        status, told = _ask(cluster, method, path, body)
        assert status in {400, 404}, (path, body, told)


def test_what_is_kept_as_it_is_may_have_one(cluster: Emissary) -> None:
    lines = (
        b'{"name":"kept"}\n{"url":"http://nowhere.invalid/","metadata":{"a\\u0000":"b\\u0000"}}\nhttp://a.invalid/\0\n'
    )
    answer = cluster.ask("POST", "/v1/batch", lines, {**cluster.authority, "Content-Type": "application/x-ndjson"})
    assert answer.status == 202, answer.body
    items = cluster.get(f"/v1/batch/{answer.json()['id']}/items").json()["data"]
    assert items[0]["metadata"] == {"a\0": "b\0"}
    own = {"metadata": {"a\0": "b\0"}, "fields": {"a\0": {"css": "p\0"}}}
    assert cluster.post("/v1/scrape", {"url": _PAGE, "async": True, **own}).status == 202
    assert cluster.post("/bot/opt-out", {"host": "shop.invalid", "contact": "a\0", "reason": "b\0"}).status == 200
