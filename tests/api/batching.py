"""What tests of batches and crawls do with a server."""

import http.client
import json
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from served import Answer, Emissary, until

from emissary.testing.web import TestWebProcess

__all__ = ["accepted", "begin", "counted", "ended", "paths_asked", "result_lines", "results", "steer", "stream"]


def _noun(batch: str) -> str:
    return "crawl" if batch.startswith("crl_") else "batch"


def accepted(answer: Answer) -> dict[str, Any]:
    assert answer.status == 202, answer.body
    found: dict[str, Any] = answer.json()
    return found


def begin(server: Emissary, urls: Sequence[str], **options: Any) -> str:
    """Have the pages read some time."""
    return str(accepted(server.post("/v1/batch", {"urls": urls, **options}))["id"])


def ended(server: Emissary, batch: str) -> dict[str, Any]:
    """The batch once it has ended."""

    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = server.get(f"/v1/{_noun(batch)}/{batch}").json()
        return found if found["status"] in {"completed", "cancelled"} else None

    return until(look)


def counted(batch: dict[str, Any]) -> dict[str, int]:
    """The counts that are not zero; they add up to the total."""
    counts = batch["counts"]
    assert sum(counts.values()) - counts["cached"] == batch["total"]
    return {name: count for name, count in counts.items() if count}


def results(server: Emissary, batch: str) -> list[dict[str, Any]]:
    """All results, as one page."""
    page = server.get(f"/v1/{_noun(batch)}/{batch}/results?limit=1000").json()
    assert page["next"] is None
    found: list[dict[str, Any]] = page["data"]
    return found


def stream(server: Emissary, batch: str, after: str = "") -> Generator[bytes, None, None]:
    """The lines of the results as they come; closing it cuts the connection."""
    with closing(server.connect()) as connection:
        headers = {**server.authority, "Accept": "application/x-ndjson"}
        connection.request("GET", f"/v1/{_noun(batch)}/{batch}/results?after={after}", headers=headers)
        got = connection.getresponse()
        assert (got.status, got.getheader("Content-Type")) == (200, "application/x-ndjson")
        yield from got


def result_lines(server: Emissary, batch: str, after: str = "") -> list[dict[str, Any]]:
    """All results behind the cursor, from the stream."""
    return [json.loads(line) for line in stream(server, batch, after)]


def steer(server: Emissary, batch: str, verb: str) -> Answer:
    return server.ask("POST", f"/v1/{_noun(batch)}/{batch}/{verb}", headers=server.authority)


def paths_asked(web: TestWebProcess, url: str) -> list[str]:
    """Which pages the host of the URL was asked for so far, in order; robots.txt apart."""
    log, host = urlsplit(web.url("log")), urlsplit(url).hostname
    with closing(http.client.HTTPConnection(str(log.hostname), log.port, timeout=10)) as connection:
        connection.request("GET", f"/exchanges.json?host={host}")
        told = json.loads(connection.getresponse().read())
    return [str(each["path"]) for each in told if each["path"] != "/robots.txt"]
