"""The coordinator: one leads, another takes over in time, and nothing that fails stops the rest."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from office import LEASE, RENEWAL, Candidate, Noting

from emissary.backends.embedded.database import Database
from emissary.model.errors import StoreUnavailable, TermOver
from emissary.model.leadership import Term
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Database]:
    database = await Database.open(tmp_path / "emissary.db")
    yield database
    await database.close()


class Two:
    """Ann and Bob, who share the time but for what the test says."""

    def __init__(self, database: Database) -> None:
        self.clocks = FakeClock(), FakeClock()
        self.duties = Noting(self.clocks[0]), Noting(self.clocks[1])
        self.ann = Candidate("wrk_ann", database, self.clocks[0], [self.duties[0]])
        self.bob = Candidate("wrk_bob", database, self.clocks[1], [self.duties[1]])

    async def after(self, seconds: float) -> None:
        for _ in range(int(seconds * 2)):
            for each in (self.ann, self.bob):
                await each.after(0.5)


@pytest.fixture
def two(database: Database) -> Two:
    return Two(database)


async def test_one_leads_and_does_its_duty_while_the_other_stands_by(two: Two) -> None:
    async with two.ann.running(), two.bob.running():
        await two.after(60)
        assert (two.ann.leads, two.bob.leads) == (True, False)
        assert len(two.duties[0].done) == 61
        assert two.duties[1].done == []


async def test_when_the_leader_dies_another_takes_over_within_twenty_seconds(two: Two) -> None:
    async with AsyncExitStack() as stack:
        async with two.ann.dying():
            await stack.enter_async_context(two.bob.running())
            await two.after(30)
        died_at = two.clocks[0].now()
        await two.bob.after(LEASE + RENEWAL)
        assert two.bob.leads
        assert timedelta() < two.duties[1].done[0] - died_at <= timedelta(seconds=LEASE + RENEWAL)
    assert two.bob.metrics.registry.get_sample_value("emissary_terms_led_total") == 1


async def test_when_the_leader_stops_in_order_another_takes_over_as_soon_as_it_looks(two: Two) -> None:
    async with AsyncExitStack() as stack:
        async with two.ann.running():
            await stack.enter_async_context(two.bob.running())
            await two.after(7)
        await two.bob.after(RENEWAL)
        assert two.bob.leads


async def test_a_leader_that_cannot_renew_stops_before_another_begins(two: Two) -> None:
    async with two.ann.running(), two.bob.running():
        await two.after(10)
        two.ann.leadership.down = True
        await two.after(30)
        assert (two.ann.leads, two.bob.leads) == (False, True)
        stopped, began = two.duties[0].done[-1], two.duties[1].done[0]
        assert began - stopped >= timedelta(seconds=0.2 * LEASE)
        two.ann.leadership.down = False


async def test_a_renewal_that_hangs_does_not_keep_the_leader_in_office(two: Two) -> None:
    async with two.ann.running(), two.bob.running():
        await two.after(10)
        two.ann.leadership.open.clear()
        two.clocks[0].advance(RENEWAL)
        two.clocks[0].advance(LEASE)
        while two.ann.leads:
            await two.ann.breathe()
        last = two.duties[0].done[-1]
        await two.bob.after(LEASE + RENEWAL)
        assert two.bob.leads
        two.ann.leadership.open.set()
        await two.ann.quiet()
        assert two.duties[0].done[-1] == last


async def test_a_store_that_fails_at_the_election_is_asked_again(two: Two) -> None:
    two.ann.leadership.down = True
    async with two.ann.running():
        await two.ann.after(20)
        assert not two.ann.leads
        two.ann.leadership.down = False
        await two.ann.after(RENEWAL)
        assert two.ann.leads


async def test_a_leader_that_was_paused_and_wakes_steps_down_before_it_does_anything(two: Two) -> None:
    async with two.ann.running(), two.bob.running():
        await two.after(10)
        before = list(two.duties[0].done)
        await two.bob.after(60)  # and Ann's time stands still
        assert (two.ann.leads, two.bob.leads) == (True, True), "both believe it"
        two.clocks[0].advance(60)
        while two.ann.leads:
            await two.ann.breathe()
        assert two.duties[0].done == before
        await two.after(30)
        assert (two.ann.leads, two.bob.leads) == (False, True)


async def test_a_leader_that_hears_of_another_steps_down_at_once(two: Two, database: Database) -> None:
    statement = "UPDATE leadership SET term = term + 1, leader = 'wrk_bob', until = until + 30000"
    async with two.ann.running():
        await two.ann.after(1)
        await database.write(lambda connection: connection.execute(statement))
        await two.ann.after(RENEWAL)
        assert not two.ann.leads
        assert two.duties[0].done[-1] <= two.clocks[0].now() - timedelta(seconds=1)


async def test_a_leader_whose_writing_is_refused_steps_down_at_once(two: Two) -> None:
    async def refused(term: Term) -> bool:
        raise TermOver("as the test asked")

    async with two.ann.running():
        await two.ann.after(1)
        two.duties[0].play = refused
        two.clocks[0].advance(1)
        while two.ann.leads:
            await two.ann.breathe()
        await two.ann.quiet()
        two.duties[0].play = None
        await two.ann.after(RENEWAL)
        assert two.ann.leads, "and may be elected again"


# Duties


@pytest.mark.parametrize("error", [StoreUnavailable("the disk is full"), ZeroDivisionError("a mistake")])
async def test_a_duty_that_fails_is_counted_tried_again_and_stops_no_other(
    database: Database, error: Exception
) -> None:
    async def fail(term: Term) -> bool:
        raise error

    clock = FakeClock()
    failing, other = Noting(clock, "failing", play=fail), Noting(clock)
    ann = Candidate("wrk_ann", database, clock, [failing, other])
    async with ann.running():
        await ann.after(5)
        assert (len(failing.done), len(other.done)) == (6, 6)
        assert ann.leads
    assert ann.metrics.registry.get_sample_value("emissary_duties_failed_total", {"duty": "failing"}) == 6


async def test_a_rare_duty_that_fails_is_tried_again_soon(database: Database) -> None:
    async def fail(term: Term) -> bool:
        raise StoreUnavailable("as the test asked")

    clock = FakeClock()
    rare = Noting(clock, every=timedelta(hours=1), play=fail)
    ann = Candidate("wrk_ann", database, clock, [rare])
    async with ann.running():
        await ann.after(31)
        assert len(rare.done) == 2


async def test_a_duty_with_more_to_do_goes_on_at_once_and_others_come_in_between(database: Database) -> None:
    clock = FakeClock()
    portions = iter([True, True, True, False])

    async def portion(term: Term) -> bool:
        return next(portions, False)

    busy, other = Noting(clock, "busy", timedelta(hours=1), portion), Noting(clock)
    ann = Candidate("wrk_ann", database, clock, [busy, other])
    async with ann.running():
        await ann.after(2, step=0.02)
        assert len(busy.done) == 4
        assert len(other.done) == 3


async def test_a_duty_is_told_the_term_it_is_done_in(database: Database) -> None:
    terms: list[Term] = []

    async def note(term: Term) -> bool:
        terms.append(term)
        return False

    clock = FakeClock()
    for _ in range(2):
        ann = Candidate("wrk_ann", database, clock, [Noting(clock, play=note)])
        async with ann.running():
            await ann.after(1)
    assert len({term.number for term in terms}) == 2
    assert [term.number for term in terms] == sorted(term.number for term in terms)


async def test_whoever_does_not_lead_says_nothing_of_how_much_there_is_to_do(database: Database) -> None:
    clock = FakeClock()
    ann = Candidate("wrk_ann", database, clock, [])
    async with ann.running():
        ann.metrics.wanted_workers.set(7)
        await ann.after(1)
    assert ann.metrics.registry.get_sample_value("emissary_wanted_workers") == 0
