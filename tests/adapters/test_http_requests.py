"""A request says what it was told to say, and cannot be made to say more."""

from collections.abc import Mapping

import msgspec
import pytest
from asking import failure_of, reading_client, reply_of
from raw_site import RawSite

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Outside
from emissary.adapters.http.dial import connect_to
from emissary.model.pages import Code, Reply, Unreachable, WebUrl
from emissary.ports.web import Ask
from emissary.reading.guard import Guard
from emissary.reading.urls import parse

pytestmark = pytest.mark.anyio

_FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
_ENCODINGS = b"Accept-Encoding: gzip, deflate, br, zstd\r\n"
_AGENT = b"User-Agent: Emissary/0 (+https://bot.example/)\r\n"


async def test_a_request_is_no_longer_than_it_has_to_be() -> None:
    async with RawSite.start(_FINE) as site, reading_client() as client:
        await reply_of(client, site.url("/a?b=c"))
        await reply_of(client, site.url("/a?b=c"), headers={"Cookie": "a=1", "X-Note": "ä"})
    start = b"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % site.port
    assert site.heads[0] == start + _AGENT + _ENCODINGS + b"\r\n"
    assert site.heads[1] == start + _AGENT + _ENCODINGS + "Cookie: a=1\r\nX-Note: ä\r\n\r\n".encode()


async def test_what_a_caller_wants_stands_in_place_of_what_we_would_say() -> None:
    async with RawSite.start(_FINE) as site, _presenting({"Accept": "text/html", "Accept-Language": "en"}) as client:
        await reply_of(client, site.url(), headers={"ACCEPT": "text/plain"})
        await reply_of(client, site.url())
    assert b"\r\nACCEPT: text/plain\r\n" in site.heads[0]
    assert site.heads[0].lower().count(b"accept:") == 1
    assert b"\r\nAccept-Language: en\r\n" in site.heads[0]
    assert b"\r\nAccept: text/html\r\nAccept-Language: en\r\n" in site.heads[1]


async def test_whoever_presents_us_anew_is_heard_anew() -> None:
    said = [{"Signature": "one"}, {"Signature": "two"}]

    def present(_method: str, _url: WebUrl) -> Mapping[str, str]:
        return said.pop(0)

    async with (
        RawSite.start(_FINE) as site,
        HttpWeb(permits=Guard(["127.0.0.0/8"]).permits, present=present, clock=SystemClock()) as client,
    ):
        await reply_of(client, site.url())
        await reply_of(client, site.url())
    assert [head.partition(b"Signature: ")[2][:3] for head in site.heads] == [b"one", b"two"]


async def test_the_dots_that_end_a_name_are_for_the_resolver_alone() -> None:
    async def resolve(_name: str) -> list[str]:
        return ["127.0.0.1"]

    outside = Outside(resolve=resolve, connect=connect_to)
    async with RawSite.start(_FINE) as site, _presenting({}, outside) as client:
        for host in ("shop.example.", "shop.example"):
            found = await client.ask(Ask(parse(f"http://{host}:{site.port}/"), 5.0, 1000))
            assert isinstance(found, Reply)
    assert all(b"\r\nHost: shop.example:%d\r\n" % site.port in head for head in site.heads)
    assert site.connections == 2  # two names, whatever they resolve to


async def test_what_a_site_has_said_goes_back_to_it_as_it_came() -> None:
    said = b'HTTP/1.1 200 OK\r\nETag: "caf\xe9"\r\nContent-Length: 4\r\n\r\nfine'
    async with RawSite.start(said) as site, reading_client() as client:
        first = await reply_of(client, site.url())
        await reply_of(client, site.url(), headers={"If-None-Match": first.headers["etag"]})
    assert b'\r\nIf-None-Match: "caf\xe9"\r\n' in site.heads[1]


@pytest.mark.parametrize("value", ["a\r\nUser-Agent: other", "a\nb", "a\rb", "a\0b", "\ud800"])
async def test_a_value_that_is_more_than_a_value_sends_nothing(value: str) -> None:
    async with RawSite.start(_FINE) as site, reading_client() as client:
        failure = await failure_of(client, site.url(), headers={"X-Note": value})
    assert (failure.code, failure.passing) == (Code.GUARD, False)
    assert site.connections == 0


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/a\tb", "/ä", "/a\x7f"])
async def test_a_path_that_is_more_than_a_path_sends_nothing(path: str) -> None:
    """The one parser lets none of these through; nor does the client, should anybody come past the parser."""
    async with RawSite.start(_FINE) as site, reading_client() as client:
        url = parse(site.url())
        found = await client.ask(Ask(msgspec.structs.replace(url, path=path, href=f"{url.origin}{path}"), 5.0, 1000))
        assert isinstance(found, Unreachable)
        assert (found.code, found.passing) == (Code.GUARD, False)
    assert site.connections == 0


def _presenting(headers: Mapping[str, str], outside: Outside = Outside()) -> HttpWeb:  # noqa: B008 - a value
    permits = Guard(["127.0.0.0/8"]).permits
    return HttpWeb(permits=permits, present=headers, clock=SystemClock(), outside=outside)
