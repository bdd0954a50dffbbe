"""Batches over HTTP: taken in as JSON or line by line, seen, read out, steered, and shown to nobody else."""

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any

import pytest
from batching import accepted, begin, counted, ended, result_lines, results, steer, stream
from served import Answer, Emissary, asked, until
from watching import as_another_account

from emissary.testing.web import TestWebProcess

_NOWHERE = "bat_00000000000000000000000000"
_NONE_LEFT_OUT = {"excludedCount": 0, "excluded": []}


def _pages(web: TestWebProcess, host: int, count: int, *, start: int = 1) -> list[str]:
    return [web.host_url(host, f"/page/{k}") for k in range(start, start + count)]


def test_a_batch_of_json_is_read_and_every_page_is_found_in_it(server: Emissary, web: TestWebProcess) -> None:
    urls = [*_pages(web, 2, 3), *_pages(web, 3, 3)]
    answer = server.post("/v1/batch", {"urls": urls, "formats": ["text"], "name": "six"})
    assert answer.status == 202
    told = answer.json()
    assert told["id"].startswith("bat_")
    assert {**told, "id": ""} == {
        "id": "",
        "accepted": 6,
        "duplicates": 0,
        "invalidCount": 0,
        "invalid": [],
        **_NONE_LEFT_OUT,
    }
    batch = ended(server, told["id"])
    assert (batch["status"], batch["name"], batch["total"], batch["creditsUsed"]) == ("completed", "six", 6, 6)
    assert counted(batch) == {"completed": 6}
    assert batch["pagesPerSecond"] > 0
    assert batch["eta"] is None
    assert batch["createdAt"] <= batch["finishedAt"]
    found = results(server, told["id"])
    assert {each["url"] for each in found} == set(urls)
    assert sorted(each["index"] for each in found) == list(range(6))
    for each in found:
        assert (each["status"], each["attempts"], each["outcome"]["code"]) == ("completed", 1, "ok")
        assert each["document"]["text"]
        assert each["receipt"]["robots"]
        assert server.job(each["id"])["document"] == each["document"]


def test_a_batch_of_lines_has_its_options_in_the_first_line_and_metadata_in_each(
    server: Emissary, web: TestWebProcess
) -> None:
    lines = [
        {"formats": ["metadata"], "name": "lines"},
        *({"url": url, "metadata": {"n": n}} for n, url in enumerate(_pages(web, 2, 3))),
    ]
    batch = accepted(_send(server, lines))["id"]
    assert ended(server, batch)["name"] == "lines"
    found = {each["metadata"]["n"]: each for each in results(server, batch)}
    assert sorted(found) == [0, 1, 2]
    assert all("metadata" in each["document"] and "markdown" not in each["document"] for each in found.values())


def test_options_of_lines_may_be_in_the_query(server: Emissary, web: TestWebProcess) -> None:
    query = "?formats=text,links&onlyMainContent=false&name=asked&maxAge=0"
    batch = accepted(_send(server, [web.host_url(2, "/small")], query))["id"]
    assert ended(server, batch)["name"] == "asked"
    (only,) = results(server, batch)
    assert {"text", "links"} <= only["document"].keys()


@pytest.mark.parametrize(
    ("query", "first", "code"),
    [
        ("?fomats=text", None, "unknown_field"),
        ("?formats=paper", None, "unknown_format"),
        ("?maxAge=soon", None, "invalid_request"),
        ("?name=a&name=b", None, "invalid_request"),
        ("", {"dedupe": "perhaps"}, "invalid_request"),
        ("", {"engine": "browser"}, "engine_unavailable"),
    ],
)
def test_options_that_cannot_be_used_are_refused_before_anything_is_taken_in(
    server: Emissary, web: TestWebProcess, *, query: str, first: dict[str, Any] | None, code: str
) -> None:
    lines = [*([first] if first else []), web.host_url(2, "/small")]
    answer = _send(server, lines, query)
    assert (answer.status, answer.json()["code"]) == (400, code)


