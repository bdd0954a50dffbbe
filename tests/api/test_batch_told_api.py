"""What a batch tells of itself, what it leaves out, and what it does not wait for, over HTTP."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

from batching import accepted, begin, counted, ended
from served import Emissary, asked, until

from emissary.testing.web import TestWebProcess


def _see(server: Emissary, batch: str) -> dict[str, Any]:
    found: dict[str, Any] = server.get(f"/v1/batch/{batch}").json()
    return found


def test_a_batch_counts_its_pages_by_what_they_came_to(server: Emissary, web: TestWebProcess) -> None:
    urls = [web.url("trouble", "/pdf"), web.url("closed", "/prices"), web.url("closed", "/more"), *_of(web, 2, 2)]
    batch = ended(server, begin(server, urls))
    assert batch["outcomes"] == {"ok": 2, "robots": 2, "bad_content": 1}
    assert (batch["reason"], batch["whyWaiting"]) == (None, [])
    assert server.post(f"/v1/batch/{batch['id']}/retry", {"only": "refused"}).json()["again"] == 2
    assert ended(server, batch["id"])["outcomes"] == {"ok": 2, "robots": 2, "bad_content": 1}


def test_pages_that_were_asked_for_in_vain_are_left_out_for_a_day_if_one_says_so(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server, good = start(), web.host_url(2, "/small")
    urls = [good, web.url("closed", "/prices"), web.url("trouble", "/pdf")]
    assert counted(ended(server, begin(server, urls))) == {"completed": 1, "refused": 1, "failed": 1}
    assert server.scrape(web.host_url(2, "/nowhere"))["outcome"]["code"] == "not_found"
    before = asked(web, urls[2])
    urls.append(f"{web.host_url(2, '/nowhere')}#part")
    told = accepted(server.post("/v1/batch", {"urls": urls, "excludeRecentErrors": True, "dedupe": "none"}))
    assert (told["accepted"], told["duplicates"], told["invalidCount"], told["excludedCount"]) == (1, 0, 0, 3)
    assert told["excluded"] == [
        {"index": 1, "url": urls[1], "code": "robots"},
        {"index": 2, "url": urls[2], "code": "bad_content"},
        {"index": 3, "url": web.host_url(2, "/nowhere"), "code": "not_found"},
    ]
    assert counted(ended(server, told["id"])) == {"completed": 1}
    assert asked(web, urls[2]) == before
    again = accepted(server.post("/v1/batch", {"urls": urls}))
    assert (again["accepted"], again["excludedCount"], again["excluded"]) == (4, 0, [])
    ended(server, again["id"])


def test_a_batch_of_which_all_is_left_out_says_so(server: Emissary, web: TestWebProcess) -> None:
    url = web.url("trouble", "/pdf")
    ended(server, begin(server, [url]))
    body = {"urls": [url], "excludeRecentErrors": True}
    answer = server.post("/v1/batch", body)
    assert (answer.status, answer.json()["code"]) == (400, "empty_batch")
    assert "in vain" in answer.json()["detail"]


def test_pages_of_which_there_is_a_copy_do_not_wait_for_the_gap_of_their_host(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    urls = [web.url("shop", f"/product/{number}") for number in range(100, 120)]
    quick = start()
    assert counted(ended(quick, begin(quick, urls))) == {"completed": 20}
    quick.stop()
    before = asked(web, urls[0])
    slow = start(EMISSARY_HOST_GAP="600", EMISSARY_API_KEY=quick.key)
    assert counted(ended(slow, begin(slow, urls, dedupe="cache"))) == {"completed": 20, "cached": 20}
    assert asked(web, urls[0]) == before


def test_a_batch_says_in_which_lanes_it_waits(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_HOST_GAP="600")
    batch = begin(server, [*_of(web, 2, 100), *_of(web, 3, 150)])

    def look() -> dict[str, Any] | None:  # some of each lane comes into hand, and then nothing changes any more
        found = _see(server, batch)
        stands = sum(wait["items"] for wait in found["whyWaiting"])
        return found if found["counts"]["active"] >= 40 and stands == found["counts"]["waiting"] else None

    seen = until(look)
    few, many = (web.host_url(number, "").removeprefix("http://").rstrip("/") for number in (2, 3))
    assert [wait["lane"] for wait in seen["whyWaiting"]] == [f"host:{many}", f"host:{few}"]
    assert all(wait["reason"] == "in_line" and wait["until"] and wait["ahead"] >= 20 for wait in seen["whyWaiting"])


def test_lines_that_come_after_their_batch_was_cancelled_end_it_with_an_answer(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server = start(EMISSARY_HOST_GAP="600")
    first, rest = ("".join(f"{url}\n" for url in _of(web, 6, 2_500, start=at)).encode() for at in (1, 5_000))
    with closing(server.connect()) as connection:
        connection.putrequest("POST", "/v1/batch")
        for name, value in {**server.authority, "Content-Type": "application/x-ndjson"}.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(first) + len(rest)))
        connection.endheaders(first)
        batch = until(lambda: _filled(server))
        assert server.ask("DELETE", f"/v1/batch/{batch}", headers=server.authority).status == 200
        connection.send(rest)
        answer = connection.getresponse()
        problem = json.loads(answer.read())
    assert (answer.status, problem["code"]) == (409, "batch_cancelled")
    assert batch in problem["detail"]
    assert _see(server, batch)["total"] == 2_000


def _of(web: TestWebProcess, host: int, count: int, *, start: int = 1) -> list[str]:
    return [web.host_url(host, f"/page/{number}") for number in range(start, start + count)]


def _filled(server: Emissary) -> str | None:
    """The batch into which something has come; nobody was told its name yet, so the file is asked."""
    with closing(sqlite3.connect(server.database)) as store:
        found = store.execute("SELECT key FROM flows WHERE key LIKE 'bat_%' AND submitted > 0").fetchone()
    return None if found is None else str(found[0])
