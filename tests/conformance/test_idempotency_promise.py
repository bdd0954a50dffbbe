"""What every backend promises in `ports.idempotency.FirstAnswers`."""

import asyncio
import secrets
from datetime import timedelta

import pytest
from making import ACCOUNT, OTHER, at
from openers import Backend

from emissary.model.idempotency import ANSWER_KEPT, IN_FLIGHT, ClaimedKey, InFlight, KeptAnswer, place_of
from emissary.model.ids import AccountId

pytestmark = pytest.mark.anyio

_ANSWER = KeptAnswer(b"digest", 202, b"\x00sealed\xff")
_DAY, _LEASE = ANSWER_KEPT.total_seconds(), IN_FLIGHT.total_seconds()


def key(name: str = "one", account: AccountId = ACCOUNT, path: str = "/v1/scrape") -> ClaimedKey:
    """One request's hand on the key; another call is another request."""
    return ClaimedKey(account, place_of(path, name), secrets.token_bytes(16), path)


async def test_the_first_who_claims_a_key_has_it_and_the_others_are_told(backend: Backend, neighbour: Backend) -> None:
    assert await backend.first_answers.claim(key(), at(0)) is None
    assert await neighbour.first_answers.claim(key(), at(1)) == InFlight()
    assert await neighbour.first_answers.claim(key("two"), at(1)) is None
    assert await neighbour.first_answers.claim(key(account=OTHER), at(1)) is None
    assert await neighbour.first_answers.claim(key(path="/v1/batch"), at(1)) is None


async def test_of_many_who_claim_at_the_same_time_one_gets_the_key(backend: Backend, neighbour: Backend) -> None:
    claims = (side.first_answers.claim(key(), at(0)) for side in (backend, neighbour) * 10)
    answers = await asyncio.gather(*claims)
    assert answers.count(None) == 1
    assert answers.count(InFlight()) == 19


async def test_an_answer_is_there_for_a_day_and_then_forgotten(backend: Backend, neighbour: Backend) -> None:
    mine = key()
    await backend.first_answers.claim(mine, at(0))
    assert await backend.first_answers.keep(mine, _ANSWER, at(10))
    assert await neighbour.first_answers.claim(key(), at(_DAY + 9)) == _ANSWER
    assert await neighbour.first_answers.claim(key(), at(_DAY + 10)) is None


async def test_a_claim_that_is_not_renewed_goes_to_the_next(backend: Backend, neighbour: Backend) -> None:
    dead, next_one = key(), key()
    await backend.first_answers.claim(dead, at(0))
    assert await neighbour.first_answers.claim(next_one, at(_LEASE - 1)) == InFlight()
    assert await neighbour.first_answers.claim(next_one, at(_LEASE)) is None
    assert not await backend.first_answers.renew(dead, at(_LEASE))
    assert not await backend.first_answers.keep(dead, _ANSWER, at(_LEASE))
    await backend.first_answers.release(dead)
    assert await backend.first_answers.claim(key(), at(_LEASE + 1)) == InFlight()


async def test_a_claim_that_is_renewed_holds(backend: Backend) -> None:
    mine = key()
    await backend.first_answers.claim(mine, at(0))
    assert await backend.first_answers.renew(mine, at(50))
    assert await backend.first_answers.claim(key(), at(_LEASE + 49)) == InFlight()
    assert await backend.first_answers.claim(key(), at(_LEASE + 50)) is None


async def test_a_key_that_was_let_go_is_free_at_once(backend: Backend) -> None:
    mine = key()
    await backend.first_answers.claim(mine, at(0))
    await backend.first_answers.release(mine)
    assert await backend.first_answers.claim(key(), at(0)) is None


async def test_what_was_answered_is_neither_renewed_nor_let_go_nor_answered_anew(backend: Backend) -> None:
    mine = key()
    await backend.first_answers.claim(mine, at(0))
    await backend.first_answers.keep(mine, _ANSWER, at(1))
    assert not await backend.first_answers.renew(mine, at(2))
    assert not await backend.first_answers.keep(mine, KeptAnswer(b"other", 200, b"other"), at(2))
    await backend.first_answers.release(mine)
    assert await backend.first_answers.claim(key(), at(3)) == _ANSWER


async def test_what_is_over_is_dropped_in_portions(backend: Backend) -> None:
    for number in range(5):
        await backend.first_answers.claim(key(str(number)), at(number))
    answered = key("answered")
    await backend.first_answers.claim(answered, at(0))
    await backend.first_answers.keep(answered, _ANSWER, at(0))
    over = at(3) + IN_FLIGHT
    assert [await backend.first_answers.forget(over, most=3) for _ in range(3)] == [3, 1, 0]
    assert await backend.first_answers.claim(key("4"), over) == InFlight()
    assert await backend.first_answers.claim(key("answered"), over) == _ANSWER
    assert await backend.first_answers.forget(at(0) + ANSWER_KEPT + timedelta(minutes=5), most=100) == 2
