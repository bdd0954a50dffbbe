"""The promises of `ports.reading_records`: copies, sessions, what owners said, and secrets."""

import asyncio
import random
import string
from datetime import timedelta

import pytest
from making import at
from openers import Backend

from emissary.model.cache import CachedPage, CacheKey, Reader
from emissary.model.ids import AccountId
from emissary.model.sessions import SESSION_LIFE, KeptSession, SessionKey
from emissary.model.site_owners import OptOut, Ownership

pytestmark = pytest.mark.anyio

_URL = "https://a.example/page?x=1"
_ANN, _BOB = Reader("acc_ann"), Reader("acc_bob")


def copy(seconds: float, body: bytes = b"<p>page</p>", *, url: str = _URL) -> CachedPage:
    headers = {"etag": '"1"', "content-type": "text/html"}
    return CachedPage(url, at(seconds), 200, headers, body, "f" * 64, wanted="w", extracted=b"{}", shared=True)


# Copies of pages


async def test_a_copy_is_found_as_it_was_kept(backend: Backend, neighbour: Backend) -> None:
    assert await backend.pages.find(_URL, _ANN) is None
    page = copy(1.5, bytes(range(256)) * 5000)
    await backend.pages.keep(CacheKey(_URL, _ANN), page)
    assert await backend.pages.find(_URL, _ANN) == page
    assert await neighbour.pages.find(_URL, _ANN) == page


async def test_an_address_may_be_as_long_as_any(backend: Backend) -> None:
    chance = random.Random(1)
    one, two = [f"{_URL}&q=" + "".join(chance.choices(string.ascii_letters, k=24_000)) for _ in range(2)]
    await backend.pages.keep(CacheKey(one, _ANN), copy(1, url=one))
    assert await backend.pages.find(one, _ANN) == copy(1, url=one)
    assert await backend.pages.find(two, _ANN) is None
    await backend.pages.drop(one, _ANN)
    assert await backend.pages.find(one, _ANN) is None


async def test_a_copy_with_an_owner_is_for_the_owner_alone(backend: Backend) -> None:
    await backend.pages.keep(CacheKey(_URL, _ANN), copy(1))
    assert await backend.pages.find(_URL, _BOB) is None
    assert await backend.pages.find(_URL + "&y=2", _ANN) is None


async def test_a_copy_without_an_owner_is_for_everyone(backend: Backend) -> None:
    await backend.pages.keep(CacheKey(_URL, None), copy(1))
    assert await backend.pages.find(_URL, _ANN) == await backend.pages.find(_URL, _BOB) == copy(1)


async def test_of_several_copies_the_newest_that_one_may_see_is_found(backend: Backend) -> None:
    await backend.pages.keep(CacheKey(_URL, None), copy(1, b"everyone's"))
    await backend.pages.keep(CacheKey(_URL, _ANN), copy(2, b"ann's"))
    await backend.pages.keep(CacheKey(_URL, _BOB), copy(3, b"bob's"))
    found = [await backend.pages.find(_URL, reader) for reader in (_ANN, _BOB, Reader("acc_eve"))]
    assert [page.body for page in found if page] == [b"ann's", b"bob's", b"everyone's"]
    await backend.pages.keep(CacheKey(_URL, None), copy(4, b"newer"))
    assert await backend.pages.find(_URL, _ANN) == copy(4, b"newer")


async def test_a_copy_takes_the_place_of_the_one_before(backend: Backend) -> None:
    for seconds in (1, 2):
        await backend.pages.keep(CacheKey(_URL, _ANN), copy(seconds))
    assert await backend.pages.find(_URL, _ANN) == copy(2)
    assert await backend.pages.forget(at(10)) == 1


async def test_copies_older_than_asked_are_forgotten(backend: Backend) -> None:
    for seconds in (1, 2, 3):
        url = f"{_URL}{seconds}"
        await backend.pages.keep(CacheKey(url, None), copy(seconds, url=url))
    assert await backend.pages.forget(at(2)) == 1
    assert await backend.pages.find(f"{_URL}1", _ANN) is None
    assert await backend.pages.find(f"{_URL}2", _ANN) is not None
    assert await backend.pages.forget(at(2)) == 0


# Sessions

_KEY = SessionKey(AccountId("acc_ann"), "shopper")


def session(version: int, seconds: float = 0, sealed: bytes = b"\x00sealed\xff") -> KeptSession:
    """As it is kept at that moment."""
    return KeptSession(sealed, "berlin", version, at(seconds) + SESSION_LIFE)


async def test_a_session_is_found_as_it_was_kept(backend: Backend, neighbour: Backend) -> None:
    assert await backend.sessions.find(_KEY, at(0)) is None
    assert await backend.sessions.keep(_KEY, session(1))
    assert await neighbour.sessions.find(_KEY, at(1)) == session(1)