def test_duplicates_are_read_once_and_what_is_wrong_is_named_by_its_line(server: Emissary, web: TestWebProcess) -> None:
    good = web.host_url(2, "/small")
    lines = [good, '{"url": ', json.dumps({"url": good}), "not a url", '{"url": 7}', good + "#part", '"' + good + '?a"']
    body = "\n".join([*lines, "", "  "]).encode()
    told = accepted(_lines(server, body))
    assert (told["accepted"], told["duplicates"], told["invalidCount"]) == (2, 2, 3)
    assert told["invalid"] == [
        {"index": 1, "url": '{"url":', "code": "invalid_json"},
        {"index": 3, "url": "not a url", "code": "invalid_url"},
        {"index": 4, "url": '{"url": 7}', "code": "invalid_request"},
    ]
    assert counted(ended(server, told["id"])) == {"completed": 2}


def test_lines_are_counted_from_the_first_page_and_not_from_the_options(server: Emissary, web: TestWebProcess) -> None:
    told = accepted(_send(server, [{"formats": ["text"]}, "nonsense", web.host_url(2, "/small"), "nonsense"]))
    assert [fault["index"] for fault in told["invalid"]] == [0, 2]


def test_a_line_that_is_too_long_is_named_by_its_number(server: Emissary) -> None:
    page = b"http://nowhere.invalid/"
    answer = _lines(server, b"\n".join([b'{"name":"long"}', b"", page, page + b"a" * 65_536, page]))
    assert answer.status == 400
    assert answer.json()["detail"] == "line 4 of the body is too long: send lines of at most 65,536 bytes"


def test_without_dedupe_a_page_is_read_as_often_as_it_is_named(server: Emissary, web: TestWebProcess) -> None:
    url = web.host_url(2, "/small")
    batch = begin(server, [url, url], dedupe="none")
    assert counted(ended(server, batch)) == {"completed": 2}


def test_with_dedupe_over_copies_nobody_is_asked_for_what_was_read_before(
    server: Emissary, web: TestWebProcess
) -> None:
    url = web.url("shop", "/product/77")
    assert server.scrape(url)["status"] == "completed"
    before = asked(web, url)
    batch = ended(server, begin(server, [url], dedupe="cache"))
    assert counted(batch) == {"completed": 1, "cached": 1}
    assert asked(web, url) == before


@pytest.mark.parametrize("body", [b"", b"\n\n", b"nonsense\n{\n", b'{"formats": ["text"]}\n'])
def test_a_batch_of_nothing_is_refused(server: Emissary, body: bytes) -> None:
    answer = _lines(server, body)
    assert (answer.status, answer.json()["code"]) == (400, "empty_batch")


def test_lines_may_come_to_more_than_other_bodies_and_json_may_not(server: Emissary) -> None:
    line = b'{"url": "ftp://a.example/", "metadata": {"filling": "' + b"x" * 50_000 + b'"}}\n'
    answer = _lines(server, line * 250)  # 12 MB, and no page that could be read
    assert (answer.status, answer.json()["code"]) == (400, "empty_batch")
    large = {**server.authority, "Content-Type": "application/json", "Content-Length": str(11 * 1024 * 1024)}
    answer = server.ask("POST", "/v1/batch", b"", large)
    assert (answer.status, answer.json()["code"]) == (413, "body_too_large")


def test_a_line_without_end_is_refused(server: Emissary) -> None:
    answer = _lines(server, b'{"url": "' + b"x" * 70_000)
    assert (answer.status, answer.json()["code"]) == (400, "invalid_request")
    assert "65,536" in answer.json()["detail"]


def test_lines_need_a_key_before_any_is_read(server: Emissary) -> None:
    answer = server.ask("POST", "/v1/batch", b"x\n", {"Content-Type": "application/x-ndjson"})
    assert (answer.status, answer.json()["code"]) == (401, "missing_key")


def test_other_kinds_of_body_are_refused(server: Emissary) -> None:
    answer = server.ask("POST", "/v1/batch", b"a,b", {**server.authority, "Content-Type": "text/csv"})
    assert (answer.status, answer.json()["code"]) == (415, "unsupported_media_type")


def test_results_come_in_pages_that_overlap_nowhere(server: Emissary, web: TestWebProcess) -> None:
    batch = begin(server, _pages(web, 4, 7))
    ended(server, batch)
    whole = results(server, batch)
    pages, after = [], ""
    while after is not None:
        page = server.get(f"/v1/batch/{batch}/results?limit=3&after={after}").json()
        pages.append(page["data"])
        after = page["next"]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [each["id"] for page in pages for each in page] == [each["id"] for each in whole]


