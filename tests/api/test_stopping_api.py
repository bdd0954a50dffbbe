"""SIGTERM: what has begun is finished, what only waits goes back into line, and nobody is kept listening."""

import json
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest
from batching import begin
from served import Emissary

from emissary.compose import the_clock

_TEN_MINUTES = "600"


class HeldRules:
    """A site whose robots.txt is under way for as long as the test holds it."""

    def __init__(self) -> None:
        self.asked, self.opened = Event(), Event()
        self.paths: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.paths.append(self.path)
                site.asked.set()
                site.opened.wait(60)
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Nobody reads it."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def page(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/page"


@pytest.fixture
def site() -> Iterator[HeldRules]:
    site = HeldRules()
    thread = Thread(target=site.server.serve_forever)
    thread.start()
    yield site
    site.opened.set()
    site.server.shutdown()
    site.server.server_close()
    thread.join()


def _ends(server: Emissary) -> int:
    """The exit code; a server that does not come to its end soon fails the test."""
    server.process.communicate(timeout=15)
    return server.process.returncode


def test_a_page_that_must_wait_after_its_robots_goes_back_into_line(
    start: Callable[..., Emissary], site: HeldRules
) -> None:
    server = start(EMISSARY_HOST_GAP=_TEN_MINUTES)
    batch = begin(server, [site.page])
    with closing(server.connect()) as connection:
        connection.request("GET", f"/v1/batch/{batch}/events", headers=server.authority)
        stream = connection.getresponse()
        assert stream.readline() == b"event: progress\n"
        assert site.asked.wait(20)
        server.process.send_signal(signal.SIGTERM)
        assert b"event: end" not in stream.read(), "the stream breaks off, for the batch has not ended"
    site.opened.set()
    assert _ends(server) == 0
    assert site.paths == ["/robots.txt"]
    found = start(EMISSARY_HOST_GAP=_TEN_MINUTES, EMISSARY_API_KEY=server.key).get(f"/v1/batch/{batch}").json()
    assert (found["status"], found["counts"]["waiting"]) == ("running", 1)
    assert found["whyWaiting"][0]["reason"] == "gap"


def test_whoever_waits_for_a_page_that_has_to_wait_itself_is_told_so(
    start: Callable[..., Emissary], site: HeldRules
) -> None:
    server, clock = start(EMISSARY_HOST_GAP=_TEN_MINUTES), the_clock()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.post, "/v1/scrape", {"url": site.page, "timeoutMs": 60_000})
        assert site.asked.wait(20)
        server.process.send_signal(signal.SIGTERM)
        began = clock.monotonic()
        site.opened.set()
        told = answer.result(timeout=25)
    assert (told.status, json.loads(told.body)["status"]) == (202, "waiting")
    assert clock.monotonic() - began < 15, "uvicorn itself would wait for half a minute"
    assert _ends(server) == 0