async def test_a_session_belongs_to_one_account_and_one_name(backend: Backend) -> None:
    await backend.sessions.keep(_KEY, session(1))
    assert await backend.sessions.find(SessionKey(AccountId("acc_bob"), "shopper"), at(1)) is None
    assert await backend.sessions.find(SessionKey(AccountId("acc_ann"), "reader"), at(1)) is None


async def test_only_the_next_version_is_kept(backend: Backend) -> None:
    assert await backend.sessions.keep(_KEY, session(1))
    assert not await backend.sessions.keep(_KEY, session(1, 1, b"another first"))
    assert await backend.sessions.keep(_KEY, session(2, 2, b"second"))
    assert not await backend.sessions.keep(_KEY, session(2, 3, b"late"))
    assert not await backend.sessions.keep(_KEY, session(4, 3, b"hasty"))
    assert await backend.sessions.find(_KEY, at(4)) == session(2, 2, b"second")


async def test_of_many_at_a_time_one_is_kept(backend: Backend, neighbour: Backend) -> None:
    stores = [backend.sessions, neighbour.sessions] * 10
    kept = await asyncio.gather(*(store.keep(_KEY, session(1)) for store in stores))
    assert sum(kept) == 1


async def test_a_session_whose_time_is_over_is_as_good_as_none(backend: Backend) -> None:
    await backend.sessions.keep(_KEY, session(7))
    over = SESSION_LIFE.total_seconds()
    assert await backend.sessions.find(_KEY, at(over - 1)) is not None
    assert await backend.sessions.find(_KEY, at(over)) is None
    assert await backend.sessions.keep(_KEY, session(1, over, b"anew"))
    assert await backend.sessions.find(_KEY, at(over + 1)) == session(1, over, b"anew")


async def test_sessions_whose_time_is_over_are_forgotten(backend: Backend) -> None:
    await backend.sessions.keep(_KEY, session(1))
    await backend.sessions.keep(SessionKey(_KEY.account, "later"), session(1, 60))
    over = SESSION_LIFE.total_seconds()
    assert await backend.sessions.forget(at(over - 1)) == 0
    assert await backend.sessions.forget(at(over)) == 1
    assert await backend.sessions.find(SessionKey(_KEY.account, "later"), at(over)) is not None


# Owners of sites


async def test_whoever_opted_out_is_known_everywhere(backend: Backend, neighbour: Backend) -> None:
    assert await backend.owners.opted_out() == frozenset()
    for host in ("a.example", "b.example"):
        await backend.owners.opt_out(OptOut(host, at(0), "me@a.example", "no\nthank you"))
    assert await neighbour.owners.opted_out() == {"a.example", "b.example"}


async def test_an_owner_may_write_whatever_they_like(backend: Backend) -> None:
    await backend.owners.opt_out(OptOut("a.example", at(0), "me\0@a.example", "no\0 'thank' \"you\" €🙂"))
    assert await backend.owners.opted_out() == {"a.example"}


async def test_opting_out_again_changes_nothing(backend: Backend) -> None:
    for seconds in (0, 1):
        await backend.owners.opt_out(OptOut("a.example", at(seconds)))
    assert await backend.owners.opted_out() == {"a.example"}


async def test_what_was_proven_is_known_everywhere_and_the_last_word_counts(
    backend: Backend, neighbour: Backend
) -> None:
    assert await backend.owners.owned() == {}
    first = Ownership("a.example", timedelta(milliseconds=250), 4, at(1))
    await backend.owners.prove(first)
    assert await neighbour.owners.owned() == {"a.example": first}
    second = Ownership("a.example", timedelta(), 8, at(2))
    await backend.owners.prove(second)
    other = Ownership("b.example:8080", timedelta(seconds=1), 1, at(2))
    await neighbour.owners.prove(other)
    assert await backend.owners.owned() == {"a.example": second, "b.example:8080": other}


# Secrets


async def test_a_secret_is_read_as_it_was_written(backend: Backend, neighbour: Backend) -> None:
    assert await backend.secrets.read("keys") is None
    assert await backend.secrets.write("keys", b"\x00one\xff", None)
    assert await neighbour.secrets.read("keys") == b"\x00one\xff"
    assert await neighbour.secrets.read("others") is None


async def test_a_secret_is_written_only_over_what_the_writer_has_seen(backend: Backend, neighbour: Backend) -> None:
    assert await backend.secrets.write("keys", b"one", None)
    assert not await neighbour.secrets.write("keys", b"mine", None)
    assert await neighbour.secrets.write("keys", b"two", b"one")
    assert not await backend.secrets.write("keys", b"three", b"one")
    assert not await backend.secrets.write("nothing", b"x", b"one")
    assert await backend.secrets.read("keys") == b"two"
    assert await backend.secrets.read("nothing") is None


async def test_of_many_writers_at_a_time_one_succeeds(backend: Backend, neighbour: Backend) -> None:
    stores = [backend.secrets, neighbour.secrets] * 10
    done = await asyncio.gather(*(store.write("keys", bytes([place]), None) for place, store in enumerate(stores)))
    assert sum(done) == 1
    assert await backend.secrets.read("keys") == bytes([done.index(True)])