def test_a_stream_of_results_that_was_cut_goes_on_behind_the_last_cursor(server: Emissary, web: TestWebProcess) -> None:
    batch = begin(server, _pages(web, 4, 6))
    ended(server, batch)
    whole = result_lines(server, batch)
    assert len({each["id"] for each in whole}) == 6
    with closing(stream(server, batch)) as lines:
        first, second = json.loads(next(lines)), json.loads(next(lines))
    rest = result_lines(server, batch, after=second["cursor"])
    assert [first, second, *rest] == whole
    assert result_lines(server, batch, after=whole[-1]["cursor"]) == []


@pytest.mark.parametrize("path", ["items?after=x", "items?after=99999999999999", "errors?after=-1", "results?after=x"])
@pytest.mark.parametrize("accept", ["*/*", "application/x-ndjson"])
def test_a_cursor_that_is_none_is_refused(server: Emissary, web: TestWebProcess, path: str, accept: str) -> None:
    batch = begin(server, [web.host_url(2, "/small")])
    answer = server.ask("GET", f"/v1/batch/{batch}/{path}", headers={**server.authority, "Accept": accept})
    assert (answer.status, answer.json()["code"]) == (400, "invalid_cursor")


def test_items_are_listed_by_state_and_errors_apart(server: Emissary, web: TestWebProcess) -> None:
    urls = [web.host_url(2, "/small"), web.url("closed", "/prices"), web.url("trouble", "/pdf")]
    batch = begin(server, urls)
    ended(server, batch)
    items = server.get(f"/v1/batch/{batch}/items").json()
    assert [(each["index"], each["url"], each["status"]) for each in items["data"]] == [
        (0, urls[0], "completed"),
        (1, urls[1], "refused"),
        (2, urls[2], "failed"),
    ]
    assert items["next"] is None
    errors = server.get(f"/v1/batch/{batch}/errors").json()["data"]
    assert [(each["url"], each["outcome"]["code"]) for each in errors] == [
        (urls[1], "robots"),
        (urls[2], "bad_content"),
    ]
    refused = server.get(f"/v1/batch/{batch}/items?status=refused").json()["data"]
    assert [each["url"] for each in refused] == [urls[1]]
    first = server.get(f"/v1/batch/{batch}/items?limit=2").json()
    second = server.get(f"/v1/batch/{batch}/items?limit=2&after={first['next']}").json()
    assert [*first["data"], *second["data"]] == items["data"]
    assert second["next"] is None


