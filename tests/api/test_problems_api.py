"""What is wrong with a request is said with the right status, a stable code, and a sentence that names the place."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from served import Answer, Emissary

from emissary.model.errors import PROBLEMS

_PAGE = "http://127.0.0.1:9/"
_JSON = {"Content-Type": "application/json"}
_SECRET = "whsec_" + base64.b64encode(b"s" * 24).decode()
_HOOK = {"url": _PAGE, "secret": _SECRET}


def check_problem(answer: Answer, code: str) -> dict[str, Any]:
    """The answer is the problem of this code, in every detail that callers rely on."""
    problem: dict[str, Any] = answer.json()
    assert problem["code"] == code, problem
    assert answer.kind == "application/problem+json"
    assert answer.status == problem["status"] == PROBLEMS[code].status
    assert problem["type"] == f"urn:emissary:problem:{code}"
    assert problem["title"] == PROBLEMS[code].title
    assert problem["detail"].strip()
    return problem


@pytest.mark.parametrize(
    ("request_", "code", "named"),
    [
        ({"url": "nonsense"}, "invalid_url", "nonsense"),
        ({"url": ""}, "invalid_url", "absolute"),
        ({"url": "/relative"}, "invalid_url", "/relative"),
        ({"url": "http://"}, "invalid_url", "http://"),
        ({"url": "http://[::1/"}, "invalid_url", "[::1"),
        ({"url": "http://a b/"}, "invalid_url", "a b"),
        ({"url": "http://127.0.0.1:99999/"}, "invalid_url", "99999"),
        ({"url": f"http://{'a' * 60}.{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}/"}, "invalid_url", "host"),
        ({"url": "ftp://example.org/"}, "invalid_url", "ftp"),
        ({"url": "file:///etc/passwd"}, "invalid_url", "file"),
        ({"url": "javascript:alert(1)"}, "invalid_url", "javascript"),
        ({"url": "http://me:secret@example.org/"}, "invalid_url", "user name or password"),
        ({"url": 7}, "invalid_request", "/url"),
        ({"url": None}, "invalid_request", "/url"),
        ({"url": ["http://x/"]}, "invalid_request", "/url"),
        ({"url": _PAGE + "x" * 9000}, "invalid_request", "/url"),
        ({}, "invalid_request", "/url"),
        ([], "invalid_request", "the body"),
        (None, "invalid_request", "the body"),
        ("http://x/", "invalid_request", "the body"),
        ({"url": _PAGE, "colour": "red"}, "unknown_field", "/colour"),
        ({"url": _PAGE, "only_main_content": False}, "unknown_field", "/only_main_content"),
        ({"url": _PAGE, "asynchronous": True}, "unknown_field", "/asynchronous"),
        ({"url": _PAGE, "a/b~c": 1}, "unknown_field", "/a~1b~0c"),
        ({"url": _PAGE, "webhook": {**_HOOK, "retries": 3}}, "unknown_field", "/webhook/retries"),
        ({"url": _PAGE, "formats": ["markdown", "word"]}, "unknown_format", "/formats/1"),
        ({"url": _PAGE, "formats": "markdown"}, "invalid_request", "/formats"),
        ({"url": _PAGE, "formats": []}, "invalid_request", "/formats"),
        ({"url": _PAGE, "formats": ["markdown"] * 21}, "invalid_request", "/formats"),
        ({"url": _PAGE, "formats": [7]}, "unknown_format", "/formats/0"),
        ({"url": _PAGE, "timeoutMs": "1000"}, "invalid_request", "/timeoutMs"),
        ({"url": _PAGE, "timeoutMs": 99}, "invalid_request", "/timeoutMs"),
        ({"url": _PAGE, "timeoutMs": 300_001}, "invalid_request", "/timeoutMs"),
        ({"url": _PAGE, "timeoutMs": 1000.5}, "invalid_request", "/timeoutMs"),
        ({"url": _PAGE, "timeoutMs": None}, "invalid_request", "/timeoutMs"),
        ({"url": _PAGE, "maxAge": True}, "invalid_request", "/maxAge"),
        ({"url": _PAGE, "maxAge": -1}, "invalid_request", "/maxAge"),
        ({"url": _PAGE, "async": 1}, "invalid_request", "/async"),
        ({"url": _PAGE, "async": "yes"}, "invalid_request", "/async"),
        ({"url": _PAGE, "onlyMainContent": "no"}, "invalid_request", "/onlyMainContent"),
        ({"url": _PAGE, "priority": "interactive"}, "invalid_request", "/priority"),
        ({"url": _PAGE, "engine": "telepathy"}, "invalid_request", "/engine"),
        ({"url": _PAGE, "engine": "browser"}, "engine_unavailable", "browser"),
        ({"url": _PAGE, "metadata": {str(n): n for n in range(51)}}, "invalid_request", "/metadata"),
        ({"url": _PAGE, "metadata": ["a"]}, "invalid_request", "/metadata"),
        ({"url": _PAGE, "formats": ["fields"]}, "invalid_fields", "needs a schema"),
        ({"url": _PAGE, "fields": {}}, "invalid_fields", "names no field"),
        ({"url": _PAGE, "fields": {"price": {"css": "div[["}}}, "invalid_fields", "price.css"),
        ({"url": _PAGE, "fields": {"price": {"xpath": "//["}}}, "invalid_fields", "price.xpath"),
        ({"url": _PAGE, "fields": {"price": {"css": "p", "typ": "number"}}}, "invalid_fields", "price"),
        ({"url": _PAGE, "fields": {"price": {"css": "p", "type": "money"}}}, "invalid_fields", "price"),
        ({"url": _PAGE, "fields": {"items": {"css": "li", "list": {"a": {"css": "]"}}}}}, "invalid_fields", "items.a"),
        ({"url": _PAGE, "fields": ["p"]}, "invalid_request", "/fields"),
        ({"url": _PAGE, "webhook": {"url": "ftp://x/", "secret": _SECRET}}, "invalid_url", "ftp"),
        ({"url": _PAGE, "webhook": {"url": _PAGE}}, "invalid_request", "/webhook/secret"),
        ({"url": _PAGE, "webhook": {"url": _PAGE, "secret": "hush"}}, "invalid_request", "/webhook/secret"),
        ({"url": _PAGE, "webhook": {"url": _PAGE, "secret": "whsec_" + "A" * 33}}, "invalid_request", "/webhook/secr"),
        ({"url": _PAGE, "webhook": "whk_1"}, "invalid_request", "/webhook: Input should be the id of one of"),
        ({"url": _PAGE, "webhook": 7}, "invalid_request", "/webhook: Input should be the id of one of"),
    ],
)
def test_a_request_that_cannot_be_right_is_refused_and_the_place_is_named(
    server: Emissary, request_: object, code: str, named: str
) -> None:
    problem = check_problem(server.post("/v1/scrape", request_), code)
    assert named in problem["detail"]


def test_all_faults_are_told_at_once(server: Emissary) -> None:
    problem = check_problem(server.post("/v1/scrape", {"url": 1, "timeoutMs": 1, "colour": 1}), "invalid_request")
    assert {fault["pointer"] for fault in problem["errors"]} == {"/url", "/timeoutMs", "/colour"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "invalid_json"),
        (b"{'url': 'http://x/'}", "invalid_json"),
        (b'{"url": "http://x/"} trailing', "invalid_json"),
        (b'{"url": "\xff"}', "invalid_json"),
        (b'{"url": "http://x/", "metadata": {"a": NaN}}', "invalid_json"),
        (b'{"url": "http://x/", "metadata": {"a": "\\ud800"}}', "invalid_json"),
        (b'{"url": "http://x/", "fields": {"a": {"css": "\\udfff"}}}', "invalid_json"),
        (b'{"url": "http://x/", "metadata": {"a": ' + b"1" * 5000 + b"}}", "invalid_json"),
        (b"[" * 200_000, "invalid_json"),
        (b'{"url": "http://x/", "metadata": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}", "invalid_request"),
        (b"", "invalid_request"),
        (b" ", "invalid_json"),
    ],
)
def test_a_body_that_is_not_json_is_refused(server: Emissary, body: bytes, code: str) -> None:
    check_problem(server.ask("POST", "/v1/scrape", body, {**server.authority, **_JSON}), code)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "text/json", "nonsense", ""])
def test_a_body_of_another_type_is_refused(server: Emissary, kind: str) -> None:
    headers = {**server.authority, "Content-Type": kind}
    body = json.dumps({"url": _PAGE}).encode()
    check_problem(server.ask("POST", "/v1/scrape", body, headers), "unsupported_media_type")


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "Application/JSON", "application/merge-patch+json"]
)
def test_json_may_be_called_by_its_other_names(server: Emissary, kind: str) -> None:
    headers = {**server.authority, "Content-Type": kind}
    body = json.dumps({"url": _PAGE}).encode()
    assert server.ask("POST", "/v1/scrape", body, headers).status == 200


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "missing_key"),
        ({"Authorization": ""}, "missing_key"),
        ({"Authorization": "Basic YTpi"}, "missing_key"),
        ({"Authorization": "Bearer"}, "missing_key"),
        ({"Authorization": "Bearer em_live_wrong"}, "invalid_key"),
        ({"Authorization": "Bearer \xe9"}, "invalid_key"),
        ({"Authorization": "Bearer ' OR 1=1 --"}, "invalid_key"),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/scrape"), ("GET", "/v1/jobs/job_x"), ("DELETE", "/v1/jobs/job_x")]
)
def test_nothing_is_done_without_a_key(
    *, server: Emissary, method: str, path: str, headers: Mapping[str, str], code: str
) -> None:
    body = json.dumps({"url": _PAGE}).encode() if method == "POST" else None
    answer = server.ask(method, path, body, {**_JSON, **headers})
    check_problem(answer, code)
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_key_that_is_nearly_right_opens_nothing(server: Emissary) -> None:
    for key in (server.key[:-1], server.key + "x", server.key.swapcase()):
        check_problem(server.ask("GET", "/v1/jobs/x", headers={"Authorization": f"Bearer {key}"}), "invalid_key")


@pytest.mark.parametrize(
    "path", ["/", "/nope", "/v1", "/v1/", "/v1/scrape/", "/healthz/", "/v3/scrape", "/v1/jobs/a/b"]
)
def test_a_route_that_is_not_there_is_a_problem_too(server: Emissary, path: str) -> None:
    problem = check_problem(server.get(path), "not_found")
    assert path in problem["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/scrape", "POST"),
        ("PUT", "/v1/scrape", "POST"),
        ("OPTIONS", "/v1/scrape", "POST"),
        ("POST", "/v1/jobs/job_x", "DELETE, GET"),
        ("TRACE", "/v1/jobs/job_x", "DELETE, GET"),
        ("DELETE", "/healthz", "GET"),
    ],
)
def test_a_method_that_a_route_does_not_take_is_refused_with_those_it_takes(
    server: Emissary, method: str, path: str, allowed: str
) -> None:
    answer = server.ask(method, path, headers=server.authority)
    check_problem(answer, "method_not_allowed")
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("job", ["job_01M7Q10BPGQ3PX2R8A59FP5Y7K", "x", "%00", "%ff", "a%20b", "'--", "x" * 3000])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_job_that_never_was_is_not_found(server: Emissary, method: str, job: str) -> None:
    check_problem(server.ask(method, f"/v1/jobs/{job}", headers=server.authority), "not_found")


@pytest.mark.parametrize("key", ["right", "none"])
def test_a_body_that_says_it_is_too_large_is_refused_and_the_answer_arrives(server: Emissary, key: str) -> None:
    headers = {**(server.authority if key == "right" else {}), **_JSON}
    answer = server.ask("POST", "/v1/scrape", b" " * (11 * 1024 * 1024), headers)
    check_problem(answer, "body_too_large")


def test_a_body_that_does_not_say_how_large_it_is_is_refused_on_the_way(server: Emissary) -> None:
    connection = server.connect()
    try:
        connection.request("POST", "/v1/scrape", _pieces(11), {**server.authority, **_JSON}, encode_chunked=True)
        got = connection.getresponse()
        answer = Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
    finally:
        connection.close()
    check_problem(answer, "body_too_large")


def test_the_connection_can_be_used_again_after_a_body_that_was_too_large(server: Emissary) -> None:
    connection = server.connect()
    try:
        connection.request("POST", "/v1/scrape", b" " * (11 * 1024 * 1024), {**server.authority, **_JSON})
        first = connection.getresponse()
        first.read()
        connection.request("GET", "/healthz")
        second = connection.getresponse()
        second.read()
    finally:
        connection.close()
    assert (first.status, second.status) == (413, 200)


def test_a_body_just_below_the_limit_is_read(server: Emissary) -> None:
    body = json.dumps({"url": "nonsense"}).encode().ljust(10 * 1024 * 1024)
    check_problem(server.ask("POST", "/v1/scrape", body, {**server.authority, **_JSON}), "invalid_url")


def _pieces(mib: int) -> Iterator[bytes]:
    for _ in range(mib * 16):
        yield b" " * 65_536
