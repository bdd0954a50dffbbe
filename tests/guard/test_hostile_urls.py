"""No spelling of a private address is ever dialled, and no public one is refused. Nothing here opens a connection."""

import socket
from collections.abc import AsyncIterator

import msgspec
import pytest
from hostile import HOSTILE, HOSTILE_NAMES, PUBLIC, PUBLIC_NAMES
from recording import Recording, code_of, forbidden

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Outside
from emissary.model.errors import BadRequest
from emissary.model.pages import Code, Unreachable
from emissary.ports.web import Ask, Proxy
from emissary.reading.guard import Guard
from emissary.reading.urls import join, parse

pytestmark = pytest.mark.anyio

_BASE = parse("https://example.org/a/b?c")


async def _try_all(client: HttpWeb) -> list[Code | None]:
    """Each spelling as a URL and as where a redirect leads; None where the parser has refused it already."""
    codes: list[Code | None] = []
    for text in HOSTILE:
        for read in (parse, lambda target: join(_BASE, target)):
            try:
                url = read(text)
            except BadRequest:
                codes.append(None)
                continue
            if url.host == _BASE.host:  # a reference within the page's own site
                continue
            found = await client.ask(Ask(url, 5.0, 1000))
            assert isinstance(found, Unreachable), text
            codes.append(found.code)
    return codes


def test_there_are_enough_spellings() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 200
    assert len(PUBLIC) >= 20


async def test_no_spelling_leads_to_a_forbidden_address() -> None:
    recording = Recording({**PUBLIC_NAMES, **HOSTILE_NAMES})
    async with recording.client() as client:
        codes = await _try_all(client)
    assert forbidden(recording.dialled) == []
    assert set(codes) <= {None, Code.GUARD, Code.DNS, Code.CONNECT}
    assert codes.count(Code.GUARD) >= 200


async def test_without_the_guard_they_would_get_there() -> None:
    """What the test above is worth: the same spellings, with the guard taken out."""
    recording = Recording({**PUBLIC_NAMES, **HOSTILE_NAMES})
    async with recording.client(lambda _address, _port: True) as client:
        await _try_all(client)
    assert len(forbidden(recording.dialled)) >= 200


@pytest.mark.parametrize(("text", "place"), PUBLIC.items())
async def test_a_public_address_is_dialled_however_it_is_spelled(text: str, place: tuple[str, int]) -> None:
    recording = Recording(PUBLIC_NAMES)
    async with recording.client() as client:
        assert await code_of(client, text) is Code.CONNECT
    assert recording.dialled[0] == place


async def test_every_forbidden_name_is_forbidden_behind_a_proxy_as_well() -> None:
    """The proxy would do the dialling: nothing is sent to it before the target has been checked."""
    recording = Recording(HOSTILE_NAMES)
    proxies = [Proxy("h", "http", "192.0.2.1", 3128), Proxy("s", "socks5", "192.0.2.1", 1080)]
    async with recording.client() as client:
        for name in HOSTILE_NAMES:
            for proxy in proxies:
                found = await client.ask(Ask(parse(f"http://{name}/"), 5.0, 1000, via=proxy))
                assert isinstance(found, Unreachable)
                assert found.code is Code.GUARD
    assert recording.dialled == []


async def test_one_bad_record_condemns_the_name_wherever_it_stands() -> None:
    recording = Recording(HOSTILE_NAMES)
    async with recording.client() as client:
        for name in ("mixed.example", "mixed-last.example", "mixed-six.example"):
            assert await code_of(client, f"http://{name}/") is Code.GUARD
    assert recording.dialled == []


async def test_at_most_four_addresses_are_tried() -> None:
    recording = Recording({"many.example": [f"8.8.8.{n}" for n in range(1, 40)]})
    async with recording.client() as client:
        assert await code_of(client, "http://many.example/") is Code.CONNECT
    assert len(recording.dialled) == 4


@pytest.mark.parametrize("port", [22, 25, 53, 110, 143, 445, 3306, 5432, 6379, 11211, 27017, 6667])
async def test_the_ports_of_other_services_are_not_dialled(port: int) -> None:
    recording = Recording(PUBLIC_NAMES)
    async with recording.client() as client:
        assert await code_of(client, f"http://example.org:{port}/") is Code.GUARD
        assert await code_of(client, f"https://8.8.8.8:{port}/") is Code.GUARD
    assert recording.dialled == []


@pytest.fixture
async def somebody_else() -> AsyncIterator[socket.socket]:
    listening = socket.create_server(("127.0.0.1", 0))
    yield listening
    listening.close()


async def test_whoever_answers_must_be_who_was_dialled(somebody_else: socket.socket) -> None:
    """A socket that claims to be connected to a public address and is not: somebody has turned it round."""
    turned: list[socket.socket] = []

    async def connect(_address: str, _port: int) -> socket.socket:
        turned.append(socket.create_connection(somebody_else.getsockname()))
        turned[0].setblocking(False)
        return turned[0]

    async def resolve(_name: str) -> list[str]:
        return ["93.184.216.34"]

    present = {"User-Agent": "Emissary/0"}
    outside = Outside(resolve=resolve, connect=connect)
    # Not even a network that the operator has opened helps: it is not the address that was dialled.
    permits = Guard(["127.0.0.0/8"]).permits
    async with HttpWeb(permits=permits, present=present, clock=SystemClock(), outside=outside) as client:
        assert await code_of(client, "http://example.org/") is Code.GUARD
    assert turned[0].fileno() == -1  # closed


@pytest.mark.parametrize(
    "href",
    [
        *(
            "http://other.example/",
            "http://example.org@other.example/",
            "https://example.org/",
            "http://example.org:81/",
        ),
        *("http://example.org.other.example/", "http://[2001:4860:4860::8888]/"),
    ],
)
async def test_a_url_that_another_parser_reads_differently_is_not_dialled(href: str) -> None:
    recording = Recording({**PUBLIC_NAMES, "other.example": ["8.8.8.8"]})
    url = msgspec.structs.replace(parse("http://example.org/"), href=href)
    async with recording.client() as client:
        found = await client.ask(Ask(url, 5.0, 1000))
    assert isinstance(found, Unreachable)
    assert found.code is Code.GUARD
    assert recording.dialled == []


async def test_a_refusal_tells_nothing_of_what_is_behind_it() -> None:
    recording = Recording(HOSTILE_NAMES)
    details = set()
    async with recording.client() as client:
        for name in HOSTILE_NAMES:
            found = await client.ask(Ask(parse(f"http://{name}/"), 5.0, 1000))
            assert isinstance(found, Unreachable)
            assert not found.passing
            details.add(found.detail)
    assert len(details) == 1
    assert not any(character.isdigit() for character in details.pop())
