"""Receipts by their name, and the captures that they point to."""

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from served import Emissary
from warcs import Record, both
from watching import as_another_account

from emissary.testing.web import TestWebProcess


def test_a_receipt_is_found_by_its_name(server: Emissary, web: TestWebProcess) -> None:
    receipt = server.scrape(web.url("shop", "/product/5"))["receipt"]
    found = server.get(f"/v1/receipts/{receipt['id']}")
    assert (found.status, found.kind, found.json()) == (200, "application/json", receipt)


def test_a_refusal_has_a_receipt_too(server: Emissary, web: TestWebProcess) -> None:
    receipt = server.scrape(web.url("closed", "/prices"))["receipt"]
    assert server.get(f"/v1/receipts/{receipt['id']}").json()["robots"]["rule"] == "Disallow: /"


def test_a_receipt_of_somebody_else_answers_like_one_that_is_not_there(server: Emissary, web: TestWebProcess) -> None:
    receipt = server.scrape(web.url("shop", "/product/5"))["receipt"]["id"]
    stranger = as_another_account(server, "receipts")
    missing = f"rec_{'0' * 26}"
    foreign, nothing = stranger.get(f"/v1/receipts/{receipt}"), stranger.get(f"/v1/receipts/{missing}")
    assert (foreign.status, nothing.status) == (404, 404)
    name, none = receipt.removeprefix("rec_"), missing.removeprefix("rec_")
    assert foreign.body.decode().replace(name, none) == nothing.body.decode()


@pytest.mark.parametrize("name", ["job_x", "rec_", "nonsense", "rec_%2e%2e"])
def test_what_is_no_receipt_is_not_found(server: Emissary, name: str) -> None:
    answer = server.get(f"/v1/receipts/{name}")
    assert (answer.status, answer.json()["code"]) == (404, "not_found")


def test_a_receipt_needs_a_key(server: Emissary) -> None:
    assert server.ask("GET", "/v1/receipts/rec_x").status == 401


def captured(server: Emissary, capture: dict[str, Any]) -> list[Record]:
    """The records of the exchange that a receipt points to."""
    segment = Path(server.ready["dataDir"]) / "captures" / capture["segment"]
    return both(segment.read_bytes()[capture["offset"] :], 3)


# No brotli: warcio 1.8.1 cannot unpack it with the brotli of today.
@pytest.mark.parametrize("path", ["/", "/encoded/gzip", "/encoded/deflate", "/huge?mib=1"])
def test_a_receipt_leads_to_the_bytes_of_the_page(server: Emissary, web: TestWebProcess, path: str) -> None:
    url = web.url("trouble", path)
    answer = server.scrape(url, formats=["rawHtml"])
    response, request, metadata = captured(server, answer["receipt"]["capture"])
    assert (response.kind, request.kind, metadata.kind) == ("response", "request", "metadata")
    assert response.status == 200
    assert response.headers["warc-target-uri"] == url
    assert response.headers["warc-ip-address"] == web.addresses.sites["trouble"]
    assert response.content.decode() == answer["document"]["rawHtml"]
    assert hashlib.sha256(response.content).hexdigest() == answer["receipt"]["sha256"]


def test_the_request_and_what_we_know_of_it_stand_beside_the_answer(server: Emissary, web: TestWebProcess) -> None:
    # Of a page that nobody has asked for: one that has not changed since is not captured again.
    answer = server.scrape(web.url("shop", "/product/6?whose=receipts"))
    capture = answer["receipt"]["capture"]
    response, request, metadata = captured(server, capture)
    for beside in (request, metadata):
        assert beside.headers["warc-concurrent-to"] == response.headers["warc-record-id"]
    assert b"robotsRule: Allow: /" in metadata.content
    segment = gzip.decompress((Path(server.ready["dataDir"]) / "captures" / capture["segment"]).read_bytes())
    assert b"GET /product/6?whose=receipts HTTP/1.1\r\n" in segment
    assert f"User-Agent: {answer['receipt']['agent']}\r\n".encode() in segment


def test_a_refusal_that_the_site_answered_is_captured(server: Emissary, web: TestWebProcess) -> None:
    capture = server.scrape(web.url("trouble", "/status/403"))["receipt"]["capture"]
    assert captured(server, capture)[0].status == 403


def test_what_was_never_asked_for_is_not_captured(server: Emissary, web: TestWebProcess) -> None:
    assert server.scrape(web.url("closed", "/prices"))["receipt"]["capture"] is None


def test_captures_can_be_switched_off(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_CAPTURES="false")
    assert server.scrape(web.url("trouble", "/"))["receipt"]["capture"] is None
    assert not (server.folder / "data" / "captures").exists()


@pytest.mark.parametrize(
    ("path", "usage"),
    [("/paid/1", {"train-ai": False, "search": True}), ("/free/1", {"train-ai": True})],
)
def test_a_receipt_says_what_robots_txt_wishes_about_the_use_of_the_page(
    server: Emissary, web: TestWebProcess, path: str, usage: dict[str, bool]
) -> None:
    url = web.url("usagerobots", path)
    first, copy = server.scrape(url)["receipt"], server.scrape(url, maxAge=60)["receipt"]
    assert (first["cache"], copy["cache"]) == ("miss", "hit")
    assert first["usagePreferences"] == copy["usagePreferences"] == {"contentUsage": usage}


def test_a_page_that_may_not_be_read_has_no_wishes_about_its_use(server: Emissary, web: TestWebProcess) -> None:
    assert server.scrape(web.url("closed", "/prices"))["receipt"]["usagePreferences"] is None
