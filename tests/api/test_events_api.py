"""Following a batch over HTTP: server-sent events, taken up again where they broke off."""

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from batching import begin, ended, results, steer
from served import Answer, Emissary, until

from emissary.compose import the_clock
from emissary.testing.web import TestWebProcess


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    data: dict[str, Any]
    id: str | None


def _events(lines: Iterator[bytes]) -> Generator[Event, None, None]:
    """As `EventSource` reads them; comments are passed over."""
    told: dict[str, str] = {}
    for line in lines:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field:
            told[field] = value
        elif "event" in told:
            yield Event(told["event"], json.loads(told["data"]), told.get("id"))
            told = {}


def _follow(server: Emissary, batch: str, last: str = "", noun: str = "batch") -> Generator[Event, None, None]:
    """The events as they come; closing it cuts the connection."""
    with closing(server.connect()) as connection:
        headers = {**server.authority, "Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        connection.request("GET", f"/v1/{noun}/{batch}/events", headers=headers)
        got = connection.getresponse()
        assert (got.status, got.getheader("Content-Type")) == (200, "text/event-stream; charset=utf-8")
        yield from _events(got)


def _pages(web: TestWebProcess, host: int, count: int) -> list[str]:
    return [web.host_url(host, f"/small?event={n}") for n in range(count)]


def test_a_batch_is_told_page_by_page_up_to_its_end(server: Emissary, web: TestWebProcess) -> None:
    urls = [*_pages(web, 6, 5), web.url("closed", "/prices")]
    batch = begin(server, urls)
    events = list(_follow(server, batch))
    items = [event for event in events if event.name == "item"]
    assert events[0].name == "progress"
    assert events[0].data["total"] == 6
    assert [event.name for event in events].count("end") == 1
    assert events[-1].name == "end"
    assert (events[-1].data["status"], events[-1].data["counts"]["completed"]) == ("completed", 5)
    assert {(item.data["url"], item.data["status"], item.data["outcome"]["code"]) for item in items} == {
        *((url, "completed", "ok") for url in urls[:5]),
        (urls[5], "refused", "robots"),
    }
    found = results(server, batch)
    assert [(item.id, item.data["id"]) for item in items] == [(each["cursor"], each["id"]) for each in found]


def test_whoever_was_cut_off_goes_on_behind_the_last_event(server: Emissary, web: TestWebProcess) -> None:
    batch = begin(server, _pages(web, 6, 7))
    with closing(_follow(server, batch)) as stream:
        first = [event for event in (next(stream) for _ in range(4)) if event.name == "item"]
    rest = [event for event in _follow(server, batch, first[-1].id or "") if event.name == "item"]
    ids = [event.data["id"] for event in first + rest]
    assert len(ids) == len(set(ids)) == 7
    by_query = server.get(f"/v1/batch/{batch}/events?after={first[-1].id}").body.splitlines(keepends=True)
    assert [event for event in _events(iter(by_query)) if event.name == "item"] == rest


def test_a_batch_that_has_ended_is_told_at_once_and_over(server: Emissary, web: TestWebProcess) -> None:
    batch = begin(server, _pages(web, 6, 3))
    ended(server, batch)
    assert [event.name for event in _follow(server, batch)] == ["progress", "item", "item", "item", "end"]


def test_pages_are_told_while_others_still_wait(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start()
    batch = begin(server, [*_pages(web, 7, 1), web.url("trouble", "/hang")])
    with closing(_follow(server, batch)) as stream:
        until(lambda: next(stream).name == "item")
        assert server.get(f"/v1/batch/{batch}").json()["status"] == "running"
        server.delete(f"/v1/batch/{batch}")
        rest = list(stream)
    assert (rest[-1].name, rest[-1].data["status"]) == ("end", "cancelled")
    assert rest[-1].data["counts"]["cancelled"] == 1


def test_a_crawl_is_followed_like_a_batch(server: Emissary, web: TestWebProcess) -> None:
    crawl = server.post("/v1/crawl", {"url": web.host_url(6, "/small"), "limit": 1, "sitemap": "skip"}).json()["id"]
    names = [event.name for event in _follow(server, crawl, noun="crawl")]
    assert (names.count("item"), names[-1]) == (1, "end")


def test_a_server_that_stops_does_not_wait_for_whoever_follows(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server, clock = start(EMISSARY_HOST_GAP="0.2"), the_clock()
    batch = begin(server, _pages(web, 7, 50))
    steer(server, batch, "pause")
    with closing(_follow(server, batch)) as stream:
        assert next(stream).name == "progress"
        began = clock.monotonic()
        assert server.stop() == 0
        assert clock.monotonic() - began < 20, "uvicorn itself would wait for half a minute"
        assert "end" not in {event.name for event in stream}


@pytest.mark.parametrize("way", ["query", "header"])
def test_a_cursor_that_is_none_is_refused_before_anything_is_sent(
    server: Emissary, web: TestWebProcess, way: str
) -> None:
    batch = begin(server, _pages(web, 6, 1))
    path = f"/v1/batch/{batch}/events"
    answer: Answer = (
        server.get(f"{path}?after=nowhere")
        if way == "query"
        else server.ask("GET", path, headers={**server.authority, "Last-Event-ID": "nowhere"})
    )
    assert (answer.status, answer.json()["code"]) == (400, "invalid_cursor")
