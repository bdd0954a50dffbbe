"""The promise of `ports.lanes.Lanes`: whoever has just come begins at once, whatever is in hand and in line."""

import pytest
from making import ACCOUNT, ANN, BOB, at, claim, hosts, job, keys_of, open_batch
from openers import Backend

from emissary.model.lanes import Claim, Claimed

pytestmark = pytest.mark.anyio


async def _claim(backend: Backend, lanes: int, on_top: int) -> Claimed:
    return await backend.lanes.claim(Claim(BOB, at(60), lanes, 10, on_top), at(1))


async def _long_batch(backend: Backend) -> None:
    """Twenty lanes in hand and eighty in line, all of them before whatever comes next."""
    batch = await open_batch(backend.batches)
    await backend.lanes.submit([job(lane, batch=batch) for _ in range(30) for lane in hosts(100)], at(0))
    assert len((await claim(backend.lanes, ANN, most=20, items=30)).leases) == 20


async def test_single_jobs_begin_on_top_of_a_batch_of_their_own_account(backend: Backend) -> None:
    await _long_batch(backend)
    await backend.lanes.submit([job(f"host:single{number}.example") for number in range(3)], at(1))
    assert keys_of(await _claim(backend, 0, 10)) == {f"host:single{number}.example" for number in range(3)}


async def test_single_jobs_leave_a_place_for_others_however_many_they_are(backend: Backend) -> None:
    await _long_batch(backend)
    await backend.lanes.submit([job(f"host:single{number}.example") for number in range(40)], at(1))
    assert len((await _claim(backend, 0, 10)).leases) == 5
    assert len((await _claim(backend, 0, 5)).leases) == 2
    assert (await _claim(backend, 0, 1)).leases == ()


async def test_what_comes_on_top_comes_beside_what_is_next_in_line(backend: Backend) -> None:
    await _long_batch(backend)
    await backend.lanes.submit([job("host:single.example", account=ACCOUNT)], at(1))
    claimed = await _claim(backend, 4, 10)
    assert len(claimed.leases) == 5
    assert "host:single.example" in keys_of(claimed)
