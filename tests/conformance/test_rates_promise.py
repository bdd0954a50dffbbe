"""The promise of `ports.rates.Rates`, and how processes share a rate by it."""

import asyncio

import pytest
from making import ACCOUNT, OTHER, at
from openers import Backend

from emissary.engine.rate_gate import RateGate
from emissary.model.ids import AccountId
from emissary.model.rates import Rate, Slice, Standing
from emissary.ports.rates import Rates
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

_RATE = Rate(600, 100)  # ten a second


class Counted:
    """Passes on, and counts what it passes on."""

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self.asked = 0

    async def take(self, account: AccountId, rate: Rate, want: int, now: object) -> Slice:
        self.asked += 1
        return await self._rates.take(account, rate, want, now)  # type: ignore[arg-type]


async def test_a_bucket_is_full_at_first_and_fills_again_with_time(backend: Backend, neighbour: Backend) -> None:
    assert await backend.rates.take(ACCOUNT, _RATE, 70, at(0)) == Slice(70, 30)
    assert await neighbour.rates.take(ACCOUNT, _RATE, 70, at(0)) == Slice(30, 0)
    assert await backend.rates.take(ACCOUNT, _RATE, 70, at(0.15)) == Slice(1, 0.5)
    assert await neighbour.rates.take(OTHER, _RATE, 1, at(0)) == Slice(1, 99)
    assert await backend.rates.take(ACCOUNT, _RATE, 1, at(3600)) == Slice(1, 99)


async def test_a_clock_that_goes_back_gives_nothing_twice(backend: Backend) -> None:
    assert await backend.rates.take(ACCOUNT, _RATE, 100, at(10)) == Slice(100, 0)
    assert await backend.rates.take(ACCOUNT, _RATE, 10, at(5)) == Slice(0, 0)
    assert await backend.rates.take(ACCOUNT, _RATE, 100, at(11)) == Slice(10, 0)


async def test_no_token_is_given_out_twice_however_many_take(backend: Backend, neighbour: Backend) -> None:
    sides = [backend, neighbour] * 20
    taken = await asyncio.gather(*(side.rates.take(ACCOUNT, _RATE, 7, at(0)) for side in sides))
    assert sum(each.taken for each in taken) == 100


async def test_processes_share_a_rate_and_write_once_in_a_slice(backend: Backend, neighbour: Backend) -> None:
    clock = FakeClock(at(0))
    stores = [Counted(side.rates) for side in (backend, neighbour)]
    gates = [RateGate(store, clock) for store in stores]
    answers = [await gate.admit(ACCOUNT, _RATE) for _ in range(150) for gate in gates]
    assert sum(answer.allowed for answer in answers) == 100
    assert sum(store.asked for store in stores) <= 100 // _RATE.slice + len(gates)
    assert answers[-1] == Standing(_RATE, allowed=False, left=0)
    assert (answers[-1].retry_after, answers[-1].full_after) == (1, 10)
    clock.advance(1)
    assert sum([(await gate.admit(ACCOUNT, _RATE)).allowed for _ in range(20) for gate in gates]) == 10


async def test_many_requests_at_the_same_time_take_no_more_than_there_is(backend: Backend) -> None:
    gate = RateGate(backend.rates, FakeClock(at(0)))
    answers = await asyncio.gather(*(gate.admit(ACCOUNT, _RATE) for _ in range(300)))
    assert sum(answer.allowed for answer in answers) == 100


async def test_what_a_process_does_not_use_is_let_go(backend: Backend) -> None:
    clock = FakeClock(at(0))
    gate = RateGate(backend.rates, clock)
    assert (await gate.admit(ACCOUNT, _RATE)).remaining == 99
    clock.advance(3600)
    answers = [await gate.admit(ACCOUNT, _RATE) for _ in range(200)]
    assert sum(answer.allowed for answer in answers) == 100, "the nine of an hour ago do not come on top"


async def test_a_new_rate_holds_from_the_next_request_on(backend: Backend) -> None:
    gate = RateGate(backend.rates, FakeClock(at(0)))
    assert (await gate.admit(ACCOUNT, _RATE)).allowed
    answers = [await gate.admit(ACCOUNT, Rate(60, 5)) for _ in range(10)]
    assert sum(answer.allowed for answer in answers) == 5
