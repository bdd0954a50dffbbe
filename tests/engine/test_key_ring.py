"""Keys are looked up once in a while; what is revoked here opens nothing from that moment on."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from emissary.backends.embedded.allowances import SqliteAllowances
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.keys import SqliteKeys
from emissary.backends.embedded.records import SqliteAccounts
from emissary.engine.key_book import KeyBook, KeyWish
from emissary.engine.key_ring import KeyRing
from emissary.model.accounts import Account, Allowance
from emissary.model.errors import BadRequest, NotAllowed, NotFound
from emissary.model.ids import AccountId, KeyId
from emissary.model.keys import ALL_SCOPES, ApiKey, Scope
from emissary.model.rates import Rate
from emissary.testing.clock import FakeClock, SeededChance

pytestmark = pytest.mark.anyio

_ACCOUNT, _OTHER = AccountId("acc_one"), AccountId("acc_two")
_WISH = KeyWish("pipeline", frozenset({Scope.READ, Scope.WRITE}))


class CountedKeys(SqliteKeys):
    """Counts how often a key is looked up."""

    looked_up = 0

    async def by_digest(self, digest: bytes) -> ApiKey | None:
        self.looked_up += 1
        return await super().by_digest(digest)


class Room:
    """A store, and two processes' worth of rings and books on it."""

    def __init__(self, database: Database) -> None:
        self.clock = FakeClock()
        self.keys = CountedKeys(database)
        self.allowances = SqliteAllowances(database)
        self.ring, self.elsewhere = (
            KeyRing(self.keys, self.allowances, Allowance(rate=Rate(60, 60)), self.clock) for _ in range(2)
        )
        self.book = KeyBook(self.keys, self.ring, self.clock, SeededChance())


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    database = await Database.open(tmp_path / "emissary.db")
    room = Room(database)
    for account in (_ACCOUNT, _OTHER):
        await SqliteAccounts(database).open_account(Account(account, account, room.clock.now()))
    yield room
    await database.close()


async def test_a_key_is_looked_up_once_in_five_seconds(room: Room) -> None:
    _, secret = await room.book.make(_ACCOUNT, _WISH, ALL_SCOPES)
    for _ in range(50):
        assert await room.ring.open(secret) is not None
    assert room.keys.looked_up == 1
    room.clock.advance(5)
    opened = await room.ring.open(secret)
    assert room.keys.looked_up == 2
    assert opened is not None
    assert (opened.key.account, opened.key.scopes) == (_ACCOUNT, _WISH.scopes)


async def test_a_revoked_key_opens_nothing_here_and_nothing_elsewhere_after_five_seconds(room: Room) -> None:
    key, secret = await room.book.make(_ACCOUNT, _WISH, ALL_SCOPES)
    for ring in (room.ring, room.elsewhere):
        assert await ring.open(secret) is not None
    await room.book.revoke(_ACCOUNT, key.id)
    assert await room.ring.open(secret) is None
    room.clock.advance(5)
    assert await room.elsewhere.open(secret) is None


async def test_a_key_expires_to_the_moment_although_it_is_remembered(room: Room) -> None:
    ends = room.clock.now() + timedelta(seconds=2)
    _, secret = await room.book.make(_ACCOUNT, KeyWish("short", ALL_SCOPES, ends), ALL_SCOPES)
    assert await room.ring.open(secret) is not None
    room.clock.advance(2)
    assert await room.ring.open(secret) is None


async def test_a_key_that_has_expired_before_it_is_made_is_refused(room: Room) -> None:
    with pytest.raises(BadRequest, match="a time to come"):
        await room.book.make(_ACCOUNT, KeyWish("late", ALL_SCOPES, room.clock.now()), ALL_SCOPES)


async def test_the_last_use_is_written_beside_requests_and_once_a_minute(room: Room) -> None:
    key, secret = await room.book.make(_ACCOUNT, _WISH, ALL_SCOPES)
    began = room.clock.now()

    async def last_use() -> object:
        await room.ring.write_uses()
        return (await room.book.find(_ACCOUNT, key.id)).last_used_at

    await room.ring.open(secret)
    assert (await room.book.find(_ACCOUNT, key.id)).last_used_at is None
    assert await last_use() == began
    room.clock.advance(59)
    await room.ring.open(secret)
    assert await last_use() == began
    room.clock.advance(1)
    await room.ring.open(secret)
    assert await last_use() == began + timedelta(seconds=60)


async def test_a_rate_that_was_granted_holds_at_once_where_it_was_said_so(room: Room) -> None:
    _, secret = await room.book.make(_ACCOUNT, _WISH, ALL_SCOPES)
    opened = await room.ring.open(secret)
    assert opened is not None
    assert opened.rate == Rate(60, 60), "that for all accounts, where one has none of its own"
    await room.allowances.grant(_ACCOUNT, Allowance(rate=Rate(5, 1)))
    room.ring.forget_account(_ACCOUNT)
    opened = await room.ring.open(secret)
    assert opened is not None
    assert opened.rate == Rate(5, 1)


async def test_a_key_cannot_give_out_what_it_does_not_have(room: Room) -> None:
    keeper = frozenset({Scope.KEYS, Scope.READ})
    with pytest.raises(NotAllowed, match="write"):
        await room.book.make(_ACCOUNT, _WISH, keeper)
    key, _ = await room.book.make(_ACCOUNT, _WISH, ALL_SCOPES)
    with pytest.raises(NotAllowed, match="write"):
        await room.book.rotate(_ACCOUNT, key.id, timedelta(), keeper)


async def test_rotating_keeps_name_scopes_and_lifetime_and_lets_the_old_key_go_in_time(room: Room) -> None:
    wish = KeyWish("pipeline", _WISH.scopes, room.clock.now() + timedelta(days=90))
    old, old_secret = await room.book.make(_ACCOUNT, wish, ALL_SCOPES)
    assert await room.ring.open(old_secret) is not None
    room.clock.advance(86_400)
    new, new_secret = await room.book.rotate(_ACCOUNT, old.id, timedelta(hours=1), ALL_SCOPES)
    assert (new.name, new.scopes) == (old.name, old.scopes)
    assert new.expires_at == room.clock.now() + timedelta(days=90)
    assert await room.ring.open(old_secret) is not None
    room.clock.advance(3600)
    assert await room.ring.open(old_secret) is None
    assert await room.ring.open(new_secret) is not None
    with pytest.raises(BadRequest, match="opens nothing any more"):
        await room.book.rotate(_ACCOUNT, old.id, timedelta(), ALL_SCOPES)


async def test_somebody_elses_key_is_not_there(room: Room) -> None:
    key, secret = await room.book.make(_ACCOUNT, _WISH, ALL_SCOPES)
    for name in (key.id, KeyId("key_of_nobody")):
        with pytest.raises(NotFound, match=name):
            await room.book.revoke(_OTHER, name)
        with pytest.raises(NotFound, match=name):
            await room.book.rotate(_OTHER, name, timedelta(), ALL_SCOPES)
    assert await room.ring.open(secret) is not None
