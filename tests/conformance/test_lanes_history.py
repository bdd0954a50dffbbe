"""Random histories of several workers on one store, checked step by step against a model of what is promised."""

import asyncio
import tempfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import hypothesis.strategies as st
from history_model import DEADLY, LANES, WORKERS, Hand, Model, ModelBatch, ModelJob
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from making import LEASE_SECONDS, at, done, ended, job, new_batch, onward, release, retry, settle
from openers import OPENERS, Backend, Place

from emissary.model.batches import LOST_AFTER, BatchState
from emissary.model.ids import BatchId, WorkerId
from emissary.model.jobs import FINAL_STATES, JobState, Priority, StoredResult
from emissary.model.lanes import Claim, Item, LaneKey, Lease, Settlement, Trial, Wish

T = TypeVar("T")

SETTINGS = settings(
    max_examples=60,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_LOST_AFTER = int(LOST_AFTER.total_seconds())
_START = int(at(0).timestamp())
_BELOW = "SELECT job FROM items JOIN lanes ON lanes.id = items.lane WHERE items.rank < lanes.low_rank"
_WHICH = st.integers(0, 1_000)
_HOLDING = precondition(lambda self: self.hands)
_BATCHED = precondition(lambda self: self.model.batches)


class LanesHistory(RuleBasedStateMachine):
    kind = "embedded"
    servers: Place
    rows: "asyncpg.Connection[asyncpg.Record] | None" = None  # of a store that keeps bounds

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.now = 0
        self.model = Model()
        self.hands: list[Hand] = []
        self.is_tidy = True
        self.sides = self.run(self._open())

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(step)

    async def _open(self) -> list[Backend]:
        place = Place(Path(self.stack.enter_context(tempfile.TemporaryDirectory())))
        if self.kind == "cluster":
            place = replace(self.servers, folder=place.folder)
            await _empty(place.database_url)
            self.rows = await asyncpg.connect(place.database_url)
            self.stack.push_async_callback(self.rows.close)
        return [await self.stack.enter_async_context(OPENERS[self.kind](place)) for _ in range(2)]

    def side_of(self, worker: WorkerId) -> Backend:
        """Ann works in one process, Bob and Cleo in the other."""
        return self.sides[min(WORKERS.index(worker), 1)]

    # Work comes in

    @rule(
        lane=st.sampled_from(LANES),
        priority=st.sampled_from(Priority),
        delay=st.sampled_from([0, 0, 0, 15]),
        which=_WHICH,
        count=st.integers(1, 3),
    )
    def submit(self, lane: LaneKey, priority: Priority, *, delay: int, which: int, count: int) -> None:
        batch = [None, *self.model.batches][which % (len(self.model.batches) + 1)]
        not_before = at(self.now + delay) if delay else None
        new = [job(lane, priority, not_before, batch=batch) for _ in range(count)]
        accepted = self.run(self.sides[which % 2].lanes.submit(new, at(self.now)))
        assert accepted == (frozenset(each.id for each in new) if self.model.takes_in(batch) else frozenset())
        for each in new:
            if each.id in accepted:
                self.model.accept(each.id, ModelJob(lane, self.now + delay, batch))

    @precondition(lambda self: len(self.model.batches) < 3)
    @rule()
    def open_batch(self) -> None:
        new = new_batch()
        self.run(self.sides[0].batches.open(new, at(self.now)))
        self.model.batches[new.id] = ModelBatch(self.now)

    # Work is done

    @rule(worker=st.sampled_from(WORKERS), most=st.integers(1, 4), items=st.integers(1, 3))
    def claim(self, worker: WorkerId, most: int, items: int) -> None:
        ready = {key for key in LANES if self.model.is_ready(key, self.now)}
        asked = Claim(worker, at(self.now + LEASE_SECONDS), most, items)
        leases = self.run(self.side_of(worker).lanes.claim(asked, at(self.now))).leases
        self.model.give_up_leases(self.now)
        if most == len(LANES) and self.is_tidy:
            assert ready <= {lease.grip.lane for lease in leases}, "a lane with work is forgotten"
        for lease in leases:
            self._check_lease(lease)
            lane = self.model.lanes[lease.grip.lane]
            lane.fence, lane.holder, lane.until = lease.grip.fence, worker, self.now + LEASE_SECONDS
            self.hands.append(Hand(worker, lease.grip))
            self._put_in_hand(self.hands[-1], lease.items)

    @_HOLDING
    @rule(which=_WHICH, items=st.integers(1, 3))
    def take(self, which: int, items: int) -> None:
        hand = self._hand(which)
        wish = Wish(hand.grip, items, frozenset(item.job for item in hand.items))
        taken = self.run(self.side_of(hand.worker).lanes.take([wish], at(self.now)))
        assert (hand.grip.lane in taken.lost) == (not self.model.holds(hand))
        self._put_in_hand(hand, taken.items.get(hand.grip.lane, ()))

    @_HOLDING
    @rule(which=_WHICH, count=st.integers(1, 3), rest=st.sampled_from([None, 0, 20]), leads_on=st.booleans())
    def finish(self, which: int, count: int, rest: int | None, *, leads_on: bool) -> None:
        hand = self._hand(which)
        told = [done(hand.grip, item, _result(hand, item)) for item in hand.items[:count]]
        if leads_on and told:
            news = job(LANES[0], batch=hand.items[0].batch)
            told[0] = done(hand.grip, hand.items[0], _result(hand, hand.items[0]), news)
        self._settle(hand, told, rest)

    @_HOLDING
    @rule(which=_WHICH, state=st.sampled_from([JobState.FAILED, JobState.REFUSED]))
    def end_badly(self, which: int, state: JobState) -> None:
        hand = self._hand(which)
        self._settle(hand, [ended(hand.grip, item, state) for item in hand.items[:1]], None)

    @_HOLDING
    @rule(which=_WHICH, delay=st.integers(0, 30))
    def put_off(self, which: int, delay: int) -> None:
        hand = self._hand(which)
        self._settle(hand, [retry(hand.grip, item, self.now + delay) for item in hand.items[:1]], None)

    @_HOLDING
    @rule(which=_WHICH, lane=st.sampled_from(LANES))
    def send_onward(self, which: int, lane: LaneKey) -> None:
        hand = self._hand(which)
        self._settle(hand, [onward(hand.grip, item, lane) for item in hand.items[:1]], None)

    @_HOLDING
    @rule(which=_WHICH, rest=st.sampled_from([0, 20]))
    def give_back(self, which: int, rest: int) -> None:
        self._settle(self._hand(which), [], rest)

    @_HOLDING
    @rule(which=_WHICH)
    def renew(self, which: int) -> None:
        hand, until = self._hand(which), self.now + LEASE_SECONDS
        lost = self.run(self.side_of(hand.worker).lanes.renew([hand.grip], at(until)))
        assert bool(lost) == (not self.model.holds(hand))
        if not lost:
            self.model.lanes[hand.grip.lane].until = until

    @_HOLDING
    @rule(which=_WHICH)
    def try_out(self, which: int) -> None:
        hand = self._hand(which)
        for item in hand.items[:1]:
            self.run(settle(self.side_of(hand.worker).lanes, Trial(hand.grip, item.job), seconds=self.now))
            if self.model.may_settle(hand, item.job):
                self.model.jobs[item.job].trial = hand.grip.fence

    # Work is called off

    @precondition(lambda self: self.model.jobs)
    @rule(which=_WHICH)
    def cancel(self, which: int) -> None:
        name = list(self.model.jobs)[which % len(self.model.jobs)]
        gone = self.run(self.sides[which % 2].lanes.cancel([name], at(self.now)))
        assert gone == ({name} if self.model.is_open(name) else frozenset())
        if gone:
            self.model.jobs[name].state = JobState.CANCELLED

    @_BATCHED
    @rule(which=_WHICH)
    def seal(self, which: int) -> None:
        batch = self._batch(which)
        self.run(self.sides[which % 2].batches.seal(batch))
        self.model.batches[batch].is_sealed = True

    @_BATCHED
    @rule(which=_WHICH, state=st.sampled_from(["running", "running", "paused", "paused", "cancelled"]))
    def mark(self, which: int, state: str) -> None:
        batch, asked = self._batch(which), BatchState(state)
        marked = self.run(self.sides[which % 2].batches.mark(batch, asked, at(self.now)))
        assert marked == (self.model.batch_state(batch) in (BatchState.RUNNING, BatchState.PAUSED))
        if marked:
            self.is_tidy = self.is_tidy and self.model.batches[batch].marked is asked
            self.model.batches[batch].marked = asked

    @_BATCHED
    @rule(which=_WHICH)
    def hear(self, which: int) -> None:
        batch = self._batch(which)
        self.run(self.sides[which % 2].batches.hear(batch, at(self.now)))
        self.model.batches[batch].heard_at = self.now

    @rule(most=st.integers(1, 20))
    def tidy(self, most: int) -> None:
        lost = self.model.lost_batches(self.now - _LOST_AFTER)
        has_more = self.run(self.sides[0].batches.tidy(at(self.now), most=most)) > 0
        cancelled = [name for name in lost if self._is_cancelled(name)]
        assert len(cancelled) >= min(most, len(lost)), "nobody fills it any more, and it goes on"
        for name in cancelled:
            self.model.batches[name].marked = BatchState.CANCELLED
        self.is_tidy = not has_more or (self.is_tidy and not cancelled)

    def _is_cancelled(self, batch: BatchId) -> bool:
        found = self.run(self.sides[0].batches.find(batch))
        return found is not None and found.state is BatchState.CANCELLED

    @_BATCHED
    @rule(which=_WHICH, state=st.sampled_from([JobState.FAILED, JobState.REFUSED]), most=st.integers(1, 3))
    def do_again(self, which: int, state: JobState, most: int) -> None:
        batch = self._batch(which)
        known = self.model.batches[batch]
        number = self.run(self.sides[which % 2].batches.again(batch, {state}, at(self.now), most=most))
        may = known.is_sealed and known.marked is not BatchState.CANCELLED
        which_ended = [name for name in known.jobs if self.model.jobs[name].state is state] if may else []
        assert number == min(most, len(which_ended))
        if number and known.marked is BatchState.PAUSED and not any(map(self.model.is_open, known.jobs)):
            known.marked = BatchState.RUNNING  # it had ended, and begins anew
        for name in which_ended[:number]:
            self.model.put_back(name, self.now)

    @rule(worker=st.sampled_from(WORKERS), rest=st.integers(0, 20))
    def forsake(self, worker: WorkerId, rest: int) -> None:
        held = sum(lane.holder == worker for lane in self.model.lanes.values())
        gap = at(self.now + rest) - at(self.now)
        assert self.run(self.sides[0].lanes.forsake([worker], at(self.now), gap)) == held
        for name in self.model.forsake(worker, self.now + rest):
            known, found = self.model.jobs[name], self.run(self.sides[0].jobs.job(name, at(self.now)))
            assert found is not None
            if found.state is JobState.FAILED:
                known.state = JobState.FAILED
            assert found.state is JobState.FAILED or known.least_deaths < DEADLY, "three died of it, and it goes on"

    @rule(seconds=st.sampled_from([1, 10, 60, LEASE_SECONDS]))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds

    # What must hold

    @invariant()
    def every_job_is_where_the_model_says(self) -> None:
        assert self.run(self.sides[1].jobs.depth()) == sum(map(self.model.is_open, self.model.jobs))

    @invariant()
    def every_batch_counts_what_its_ledger_says(self) -> None:
        for name, known in self.model.batches.items():
            found = self.run(self.sides[1].batches.find(name))
            assert found is not None
            assert (found.state, found.sealed) == (self.model.batch_state(name), known.is_sealed)
            assert (found.total, found.counts) == (len(known.jobs), self.model.counts(name))
            lines = self.run(self.sides[1].ledger.lines(name, after=-1, most=10_000))
            assert [line.job for line in lines] == known.jobs
            ends = [line.state if line.state in FINAL_STATES else JobState.WAITING for line in lines]
            assert ends == [self.model.state_of(line.job) for line in lines]

    @invariant()
    def nothing_stands_below_the_bound_of_its_lane(self) -> None:
        if self.rows is not None:
            assert self.run(self.rows.fetch(_BELOW)) == []

    def teardown(self) -> None:
        try:
            self._drain()
            self._check_ends()
        finally:
            self.run(self.stack.aclose())
            self.runner.close()

    def _drain(self) -> None:
        """After all leases, rests and pauses, one worker finishes whatever is left."""
        self.now += 10 * LEASE_SECONDS
        for place, known in enumerate(list(self.model.batches.values())):
            if known.marked is BatchState.PAUSED:
                self.mark(place, "running")
        while not self.is_tidy:
            self.tidy(1_000)
        for _ in range(len(self.model.jobs) + len(LANES) + 1):
            first = len(self.hands)
            self.claim(WORKERS[0], len(LANES), 100)
            for hand in self.hands[first:]:
                self._settle(hand, [done(hand.grip, item, _result(hand, item)) for item in hand.items], 0)
        claimed = self.run(self.sides[0].lanes.claim(Claim(WORKERS[0], at(self.now), 9, 9), at(self.now)))
        assert (claimed.leases, claimed.next_ready_at) == ((), None)

    def _check_ends(self) -> None:
        assert self.run(self.sides[0].jobs.depth()) == 0
        for name, expected in self.model.jobs.items():
            found = self.run(self.sides[0].jobs.job(name, at(self.now)))
            assert found is not None
            assert found.state == self.model.state_of(name)
            assert (found.result and found.result.body) == expected.result

    # Between the two

    def _check_lease(self, lease: Lease) -> None:
        lane = self.model.lanes[lease.grip.lane]
        assert lease.grip.fence > lane.fence
        assert lane.holder is None, "the lane is in another's hands"
        assert lane.rest_until <= self.now, "the lane still rests"
        assert lease.items, "a lane without work is of use to nobody"
        assert [item.rank for item in lease.items] == sorted(item.rank for item in lease.items)

    def _put_in_hand(self, hand: Hand, items: tuple[Item, ...]) -> None:
        mine = {item.job for item in hand.items}
        for item in items:
            known = self.model.jobs[item.job]
            assert self.model.may_be_handed_out(item.job, self.now)
            assert (known.lane, known.batch) == (hand.grip.lane, item.batch)
            assert item.job not in mine, "handed out twice"
            assert known.least_deaths <= item.deaths <= known.most_deaths
            known.least_deaths = item.deaths
            hand.items.append(item)

    def _settle(self, hand: Hand, told: list[Settlement], rest: int | None) -> None:
        expected = {each.job for each in told if self.model.may_settle(hand, each.job)}
        releases = [] if rest is None else [release(hand.grip, self.now + rest)]
        written = self.run(settle(self.side_of(hand.worker).lanes, *told, *releases, seconds=self.now))
        assert written == expected
        for each in told:
            if each.job in written:
                for new in each.follow_ups:
                    self.model.accept(new.id, ModelJob(LaneKey(new.lane), self.now, new.batch))
                self.model.note(each, self.now, -_START)
        hand.items = [item for item in hand.items if item.job not in written]
        if rest is not None:
            self.model.release(hand, self.now + rest)

    def _hand(self, which: int) -> Hand:
        return self.hands[which % len(self.hands)]

    def _batch(self, which: int) -> BatchId:
        return list(self.model.batches)[which % len(self.model.batches)]


def _result(hand: Hand, item: Item) -> StoredResult:
    return StoredResult(b"{}", f"{item.job} by {hand.worker} under {hand.grip.fence}".encode())


async def _empty(database_url: str) -> None:
    """A new history begins with nothing; that is sooner done than a new database."""
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "TRUNCATE tenants, flows, batches, tallies, marks, lanes, jobs, items, results RESTART IDENTITY CASCADE;"
        "ALTER SEQUENCE fair_clock RESTART"
    )
    await connection.close()


def test_every_history_of_the_lanes_keeps_their_promise(kind: str, place: Place) -> None:
    machine = type("History", (LanesHistory,), {"kind": kind, "servers": place})
    fewer = settings(SETTINGS, max_examples=40) if kind == "cluster" else SETTINGS  # each of its steps is synced
    run_state_machine_as_test(machine, settings=fewer)
