"""Random histories of several workers on one store, checked step by step against a model of the lanes' promise."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from making import LEASE_SECONDS, at, done, job, onward, release, retry, settle
from openers import OPENERS, Backend, Place

from emissary.model.ids import JobId, WorkerId
from emissary.model.jobs import FINAL_STATES, JobState, Priority, StoredResult
from emissary.model.lanes import Grip, Item, LaneKey, Lease, Settlement

LANES = [LaneKey(f"host:{name}.example") for name in "abcd"]
WORKERS = [WorkerId(f"wrk_{name}") for name in ("ann", "bob", "cleo")]
SETTINGS = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@dataclass(slots=True)
class ModelLane:
    fence: int = 0
    holder: WorkerId | None = None
    until: int = 0
    rest_until: int = 0


@dataclass(slots=True)
class ModelJob:
    lane: LaneKey
    not_before: int
    state: JobState = JobState.WAITING
    taken: int = 0  # the fence under which it is in hand; the lane's may have grown since
    result: bytes | None = None


@dataclass(slots=True)
class Hand:
    """What a worker believes to hold. It is kept when the lease is lost: so zombies tell their tale, too."""

    worker: WorkerId
    grip: Grip
    items: list[Item] = field(default_factory=list)


class LanesHistory(RuleBasedStateMachine):
    kind = "embedded"

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.now = 0
        self.lanes = {key: ModelLane() for key in LANES}
        self.jobs: dict[JobId, ModelJob] = {}
        self.hands: list[Hand] = []
        self.sides = self.runner.run(self._open())

    async def _open(self) -> list[Backend]:
        place = Place(Path(self.stack.enter_context(tempfile.TemporaryDirectory())))
        return [await self.stack.enter_async_context(OPENERS[self.kind](place)) for _ in range(2)]

    def side_of(self, worker: WorkerId) -> Backend:
        """Ann works in one process, Bob and Cleo in the other."""
        return self.sides[min(WORKERS.index(worker), 1)]

    # Steps

    @rule(lane=st.sampled_from(LANES), priority=st.sampled_from(Priority), delay=st.sampled_from([0, 0, 0, 15]))
    def submit(self, lane: LaneKey, priority: Priority, delay: int) -> None:
        new = job(lane, priority, at(self.now + delay) if delay else None)
        self.runner.run(self.sides[delay % 2].lanes.submit([new], at(self.now)))
        self.jobs[new.id] = ModelJob(lane, self.now + delay)

    @rule(worker=st.sampled_from(WORKERS), most=st.integers(1, 4), items=st.integers(1, 3))
    def claim(self, worker: WorkerId, most: int, items: int) -> None:
        ready = {key for key in LANES if self._is_ready(key)}
        leases = self._claim(worker, most, items)
        given = {lease.grip.lane for lease in leases}
        if most == len(LANES):
            assert ready <= given, "a lane with work is forgotten"
        for lease in leases:
            self._check_lease(lease)
            lane = self.lanes[lease.grip.lane]
            lane.fence, lane.holder, lane.until = lease.grip.fence, worker, self.now + LEASE_SECONDS
            self.hands.append(Hand(worker, lease.grip))
            self._put_in_hand(self.hands[-1], lease.items)

    @precondition(lambda self: self.hands)
    @rule(which=st.integers(0), items=st.integers(1, 3))
    def take(self, which: int, items: int) -> None:
        hand = self._hand(which)
        taken = self.runner.run(self.side_of(hand.worker).lanes.take([hand.grip], items, at(self.now)))
        assert (hand.grip.lane in taken.lost) == (not self._holds(hand))
        self._put_in_hand(hand, taken.items.get(hand.grip.lane, ()))

    @precondition(lambda self: self.hands)
    @rule(which=st.integers(0), count=st.integers(1, 3), rest=st.sampled_from([None, 0, 20]))
    def finish(self, which: int, count: int, rest: int | None) -> None:
        hand = self._hand(which)
        told = [done(hand.grip, item, _result(hand, item)) for item in hand.items[:count]]
        self._settle(hand, told, rest)

    @precondition(lambda self: self.hands)
    @rule(which=st.integers(0), delay=st.integers(0, 30))
    def put_off(self, which: int, delay: int) -> None:
        hand = self._hand(which)
        self._settle(hand, [retry(hand.grip, item, self.now + delay) for item in hand.items[:1]], None)

    @precondition(lambda self: self.hands)
    @rule(which=st.integers(0), lane=st.sampled_from(LANES))
    def send_onward(self, which: int, lane: LaneKey) -> None:
        hand = self._hand(which)
        self._settle(hand, [onward(hand.grip, item, lane) for item in hand.items[:1]], None)

    @precondition(lambda self: self.hands)
    @rule(which=st.integers(0), rest=st.sampled_from([0, 20]))
    def give_back(self, which: int, rest: int) -> None:
        self._settle(self._hand(which), [], rest)

    @precondition(lambda self: self.hands)
    @rule(which=st.integers(0))
    def renew(self, which: int) -> None:
        hand, until = self._hand(which), self.now + LEASE_SECONDS
        lost = self.runner.run(self.side_of(hand.worker).lanes.renew([hand.grip], at(until)))
        assert bool(lost) == (not self._holds(hand))
        if not lost:
            self.lanes[hand.grip.lane].until = until

    @precondition(lambda self: self.jobs)
    @rule(which=st.integers(0))
    def cancel(self, which: int) -> None:
        name = list(self.jobs)[which % len(self.jobs)]
        ended = self.runner.run(self.sides[which % 2].lanes.cancel([name], at(self.now)))
        was_open = self.jobs[name].state not in FINAL_STATES
        assert ended == ({name} if was_open else frozenset())
        if was_open:
            self.jobs[name].state = JobState.CANCELLED

    @rule(worker=st.sampled_from(WORKERS), rest=st.integers(0, 20))
    def forsake(self, worker: WorkerId, rest: int) -> None:
        held = [lane for lane in self.lanes.values() if lane.holder == worker]
        assert self.runner.run(
            self.sides[0].lanes.forsake([worker], at(self.now), at(self.now + rest) - at(self.now))
        ) == len(held)
        for lane in held:
            lane.holder, lane.rest_until = None, max(lane.rest_until, self.now + rest)

    @rule(seconds=st.sampled_from([1, 10, 60, LEASE_SECONDS]))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds

    # What must hold

    @invariant()
    def every_job_is_where_the_model_says(self) -> None:
        open_jobs = [each for each in self.jobs.values() if each.state not in FINAL_STATES]
        assert self.runner.run(self.sides[1].jobs.depth()) == len(open_jobs)

    def teardown(self) -> None:
        try:
            self._drain()
            self._check_ends()
        finally:
            self.runner.run(self.stack.aclose())
            self.runner.close()

    def _drain(self) -> None:
        """After all leases and rests, one worker finishes whatever is left."""
        self.now += 10 * LEASE_SECONDS
        for _ in range(len(self.jobs) + len(LANES) + 1):
            first = len(self.hands)
            self.claim(WORKERS[0], len(LANES), 100)
            for hand in self.hands[first:]:
                self._settle(hand, [done(hand.grip, item, _result(hand, item)) for item in hand.items], 0)
        claimed = self.runner.run(self.sides[0].lanes.claim(WORKERS[0], at(self.now), at(self.now), lanes=9, items=9))
        assert (claimed.leases, claimed.next_ready_at) == ((), None)

    def _check_ends(self) -> None:
        assert self.runner.run(self.sides[0].jobs.depth()) == 0
        for name, expected in self.jobs.items():
            found = self.runner.run(self.sides[0].jobs.job(name, at(self.now)))
            assert found is not None
            assert found.state in FINAL_STATES
            assert found.state == expected.state
            assert (found.result and found.result.body) == expected.result

    # The model

    def _is_ready(self, key: LaneKey) -> bool:
        lane = self.lanes[key]
        if lane.rest_until > self.now or (lane.holder is not None and lane.until > self.now):
            return False
        return any(
            each.lane == key and each.not_before <= self.now
            for each in self.jobs.values()
            if each.state not in FINAL_STATES
        )

    def _claim(self, worker: WorkerId, most: int, items: int) -> tuple[Lease, ...]:
        until, now = at(self.now + LEASE_SECONDS), at(self.now)
        claimed = self.runner.run(self.side_of(worker).lanes.claim(worker, until, now, lanes=most, items=items))
        for lane in self.lanes.values():
            if lane.until <= self.now:
                lane.holder = None
        return claimed.leases

    def _check_lease(self, lease: Lease) -> None:
        lane = self.lanes[lease.grip.lane]
        assert lease.grip.fence > lane.fence
        assert lane.holder is None, "the lane is in another's hands"
        assert lane.rest_until <= self.now, "the lane still rests"
        assert [item.rank for item in lease.items] == sorted(item.rank for item in lease.items)

    def _put_in_hand(self, hand: Hand, items: tuple[Item, ...]) -> None:
        for item in items:
            known = self.jobs[item.job]
            assert known.state not in FINAL_STATES
            assert (known.lane, known.not_before <= self.now) == (hand.grip.lane, True)
            assert known.taken != hand.grip.fence, "handed out twice under one fence"
            known.taken = hand.grip.fence
            hand.items.append(item)

    def _settle(self, hand: Hand, told: list[Settlement], rest: int | None) -> None:
        expected = {each.job for each in told if self._may_settle(hand, each.job)}
        releases = [] if rest is None else [release(hand.grip, self.now + rest)]
        written = self.runner.run(settle(self.side_of(hand.worker).lanes, *told, *releases, seconds=self.now))
        assert written == expected
        for each in told:
            if each.job in written:
                self._note(each)
        lane = self.lanes[hand.grip.lane]
        if rest is not None and lane.fence == hand.grip.fence:
            lane.holder, lane.rest_until = None, max(lane.rest_until, self.now + rest)

    def _note(self, told: Settlement) -> None:
        known = self.jobs[told.job]
        known.taken = 0
        if told.state in FINAL_STATES:
            assert known.result is None
            known.state, known.result = told.state, told.result.body if told.result else None
        elif told.retry_at is not None:
            known.not_before = int((told.retry_at - at(0)).total_seconds())
        elif told.onward is not None:
            known.lane, known.not_before = told.onward, 0

    def _may_settle(self, hand: Hand, name: JobId) -> bool:
        known, lane = self.jobs[name], self.lanes[hand.grip.lane]
        in_hand = known.lane == hand.grip.lane and known.taken == hand.grip.fence
        return known.state not in FINAL_STATES and in_hand and lane.fence == hand.grip.fence

    def _holds(self, hand: Hand) -> bool:
        lane = self.lanes[hand.grip.lane]
        return lane.fence == hand.grip.fence and lane.holder is not None

    def _hand(self, which: int) -> Hand:
        return self.hands[which % len(self.hands)]


def _result(hand: Hand, item: Item) -> StoredResult:
    return StoredResult(b"{}", f"{item.job} by {hand.worker} under {hand.grip.fence}".encode())


def test_every_history_of_the_lanes_keeps_their_promise(kind: str) -> None:
    machine = type("History", (LanesHistory,), {"kind": kind})
    run_state_machine_as_test(machine, settings=SETTINGS)