def test_a_paused_batch_begins_nothing_until_it_is_resumed(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server, urls = start(EMISSARY_HOST_GAP="0.01"), _pages(web, 5, 300)
    batch = begin(server, urls)
    paused = steer(server, batch, "pause")
    assert (paused.status, paused.json()["status"]) == (200, "paused")
    # What was in hand ends, and then nothing follows: the host is asked only for what others want.
    until(lambda: not server.get(f"/v1/batch/{batch}").json()["counts"]["active"])
    before = asked(web, urls[0])
    assert server.scrape(web.host_url(5, "/small"))["status"] == "completed"
    assert asked(web, urls[0]) == before + 1
    seen = server.get(f"/v1/batch/{batch}").json()
    assert seen["counts"]["waiting"] > 0
    assert seen["eta"] is None
    assert steer(server, batch, "resume").json()["status"] == "running"
    assert counted(ended(server, batch)) == {"completed": 300}


def test_a_cancelled_batch_ends_at_once_and_cannot_be_steered(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server = start(EMISSARY_HOST_GAP="30")
    batch = begin(server, _pages(web, 6, 10))
    answer = server.ask("DELETE", f"/v1/batch/{batch}", headers=server.authority)
    assert (answer.status, answer.json()["status"]) == (200, "cancelled")
    seen = server.get(f"/v1/batch/{batch}").json()
    assert seen["counts"]["cancelled"] + seen["counts"]["completed"] == 10
    assert seen["finishedAt"]
    for verb in ("pause", "resume", "retry"):
        refused = steer(server, batch, verb)
        assert (refused.status, refused.json()["code"]) == (409, "batch_finished")
    again = server.ask("DELETE", f"/v1/batch/{batch}", headers=server.authority)
    assert (again.status, again.json()["code"]) == (409, "batch_finished")


def test_what_failed_or_was_refused_is_read_once_more_when_one_says_so(server: Emissary, web: TestWebProcess) -> None:
    batch = begin(server, [web.url("trouble", "/pdf"), web.url("closed", "/prices"), web.host_url(2, "/small")])
    assert counted(ended(server, batch)) == {"completed": 1, "refused": 1, "failed": 1}
    before = asked(web, web.url("trouble"))
    answer = steer(server, batch, "retry")
    assert (answer.status, answer.json()) == (200, {"id": batch, "again": 1})
    assert counted(ended(server, batch)) == {"completed": 1, "refused": 1, "failed": 1}
    assert asked(web, web.url("trouble")) > before
    assert server.post(f"/v1/batch/{batch}/retry", {"only": "refused"}).json()["again"] == 1
    assert counted(ended(server, batch)) == {"completed": 1, "refused": 1, "failed": 1}
    bad = server.post(f"/v1/batch/{batch}/retry", {"only": "completed"})
    assert (bad.status, bad.json()["code"]) == (400, "invalid_request")


def test_another_account_s_batch_answers_exactly_like_one_that_never_was(server: Emissary, web: TestWebProcess) -> None:
    batch = begin(server, [web.host_url(2, "/small")])
    stranger = as_another_account(server, "batches")
    asks = [("GET", ""), ("GET", "/items"), ("GET", "/results"), ("GET", "/errors"), ("DELETE", "")]
    for method, path in [*asks, ("POST", "/pause"), ("POST", "/resume"), ("POST", "/retry")]:
        theirs = stranger.ask(method, f"/v1/batch/{batch}{path}", headers=stranger.authority)
        nobodys = stranger.ask(method, f"/v1/batch/{_NOWHERE}{path}", headers=stranger.authority)
        assert (theirs.status, nobodys.status) == (404, 404), path
        assert theirs.body.replace(batch.encode(), b"") == nobodys.body.replace(_NOWHERE.encode(), b"")
    assert server.get(f"/v1/crawl/{batch}").status == 404
    assert counted(ended(server, batch)) == {"completed": 1}


def test_a_batch_whose_lines_break_off_is_cancelled(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_HOST_GAP="30")
    lines = "".join(f"{url}\n" for url in _pages(web, 6, 2_500)).encode()
    with closing(server.connect()) as connection:
        connection.putrequest("POST", "/v1/batch")
        for name, value in {**server.authority, "Content-Type": "application/x-ndjson"}.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(lines) + 1_000))
        connection.endheaders(lines)
        until(lambda: _in_the_store(server))
    (batch,) = _in_the_store(server)
    assert until(lambda: _state(server, batch) == "cancelled")
    assert server.get(f"/v1/batch/{batch}").json()["counts"]["waiting"] == 0


def _state(server: Emissary, batch: str) -> str:
    return str(server.get(f"/v1/batch/{batch}").json()["status"])


def _in_the_store(server: Emissary) -> list[str]:
    """Nobody was told the name of a batch that broke off, so the file is asked."""
    with closing(sqlite3.connect(server.database)) as connection:
        return [name for (name,) in connection.execute("SELECT id FROM batches").fetchall()]


def _send(server: Emissary, lines: Iterable[object], query: str = "") -> Answer:
    body = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    return _lines(server, body.encode(), query)


def _lines(server: Emissary, body: bytes, query: str = "") -> Answer:
    headers = {**server.authority, "Content-Type": "application/x-ndjson"}
    return server.ask("POST", f"/v1/batch{query}", body, headers)


@pytest.mark.parametrize("verb", ["cancel", "pause"])
def test_a_site_is_left_alone_soon_after_its_batch_was_halted(
    start: Callable[..., Emissary], web: TestWebProcess, verb: str
) -> None:
    server, urls = start(EMISSARY_HOST_GAP="0.4"), _pages(web, 7, 100)
    batch, before = begin(server, urls), asked(web, urls[0])
    until(lambda: asked(web, urls[0]) > before)
    if verb == "cancel":
        server.ask("DELETE", f"/v1/batch/{batch}", headers=server.authority)
    else:
        steer(server, batch, verb)
    halted_at = asked(web, urls[0])
    until(lambda: b"emissary_lanes_held 0.0" in server.ask("GET", "/metrics").body)
    assert asked(web, urls[0]) - halted_at <= 6, "two seconds hold no more"
