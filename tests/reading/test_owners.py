"""What owners said: who is left alone, and whose sites are read faster."""

from datetime import timedelta

import pytest

from emissary.model.errors import BadRequest
from emissary.model.lanes import LaneKey, Pace
from emissary.model.site_owners import OptOut, Ownership
from emissary.reading.owners import OwnersBook
from emissary.reading.urls import parse
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

_USUAL = Pace(timedelta(seconds=1), 1)


class Owners:
    """Keeps the promise of `ports.reading_records.SiteOwners`, in memory."""

    def __init__(self) -> None:
        self.words: dict[str, OptOut] = {}
        self.proven: dict[str, Ownership] = {}

    async def opt_out(self, word: OptOut) -> None:
        self.words.setdefault(word.host, word)

    async def opted_out(self) -> frozenset[str]:
        return frozenset(self.words)

    async def prove(self, ownership: Ownership) -> None:
        self.proven[ownership.host] = ownership

    async def owned(self) -> dict[str, Ownership]:
        return dict(self.proven)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.mark.parametrize(
    ("said", "host"),
    [
        ("example.org", "example.org"),
        (" Example.ORG. ", "example.org"),
        ("*.example.org", "example.org"),
        ("https://example.org/contact", "example.org"),
        ("http://example.org:8080", "example.org"),
        ("münchen.example", "xn--mnchen-3ya.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("intranet", "intranet"),
    ],
)
async def test_a_host_is_understood_as_people_write_it(clock: FakeClock, said: str, host: str) -> None:
    assert await OwnersBook(Owners(), clock).opt_out(said, "", "") == host


@pytest.mark.parametrize("said", ["", "com", "co.uk", "github.io", "https://", "a b", "ftp://a.example"])
async def test_nobody_speaks_for_what_belongs_to_many(clock: FakeClock, said: str) -> None:
    records = Owners()
    with pytest.raises(BadRequest):
        await OwnersBook(records, clock).opt_out(said, "", "")
    assert records.words == {}


async def test_the_host_and_all_below_it_are_left_alone(clock: FakeClock) -> None:
    book = OwnersBook(Owners(), clock)
    await book.opt_out("example.org", "", "")
    for url in (
        "https://example.org/",
        "http://www.example.org:81/x",
        "https://a.b.example.org/",
        "http://example.org./",
    ):
        assert book.refusal(parse(url)) is not None, url
    for url in ("https://badexample.org/", "https://org/", "https://example.org.evil.example/", "https://example.com/"):
        assert book.refusal(parse(url)) is None, url


async def test_what_was_said_while_the_store_was_read_is_not_forgotten(clock: FakeClock) -> None:
    class Slow(Owners):
        async def owned(self) -> dict[str, Ownership]:
            await book.opt_out("example.org", "", "")
            return {}

    book = OwnersBook(Slow(), clock)
    await book.refresh()
    assert book.refusal(parse("https://example.org/")) is not None


async def test_a_site_of_ones_own_is_read_faster_for_thirty_days(clock: FakeClock) -> None:
    book = OwnersBook(Owners(), clock)
    await book.prove(Ownership("example.org", timedelta(), 8, clock.now()))
    assert book.pace_of(LaneKey("host:example.org"), _USUAL) == Pace(timedelta(), 8)
    clock.advance(timedelta(days=31).total_seconds())
    assert book.pace_of(LaneKey("host:example.org"), _USUAL) == _USUAL


@pytest.mark.parametrize("lane", ["host:www.example.org", "host:example.org:8080", "hook:example.org", "host:"])
async def test_nothing_else_is_read_faster(clock: FakeClock, lane: str) -> None:
    book = OwnersBook(Owners(), clock)
    await book.prove(Ownership("example.org", timedelta(), 8, clock.now()))
    assert book.pace_of(LaneKey(lane), _USUAL) == _USUAL


async def test_a_proof_never_makes_reading_slower(clock: FakeClock) -> None:
    book = OwnersBook(Owners(), clock)
    await book.prove(Ownership("[::1]:8080", timedelta(seconds=60), 1, clock.now()))
    assert book.pace_of(LaneKey("host:[::1]:8080"), Pace(timedelta(seconds=1), 4)) == Pace(timedelta(seconds=1), 4)
