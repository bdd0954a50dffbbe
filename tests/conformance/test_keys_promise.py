"""The promise of `ports.keys.Keys`."""

import asyncio
from dataclasses import replace

import pytest
from making import ACCOUNT, OTHER, at
from openers import Backend

from emissary.model.accounts import Account
from emissary.model.errors import TooManyKeys
from emissary.model.ids import AccountId, KeyId
from emissary.model.keys import ALL_SCOPES, ApiKey, Scope, digest_of, hint_of, is_misspelled, spell_key

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def accounts(backend: Backend) -> None:
    for account in (ACCOUNT, OTHER):
        await backend.accounts.open_account(Account(account, account, at(0)))


def a_key(number: int, account: AccountId = ACCOUNT, name: str = "pipeline") -> ApiKey:
    return ApiKey(KeyId(f"key_{number}"), account, digest_of(f"secret {number}"), at(0), name)


async def refused(backend: Backend, key: ApiKey, seconds: float) -> bool:
    try:
        await backend.keys.add(key, at(seconds))
    except TooManyKeys:
        return True
    return False


async def test_a_key_is_found_by_its_digest_and_by_its_id_as_it_was_made(backend: Backend, neighbour: Backend) -> None:
    assert not await backend.keys.any_live(at(0))
    key = replace(a_key(1), scopes=frozenset({Scope.READ}), hint="em_live_1", expires_at=at(90))
    await backend.keys.add(key, at(0))
    await backend.keys.add(a_key(2, OTHER), at(0))
    assert await neighbour.keys.by_digest(key.digest) == key
    assert await neighbour.keys.find(key.id) == key
    assert await neighbour.keys.by_digest(digest_of("another")) is None
    assert await neighbour.keys.find(KeyId("key_3")) is None
    found = await neighbour.keys.find(KeyId("key_2"))
    assert found is not None
    assert (found.account, found.scopes, found.expires_at) == (OTHER, ALL_SCOPES, None)


async def test_adding_the_same_key_again_changes_nothing(backend: Backend) -> None:
    await backend.keys.add(a_key(1), at(0))
    again = replace(a_key(2, OTHER), digest=a_key(1).digest)
    await backend.keys.add(again, at(0))
    assert await backend.keys.by_digest(again.digest) == a_key(1)
    assert await backend.keys.find(again.id) is None


async def test_keys_are_listed_by_account_in_the_order_of_their_ids(backend: Backend) -> None:
    keys = [a_key(number, name=f"{number}") for number in range(5)]
    for key in reversed(keys):
        await backend.keys.add(key, at(0))
    await backend.keys.add(a_key(9, OTHER), at(0))
    assert await backend.keys.of_account(ACCOUNT) == keys
    assert await backend.keys.of_account(ACCOUNT, after="key_1", most=2) == keys[2:4]


async def test_two_keys_of_a_name_may_live_and_a_third_only_when_one_has_ended(backend: Backend) -> None:
    await backend.keys.add(replace(a_key(1), expires_at=at(10)), at(0))
    await backend.keys.add(a_key(2), at(0))
    assert await refused(backend, a_key(3), 9)
    assert await backend.keys.find(KeyId("key_3")) is None
    assert not await refused(backend, a_key(4, name="another"), 9)
    assert not await refused(backend, a_key(5, OTHER), 9)
    assert not await refused(backend, a_key(3), 10)
    assert await refused(backend, a_key(6), 10)
    assert await backend.keys.revoke(KeyId("key_2"), at(11))
    assert not await refused(backend, a_key(6), 11)


async def test_of_many_who_add_a_key_of_the_same_name_two_can(backend: Backend, neighbour: Backend) -> None:
    sides = [backend, neighbour] * 5
    answers = await asyncio.gather(*(refused(side, a_key(number), 0) for number, side in enumerate(sides)))
    assert answers.count(False) == 2


async def test_a_revoked_key_says_since_when_and_is_revoked_once(backend: Backend, neighbour: Backend) -> None:
    await backend.keys.add(a_key(1), at(0))
    assert await backend.keys.any_live(at(1))
    assert await neighbour.keys.revoke(KeyId("key_1"), at(2))
    assert not await backend.keys.revoke(KeyId("key_1"), at(3))
    assert not await backend.keys.revoke(KeyId("key_2"), at(3))
    found = await backend.keys.find(KeyId("key_1"))
    assert found is not None
    assert (found.revoked_at, found.is_live(at(4))) == (at(2), False)
    assert not await backend.keys.any_live(at(4))


async def test_a_key_that_has_expired_is_not_live(backend: Backend) -> None:
    await backend.keys.add(replace(a_key(1), expires_at=at(10)), at(0))
    assert await backend.keys.any_live(at(9))
    assert not await backend.keys.any_live(at(10))
    found = await backend.keys.find(KeyId("key_1"))
    assert found is not None
    assert [found.is_live(at(9)), found.is_live(at(10))] == [True, False]


async def test_a_key_that_is_replaced_lives_as_long_as_was_said_but_not_longer_than_before(backend: Backend) -> None:
    await backend.keys.add(a_key(1), at(0))
    await backend.keys.add(replace(a_key(2, name="short"), expires_at=at(5)), at(0))
    await backend.keys.replace(KeyId("key_1"), a_key(3), at(60), at(1))
    await backend.keys.replace(KeyId("key_2"), a_key(4, name="short"), at(60), at(1))
    ends = {key.id: key.expires_at for key in await backend.keys.of_account(ACCOUNT)}
    assert ends == {"key_1": at(60), "key_2": at(5), "key_3": None, "key_4": None}


async def test_where_there_is_no_place_for_the_new_key_the_old_one_stays_as_it_is(backend: Backend) -> None:
    for number in (1, 2):
        await backend.keys.add(a_key(number), at(0))
    with pytest.raises(TooManyKeys, match="pipeline"):
        await backend.keys.replace(KeyId("key_1"), a_key(3), at(60), at(1))
    assert await backend.keys.find(KeyId("key_1")) == a_key(1)
    await backend.keys.replace(KeyId("key_1"), a_key(3), at(1), at(1))
    assert await backend.keys.find(KeyId("key_3")) == a_key(3)


async def test_the_last_use_is_noted_once_a_minute_at_most(backend: Backend, neighbour: Backend) -> None:
    for number in (1, 2):
        await backend.keys.add(a_key(number), at(0))

    async def uses() -> list[object]:
        return [key.last_used_at for key in await backend.keys.of_account(ACCOUNT)]

    assert await uses() == [None, None]
    await backend.keys.note_uses({KeyId("key_1"): at(10), KeyId("key_7"): at(10)})
    await neighbour.keys.note_uses({KeyId("key_1"): at(69), KeyId("key_2"): at(69)})
    assert await uses() == [at(10), at(69)]
    await neighbour.keys.note_uses({KeyId("key_1"): at(70), KeyId("key_2"): at(70)})
    assert await uses() == [at(70), at(69)]


# How keys are spelled


def test_one_character_changed_is_seen_before_anybody_is_asked() -> None:
    key = spell_key(bytes(range(38)))
    assert not is_misspelled(key)
    assert hint_of(key) == key[:17]
    places = [place for place in range(len("em_live_"), len(key)) if key[place] != "_"]
    assert all(is_misspelled(key[:place] + ("a" if key[place] != "a" else "b") + key[place + 1 :]) for place in places)


@pytest.mark.parametrize("given", ["em_live_given_by_the_operator", "hunter22", "", "em_live_", "Bearer x"])
def test_keys_of_another_form_are_not_judged_and_not_shown(given: str) -> None:
    assert not is_misspelled(given)
    assert hint_of(given) is None
