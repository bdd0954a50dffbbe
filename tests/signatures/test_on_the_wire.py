"""What is signed is what our client sends: a site that sees only the bytes can verify them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb
from emissary.model.pages import Reply
from emissary.ports.web import Ask
from emissary.reading.guard import Guard
from emissary.reading.identity import Identity
from emissary.reading.keys import KeyRing, SigningKey
from emissary.reading.signing import directory_document, directory_url, sign_request
from emissary.reading.urls import parse

pytestmark = pytest.mark.anyio

_NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
_RING = KeyRing((SigningKey(bytes(range(32)), not_before=_NOW),))


class Site:
    """Keeps the head of the last request it was sent."""

    port: int
    head: str

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site


@pytest.fixture(autouse=True)
def _names_may_end_with_a_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    """As name servers allow it; /etc/hosts, where localhost stands, does not."""
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: look_up(host.rstrip("."), *rest, **more))


def _received(head: str) -> dict[str, Any]:
    request, *lines = head.rstrip().split("\r\n")
    method, target, _ = request.split(" ")
    headers = dict(line.split(": ", 1) for line in lines)
    return {"method": method, "url": f"http://{headers['Host']}{target}", "headers": headers}


@pytest.mark.parametrize(
    "place",
    [
        "127.0.0.1:{}",
        "127.0.0.1:{}/p/1?colour=red&colour=%F0",
        "LOCALHOST:{}/A/b",
        "localhost.:{}/name/that/ends/with/a/dot",
        "127.0.0.1:{}//double//slash/",
        "127.0.0.1:{}/%7Eperson/%2f/%zz;x=1|y^z[]{{}}'()*!$&,=:@",
        "127.0.0.1:{}/käse/../brot/./ /\\back?",
        "127.0.0.1:{}/empty-query?#part",
    ],
)
async def test_what_arrives_verifies(verifiers: Any, site: Site, place: str) -> None:
    url = parse(f"http://{place.format(site.port)}")
    signature = sign_request(
        _RING.active(_NOW), method="GET", url=url, agent_directory=directory_url(parse("https://bot.example")), now=_NOW
    )
    # Who we are is the client's to present; an Ask cannot carry a signature.
    present = {**Identity("9.9", "https://bot.example/").headers(), **signature}
    async with HttpWeb(permits=Guard(["127.0.0.0/8"]).permits, present=present, clock=SystemClock()) as web:
        assert isinstance(await web.ask(Ask(url, 5.0, 1000)), Reply)
    answer = verifiers.verify(
        verifier="rfc9421",
        now=int(_NOW.timestamp()),
        directory=directory_document(_RING).decode(),
        label="sig1",
        message=_received(site.head),
    )
    assert answer["verified"], (answer, site.head)
