"""`emissary mcp`: a conversation over pipes, as a model's host has it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from served import LOCAL, Emissary, environment

from emissary.testing.web import TestWebProcess


class _Host:
    """Starts the server and speaks to it, a line at a time."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "emissary", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(folder, settings),
        )
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _, told = self._process.communicate(timeout=30)
        assert (self._process.returncode, told) == (0, "")

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        self.say(json.dumps({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}))
        answer: dict[str, Any] = self.hear()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self._count)
        return answer

    def use(self, tool: str, **arguments: Any) -> str:
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert "isError" not in result, result
        (said,) = result["content"]
        assert said["type"] == "text"
        return str(said["text"])


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Host]:
    folder = tmp_path_factory.mktemp("mcp")
    with _Host(folder, {**LOCAL, "EMISSARY_DATA_DIR": str(folder / "data")}) as host:
        yield host


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [("2025-11-25", "2025-11-25"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")],
)
def test_both_agree_on_a_version(host: _Host, asked: str, agreed: str) -> None:
    info = {"name": "test", "version": "1"}
    result = host.ask("initialize", protocolVersion=asked, capabilities={}, clientInfo=info)["result"]
    assert (result["protocolVersion"], result["serverInfo"]["name"]) == (agreed, "emissary")
    assert "tools" in result["capabilities"]
    host.say('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    assert host.ask("ping")["result"] == {}


def test_the_tools_say_what_they_take(host: _Host) -> None:
    tools = {tool["name"]: tool for tool in host.ask("tools/list")["result"]["tools"]}
    assert set(tools) == {"scrape", "read", "map", "crawl", "batch", "status", "results", "cancel", "more"}
    for tool in tools.values():
        schema = tool["inputSchema"]
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert set(schema["required"]) <= set(schema["properties"])
        assert tool["description"]


def test_a_page_is_read_and_read_again_by_its_id(host: _Host, web: TestWebProcess) -> None:
    said = host.use("scrape", url=web.host_url(1, "/small"), formats=["text"])
    assert "outcome: page ok" in said
    assert "A small page" in said
    name = said.splitlines()[0].removeprefix("id: ")
    assert "A small page" in host.use("read", id=name)


def test_a_refusal_is_said_with_its_reason(host: _Host, web: TestWebProcess) -> None:
    said = host.use("scrape", url=web.url("closed", "/prices"))
    assert "status: refused" in said
    assert "robots" in said


def test_a_long_answer_is_cut_and_the_cursor_leads_on(host: _Host, web: TestWebProcess) -> None:
    parts = [host.use("map", url=web.url("longlisted", "/"), sitemap="only", limit=2_000)]
    while "characters more: call more with cursor '" in parts[-1]:
        assert 20_000 < len(parts[-1]) < 20_100
        text, _, rest = parts.pop().rpartition("\n[")
        parts += [text, host.use("more", cursor=rest.split("'")[1])]
    assert len(parts) > 2
    first, *pages = "".join(parts).splitlines()
    assert first.startswith("2000 pages")
    assert len(set(pages)) == 2_000
    assert set(pages) <= {web.url("longlisted", f"/leaf/{number}") for number in range(5_001)}


def test_many_pages_are_read_in_the_background(host: _Host, web: TestWebProcess) -> None:
    said = host.use("batch", urls=[web.host_url(2, f"/page/{number}") for number in range(3)] + ["nonsense"])
    assert "completed: 3 of 3 pages" in said
    assert "not accepted: nonsense: invalid_url" in said
    name = said.split()[0]
    results = host.use("results", id=name)
    assert results.count("\nstatus: completed") == 3
    assert "These were the last." in results
    assert "completed" in host.use("status", id=name)


def test_a_site_is_mapped_and_crawled(host: _Host, web: TestWebProcess) -> None:
    assert host.use("map", url=web.url("news", "/"), limit=3).startswith("3 pages, there may be more")
    said = host.use("crawl", url=web.url("news", "/"), limit=12, waitSeconds=60)
    name, pages, after = said.split()[0], 0, ""
    for _ in range(20):
        results = host.use("results", id=name, after=after)
        pages += results.count("\noutcome: page ok")
        if "There is more" not in results:
            break
        after = results.rpartition("and after '")[2].split("'")[0]
    assert pages >= 12


def test_the_lists_of_a_crawl_are_not_counted_as_pages_that_came(host: _Host, web: TestWebProcess) -> None:
    said = host.use("crawl", url=web.url("news", "/"), limit=4, waitSeconds=60)
    assert "pages and lists of pages have ended, 4 pages came" in said


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("scrape", {}, "needs url"),
        ("scrape", {"url": "ftp://a/"}, "invalid_url"),
        ("scrape", {"url": "http://127.0.0.1/", "stealth": True}, "does not take stealth"),
        ("status", {"id": 7}, "id is a string"),
        ("status", {"id": "bat_1"}, "not_found"),
        ("batch", {"urls": "http://a/"}, "list"),
        ("status", {"id": "bat_1", "waitSeconds": 10_000}, "waitSeconds"),
        ("more", {"cursor": "9:9"}, "invalid_cursor"),
        ("more", {}, "invalid_cursor"),
    ],
)
def test_a_mistake_is_told_so_that_the_model_can_mend_it(
    host: _Host, tool: str, arguments: dict[str, Any], named: str
) -> None:
    result = host.ask("tools/call", name=tool, arguments=arguments)["result"]
    assert result["isError"] is True
    assert named in result["content"][0]["text"]


def test_what_is_no_request_is_an_error_of_the_protocol(host: _Host) -> None:
    assert host.ask("tools/call", name="steal")["error"]["code"] == -32602
    assert host.ask("resources/list")["error"]["code"] == -32601
    host.say("garbage")
    assert host.hear()["error"]["code"] == -32700
    host.say('{"jsonrpc": "2.0", "id": 1, "method": 7}')
    assert host.hear()["error"]["code"] == -32600
    host.say('[{"jsonrpc": "2.0", "id": 77, "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/x"}]')
    assert host.hear() == [{"jsonrpc": "2.0", "id": 77, "result": {}}]


def test_a_call_that_is_taken_back_gets_no_answer_and_keeps_nobody_waiting(host: _Host, web: TestWebProcess) -> None:
    slow = {"name": "scrape", "arguments": {"url": web.url("trouble", "/slow?seconds=3")}}
    host.say(json.dumps({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": slow}))
    assert host.ask("ping")["result"] == {}
    taken_back = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}}
    host.say(json.dumps(taken_back))
    assert host.ask("ping")["result"] == {}


def test_it_speaks_for_a_server_as_well(tmp_path: Path, web: TestWebProcess) -> None:
    with (
        Emissary(tmp_path) as server,
        _Host(tmp_path, {"EMISSARY_URL": server.url, "EMISSARY_API_KEY": server.key}) as host,
    ):
        assert "A small page" in host.use("scrape", url=web.host_url(1, "/small"))
