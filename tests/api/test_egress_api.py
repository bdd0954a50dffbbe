"""A server whose only egress is dead: lists of pages wait for it, and nobody waits for an answer."""

import json
import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from batching import begin
from served import Emissary, until

from emissary.testing.web import TestWebProcess


@pytest.fixture
def server(start: Callable[..., Emissary]) -> Emissary:
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        dead = {"name": "dead", "url": f"http://127.0.0.1:{gone.getsockname()[1]}"}
    return start(EMISSARY_EGRESS=json.dumps([dead]))


def test_a_batch_waits_for_an_egress_and_whoever_asks_meanwhile_is_told(server: Emissary, web: TestWebProcess) -> None:
    page = web.url("shop")
    batch = begin(server, [f"{page}?{n}" for n in range(10)])
    (lane,) = until(lambda: _resting(server, batch))
    assert lane["until"] is not None
    counts = server.get(f"/v1/batch/{batch}").json()["counts"]
    assert (counts["failed"], counts["waiting"]) == (0, 10)

    seen = server.post("/v1/scrape", {"url": page, "timeoutMs": 300_000})
    assert (seen.status, seen.json()["whyWaiting"]["reason"]) == (202, "egress")
    drawn = server.post("/v1/map", {"url": page, "timeoutMs": 300_000}).json()
    assert [each["outcome"]["code"] for each in drawn["unread"]] == ["proxy"]
    plan = server.post("/v1/plan", {"urls": [page], "timeoutMs": 60_000}).json()
    assert plan["hosts"][0]["robots"] == "unknown"

    elsewhere = server.scrape(web.url("trouble", "/headers"))["outcome"]
    assert (elsewhere["kind"], elsewhere["code"]) == ("unreachable", "proxy")
    assert elsewhere["detail"].startswith("every egress rests until ")


def _resting(server: Emissary, batch: str) -> list[dict[str, Any]]:
    """The lanes of the batch that are left alone until there is a way out."""
    lanes: list[dict[str, Any]] = server.get(f"/v1/batch/{batch}").json()["whyWaiting"]
    return [lane for lane in lanes if lane["reason"] == "egress"]
