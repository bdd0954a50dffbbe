"""What lanes and batches promise, as plain dictionaries: the histories of the store are held against it."""

from dataclasses import dataclass, field

from emissary.model.batches import BatchState, Counts
from emissary.model.ids import BatchId, JobId, WorkerId
from emissary.model.jobs import FINAL_STATES, JobState
from emissary.model.lanes import Grip, Item, LaneKey, Settlement

LANES = [LaneKey(f"host:{name}.example") for name in "abcd"]
WORKERS = [WorkerId(f"wrk_{name}") for name in ("ann", "bob", "cleo")]
DEADLY = 3


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
    batch: BatchId | None
    state: JobState = JobState.WAITING
    result: bytes | None = None
    trial: int = 0  # the fence under which it is on trial
    # Who stood first in a dead worker's hands is the store's to say: so there is a least and a most.
    least_deaths: int = 0
    most_deaths: int = 0


@dataclass(slots=True)
class ModelBatch:
    heard_at: int
    is_sealed: bool = False
    marked: BatchState = BatchState.RUNNING
    jobs: list[JobId] = field(default_factory=list)


@dataclass(slots=True)
class Hand:
    """What a worker believes to hold. It is kept when the lease is lost: so zombies tell their tale, too."""

    worker: WorkerId
    grip: Grip
    items: list[Item] = field(default_factory=list)


@dataclass(slots=True)
class Model:
    """Every lane, job and batch as it should be. Moments are seconds."""

    lanes: dict[LaneKey, ModelLane] = field(default_factory=lambda: {key: ModelLane() for key in LANES})
    jobs: dict[JobId, ModelJob] = field(default_factory=dict)
    batches: dict[BatchId, ModelBatch] = field(default_factory=dict)

    # What is so

    def state_of(self, name: JobId) -> JobState:
        """A job that has not ended ends with its batch."""
        known = self.jobs[name]
        if known.state not in FINAL_STATES and self._marked(known) is BatchState.CANCELLED:
            return JobState.CANCELLED
        return known.state

    def is_open(self, name: JobId) -> bool:
        return self.state_of(name) not in FINAL_STATES

    def batch_state(self, name: BatchId) -> BatchState:
        batch = self.batches[name]
        if batch.marked is BatchState.CANCELLED or not batch.is_sealed or any(map(self.is_open, batch.jobs)):
            return batch.marked
        return BatchState.COMPLETED

    def lost_batches(self, before: int) -> list[BatchId]:
        """Those whose lines should still come, and of which nothing was heard since then."""
        running = (BatchState.RUNNING, BatchState.PAUSED)
        return [
            name
            for name, batch in self.batches.items()
            if not batch.is_sealed and batch.heard_at < before and batch.marked in running
        ]

    def counts(self, name: BatchId) -> Counts:
        states = [self.state_of(each) for each in self.batches[name].jobs]
        ends = (JobState.COMPLETED, JobState.REFUSED, JobState.FAILED, JobState.CANCELLED)
        return Counts(*(states.count(state) for state in ends))

    def takes_in(self, name: BatchId | None) -> bool:
        return name is None or self.batch_state(name) in (BatchState.RUNNING, BatchState.PAUSED)

    def may_be_handed_out(self, name: JobId, now: int) -> bool:
        known = self.jobs[name]
        runs = self._marked(known) is BatchState.RUNNING
        return known.state not in FINAL_STATES and runs and known.not_before <= now

    def is_ready(self, key: LaneKey, now: int) -> bool:
        lane = self.lanes[key]
        if lane.rest_until > now or (lane.holder is not None and lane.until > now):
            return False
        return any(known.lane == key and self.may_be_handed_out(name, now) for name, known in self.jobs.items())

    def holds(self, hand: Hand) -> bool:
        lane = self.lanes[hand.grip.lane]
        return lane.fence == hand.grip.fence and lane.holder is not None

    def may_settle(self, hand: Hand, name: JobId) -> bool:
        lane = self.lanes[hand.grip.lane]
        return self.is_open(name) and self.jobs[name].lane == hand.grip.lane and lane.fence == hand.grip.fence

    def _marked(self, known: ModelJob) -> BatchState:
        return BatchState.RUNNING if known.batch is None else self.batches[known.batch].marked

    # What happens

    def accept(self, name: JobId, job: ModelJob) -> None:
        self.jobs[name] = job
        if job.batch is not None:
            self.batches[job.batch].jobs.append(name)

    def note(self, told: Settlement, now: int, started: int) -> None:
        """The settlement was written."""
        known = self.jobs[told.job]
        known.trial = 0
        if told.state in FINAL_STATES:
            assert known.result is None
            known.state, known.result = told.state, told.result.body if told.result else None
        elif told.retry_at is not None:
            known.not_before = started + int(told.retry_at.timestamp())
        elif told.onward is not None:
            known.lane, known.not_before = told.onward, now

    def release(self, hand: Hand, until: int) -> None:
        lane = self.lanes[hand.grip.lane]
        if lane.fence == hand.grip.fence:
            lane.holder, lane.rest_until = None, max(lane.rest_until, until)

    def give_up_leases(self, now: int) -> None:
        for lane in self.lanes.values():
            if lane.until <= now:
                lane.holder = None

    def forsake(self, worker: WorkerId, rest_until: int) -> set[JobId]:
        """The worker is dead: returns the jobs that it may have died of too often."""
        held = {key for key, lane in self.lanes.items() if lane.holder == worker}
        suspects = set()
        for name, known in self.jobs.items():
            if known.lane in held and self.is_open(name):
                known.most_deaths += 1
                if known.trial == self.lanes[known.lane].fence:
                    known.least_deaths, known.trial = known.least_deaths + 1, 0
                if known.most_deaths >= DEADLY:
                    suspects.add(name)
        for key in held:
            self.lanes[key].holder = None
            self.lanes[key].rest_until = max(self.lanes[key].rest_until, rest_until)
        return suspects

    def put_back(self, name: JobId, now: int) -> None:
        known = self.jobs[name]
        known.state, known.result, known.not_before = JobState.WAITING, None, now
        known.trial = known.least_deaths = known.most_deaths = 0
