"""The promise of `ports.blobs.Blobs`: bytes under a name, whole or not at all."""

import asyncio

import pytest
from openers import Backend

from emissary.ports.blobs import Blobs

pytestmark = pytest.mark.anyio


@pytest.fixture
def blobs(backend: Backend) -> Blobs:
    return backend.blobs


@pytest.mark.parametrize("body", [b"", bytes(range(256)) * 5000])
async def test_what_was_put_is_got(body: bytes, blobs: Blobs, neighbour: Backend) -> None:
    await blobs.put("results/000001/job_1", body)
    assert await blobs.get("results/000001/job_1") == body
    assert await neighbour.blobs.get("results/000001/job_1") == body


async def test_what_was_never_put_is_not_there(blobs: Blobs) -> None:
    assert await blobs.get("results/nothing") is None


async def test_putting_again_is_as_good_as_putting_once(blobs: Blobs) -> None:
    await blobs.put("results/a", b"body")
    await blobs.put("results/a", b"body")
    assert await blobs.get("results/a") == b"body"
    assert await blobs.names("") == ["results/a"]


async def test_a_deleted_name_is_forgotten_and_may_be_deleted_again(blobs: Blobs) -> None:
    await blobs.put("results/a", b"body")
    await blobs.delete("results/a")
    await blobs.delete("results/a")
    assert await blobs.get("results/a") is None
    assert await blobs.names("") == []


async def test_names_come_in_order_and_begin_as_asked(blobs: Blobs) -> None:
    assert await blobs.names("") == []
    for name in ("results/b/2", "results/a/1", "results/b/1", "other/x"):
        await blobs.put(name, b"")
    assert await blobs.names("results/") == ["results/a/1", "results/b/1", "results/b/2"]
    assert await blobs.names("results/b/1") == ["results/b/1"]
    assert await blobs.names("nothing") == []


async def test_whoever_reads_while_another_writes_sees_all_or_nothing(blobs: Blobs) -> None:
    old, new = b"o" * 300_000, b"n" * 300_000
    await blobs.put("results/a", old)
    writing = asyncio.gather(*(blobs.put("results/a", new) for _ in range(5)))
    seen = [await blobs.get("results/a") for _ in range(20)]
    await writing
    assert set(seen) <= {old, new}
    assert await blobs.names("") == ["results/a"]
