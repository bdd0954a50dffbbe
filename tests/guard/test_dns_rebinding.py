"""A name that is public when it is looked at and private a moment later. The name server is real, the dial is not."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator

import pytest
from recording import Recording, code_of, forbidden

from emissary.adapters.clock import SystemClock
from emissary.adapters.http import HttpWeb, Limits, Outside
from emissary.model.pages import Code
from emissary.reading.guard import Guard

pytestmark = pytest.mark.anyio

_PUBLIC, _PRIVATE = "93.184.216.34", "127.0.0.1"
_TRIES = 1000


class _NameServer(asyncio.DatagramProtocol):
    """Answers every question for an address with the next one of its list, with a TTL of nothing."""

    def __init__(self, answers: list[list[str]]) -> None:
        self.answers = answers
        self.asked = 0
        self.place: tuple[str, int] = ("", 0)
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's form
        self.closed.set_result(None)

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport
        self.place = transport.get_extra_info("sockname")

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        found = self.answers[self.asked % len(self.answers)]
        self.asked += 1
        head = data[:2] + struct.pack(">HHHHH", 0x8180, 1, len(found), 0, 0)
        records = [b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(each) for each in found]
        self._transport.sendto(head + data[12:] + b"".join(records), addr)


class _Question(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:  # noqa: ARG002 - asyncio's form
        if not self.answer.done():
            self.answer.set_result(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's form
        self.closed.set_result(None)


async def _resolve(name: str, place: tuple[str, int]) -> list[str]:
    """A resolver without a memory: every call is a question to the server."""
    loop = asyncio.get_running_loop()
    transport, question = await loop.create_datagram_endpoint(_Question, remote_addr=place)
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.rstrip(".").split("."))
    transport.sendto(struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0\0\1\0\1")
    try:
        answer = await question.answer
    finally:
        transport.close()
        await question.closed
    (count,) = struct.unpack(">H", answer[6:8])
    return [socket.inet_ntoa(answer[len(answer) - 16 * n - 4 :][:4]) for n in reversed(range(count))]


@pytest.fixture
async def server() -> AsyncIterator[_NameServer]:
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(
        lambda: _NameServer([[_PUBLIC], [_PRIVATE]]), local_addr=("127.0.0.1", 0)
    )
    yield server
    transport.close()
    await server.closed


def _client(recording: Recording, server: _NameServer, *, kept: float) -> HttpWeb:
    return HttpWeb(
        permits=Guard().permits,
        present={"User-Agent": "Emissary/0"},
        clock=SystemClock(),
        limits=Limits(name_kept_seconds=kept),
        outside=Outside(resolve=lambda name: _resolve(name, server.place), connect=recording.outside.connect),
    )


async def test_the_resolver_of_this_test_reads_every_record(server: _NameServer) -> None:
    server.answers = [[_PUBLIC, "1.1.1.1", _PRIVATE]]
    assert await _resolve("rebind.example", server.place) == [_PUBLIC, "1.1.1.1", _PRIVATE]


async def test_a_name_that_turns_private_never_gets_through(server: _NameServer) -> None:
    recording = Recording()
    async with _client(recording, server, kept=0.0) as client:
        codes = [await code_of(client, "http://rebind.example/") for _ in range(_TRIES)]
    assert forbidden(recording.dialled) == []
    assert {place for place, _ in recording.dialled} == {_PUBLIC}
    assert codes.count(Code.GUARD) == codes.count(Code.CONNECT) == _TRIES // 2
    # One question for each connection: there is no second answer that could differ from the one that was checked.
    assert server.asked == _TRIES


async def test_a_name_that_is_remembered_cannot_turn(server: _NameServer) -> None:
    recording = Recording()
    async with _client(recording, server, kept=60.0) as client:
        codes = {await code_of(client, f"http://rebind.example/{n}") for n in range(_TRIES)}
    assert codes == {Code.CONNECT}
    assert forbidden(recording.dialled) == []
    assert server.asked == 1


async def test_two_answers_at_once_do_not_help_either(server: _NameServer) -> None:
    server.answers = [[_PUBLIC, _PRIVATE], [_PRIVATE, _PUBLIC]]
    recording = Recording()
    async with _client(recording, server, kept=0.0) as client:
        codes = {await code_of(client, "http://rebind.example/") for _ in range(100)}
    assert codes == {Code.GUARD}
    assert recording.dialled == []


async def test_a_name_server_that_is_silent_ends_the_matter() -> None:
    async def never(_name: str) -> list[str]:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    recording = Recording()
    limits = Limits(name_seconds=0.05)
    outside = Outside(resolve=never, connect=recording.outside.connect)
    present = {"User-Agent": "Emissary/0"}
    async with HttpWeb(
        permits=Guard().permits, present=present, clock=SystemClock(), limits=limits, outside=outside
    ) as client:
        assert await code_of(client, "http://silent.example/") is Code.DNS
    assert recording.dialled == []
