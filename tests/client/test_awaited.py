"""The asynchronous client, and both of them in odd places."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from served import Emissary as Server
from served import asked

from emissary.client import AsyncEmissary, Emissary, Patience, ServerUnreachable
from emissary.client.inside import InsideWire
from emissary.compose import the_clock
from emissary.testing.web import TestWebProcess

pytestmark = pytest.mark.anyio


async def test_pages_are_read_side_by_side(server: Server, web: TestWebProcess) -> None:
    async with AsyncEmissary(server.url, server.key) as client:
        pages = await asyncio.gather(*(client.scrape(web.host_url(number, "/small")) for number in range(1, 6)))
    assert {page.status for page in pages} == {"completed"}


async def test_a_batch_may_come_from_an_asynchronous_source(server: Server, web: TestWebProcess) -> None:
    async def source():  # type: ignore[no-untyped-def]
        for number in range(3):
            yield web.host_url(1, f"/source/{number}")

    async with AsyncEmissary(server.url, server.key) as client:
        accepted = await client.batch(source())
        assert (await client.wait(accepted.id)).counts.completed == 3
        assert sorted([result.index async for result in client.results(accepted.id)]) == [0, 1, 2]


async def test_it_works_without_a_server(tmp_path: Path, web: TestWebProcess) -> None:
    async with AsyncEmissary.open(tmp_path / "data", allow_networks="127.0.0.0/8", host_gap=0) as client:
        pages = await asyncio.gather(*(client.scrape(web.host_url(number, "/small")) for number in range(1, 4)))
        assert {page.status for page in pages} == {"completed"}


async def test_the_blocking_client_works_where_a_loop_runs_already(server: Server, web: TestWebProcess) -> None:
    with Emissary(server.url, server.key) as client:
        assert client.scrape(web.host_url(1, "/small")).status == "completed"


@pytest.mark.parametrize("pieces", [0, 1, 20])
async def test_a_route_that_fails_breaks_off_its_own_call_and_no_other(pieces: int) -> None:
    async def routes(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/v1/account":
            raise ZeroDivisionError
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(pieces):
            await send({"type": "http.response.body", "body": b'{"cursor": "1"}\n', "more_body": True})
        raise ZeroDivisionError

    async with asyncio.TaskGroup() as group:
        client = AsyncEmissary(wire=InsideWire(routes, group, the_clock()), patience=Patience(attempts=1))
        lines = client.result_lines("bat_1")
        for _ in range(pieces):
            assert await anext(lines)
        with pytest.raises(ServerUnreachable):
            await anext(lines)
        with pytest.raises(ServerUnreachable):
            await client.account()


def test_what_was_begun_goes_on_when_the_directory_is_opened_again(tmp_path: Path, web: TestWebProcess) -> None:
    settings = {"allow_networks": "127.0.0.0/8", "host_gap": 0.1}
    with Emissary.open(tmp_path / "data", **settings) as client:
        accepted = client.batch([web.host_url(2, f"/again/{number}") for number in range(12)])
    with Emissary.open(tmp_path / "data", **settings) as client:
        assert client.wait(accepted.id).counts.completed == 12


def test_beside_a_server_on_the_same_directory_the_server_does_the_work(server: Server, web: TestWebProcess) -> None:
    """Its settings let it read this network; those of this process would not."""
    with Emissary.open(server.folder / "data") as client:
        assert client.scrape(web.host_url(3, "/small")).status == "completed"
    assert asked(web, web.host_url(3)) > 0


def test_a_directory_that_cannot_be_is_an_error_here(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match="EMISSARY_DATA_DIR"), Emissary.open(tmp_path / "file" / "data"):
        pass
