"""Sessions: opened and kept, sealed to their place, and never at the cost of another visit's cookies."""

import asyncio
from datetime import datetime

import pytest

from emissary.model.errors import SealBroken
from emissary.model.ids import AccountId
from emissary.model.sessions import SESSION_LIFE, KeptSession, SessionKey
from emissary.reading.sessions import SessionBook
from emissary.reading.urls import parse
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

_KEY = SessionKey(AccountId("acc_ann"), "shopper")
_URL = parse("https://shop.example/")


class Kept:
    """Keeps the promise of `ports.reading_records.Sessions`, in memory."""

    def __init__(self) -> None:
        self.kept: dict[SessionKey, KeptSession] = {}

    async def find(self, key: SessionKey, now: datetime) -> KeptSession | None:
        found = self.kept.get(key)
        return found if found is not None and found.expires_at > now else None

    async def keep(self, key: SessionKey, session: KeptSession) -> bool:
        found = self.kept.get(key)
        if found is not None and found.version != session.version - 1:
            return False
        self.kept[key] = session
        return True

    async def forget(self, now: datetime) -> int:
        over = [key for key, session in self.kept.items() if session.expires_at <= now]
        for key in over:
            del self.kept[key]
        return len(over)


class Seals:
    """Keeps the promise of `ports.vault.Vault` but for its secrecy."""

    def seal(self, secret: bytes, place: str) -> bytes:
        return place.encode() + b"|" + secret[::-1]

    def open(self, sealed: bytes, place: str) -> bytes:
        where, _, secret = sealed.partition(b"|")
        if where.decode() != place:
            raise SealBroken("sealed for another place")
        return secret[::-1]


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def book(kept: Kept, clock: FakeClock) -> SessionBook:
    return SessionBook(kept, Seals(), clock)


def answers(*lines: str) -> tuple[tuple[object, tuple[str, ...]], ...]:
    return ((_URL, lines),)


async def test_a_new_session_is_empty(book: SessionBook, clock: FakeClock) -> None:
    session = await book.open(_KEY)
    assert session.cookies.header_for(_URL, clock.now()) is None
    assert (session.egress, session.version) == (None, 0)


async def test_cookies_and_the_way_out_are_there_the_next_time(book: SessionBook, clock: FakeClock) -> None:
    await book.keep(_KEY, await book.open(_KEY), answers("a=1", "b=2"), "berlin")
    await book.keep(_KEY, await book.open(_KEY), answers("b=3"), "paris")
    session = await book.open(_KEY)
    assert session.cookies.header_for(_URL, clock.now()) == "a=1; b=3"
    assert session.egress == "berlin"


async def test_many_visits_at_a_time_all_leave_their_cookies(book: SessionBook, clock: FakeClock) -> None:
    opened = [await book.open(_KEY) for _ in range(20)]
    visits = [book.keep(_KEY, session, answers(f"c{n}=1"), None) for n, session in enumerate(opened)]
    await asyncio.gather(*visits)
    header = (await book.open(_KEY)).cookies.header_for(_URL, clock.now())
    assert header is not None
    assert set(header.split("; ")) == {f"c{n}=1" for n in range(20)}


async def test_a_session_lives_for_a_day_after_its_last_use(book: SessionBook, clock: FakeClock) -> None:
    await book.keep(_KEY, await book.open(_KEY), answers("a=1"), None)
    clock.advance(SESSION_LIFE.total_seconds() - 1)
    await book.keep(_KEY, await book.open(_KEY), (), None)
    clock.advance(SESSION_LIFE.total_seconds() - 1)
    assert (await book.open(_KEY)).version == 2
    clock.advance(1)
    assert (await book.open(_KEY)).version == 0


async def test_a_session_cannot_be_moved_to_another_account(book: SessionBook, kept: Kept) -> None:
    await book.keep(_KEY, await book.open(_KEY), answers("a=1"), None)
    stolen = SessionKey(AccountId("acc_eve"), "shopper")
    kept.kept[stolen] = kept.kept[_KEY]
    with pytest.raises(SealBroken):
        await book.open(stolen)
