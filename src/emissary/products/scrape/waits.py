"""Says for which lanes a batch waits, at the same cost for ten pages and for a million: by looking at some of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from emissary.engine.jobs import Jobs
from emissary.model.batches import Batch, BatchState, LedgerLine
from emissary.model.ids import JobId
from emissary.model.jobs import JobState
from emissary.model.lanes import WhyWaiting
from emissary.ports.batches import Ledger

__all__ = ["LaneWait", "positions_to_look_at", "waits_of"]

_MOST_LANES = 5
_LAST = 250  # what is left of a batch is mostly what came last
_SPREAD = 250
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class LaneWait:
    """A lane, why its first page of the batch waits, and about how many pages of the batch stand there."""

    why: WhyWaiting
    items: int


@dataclass(slots=True)
class _Lane:
    first: JobId
    position: int
    weight: int = 0


async def waits_of(batch: Batch, ledger: Ledger, jobs: Jobs) -> list[LaneWait]:
    """The lanes where most of the batch waits, the fullest first. Up to 500 pages all are looked at."""
    open_pages = batch.total - batch.counts.ended - batch.active
    if batch.state not in (BatchState.RUNNING, BatchState.PAUSED) or open_pages <= 0:
        return []
    weights = dict(positions_to_look_at(batch.total))
    lanes = _lanes_of(await ledger.at(batch.id, weights), weights)
    fullest = sorted(lanes, key=lambda lane: -lane.weight)[:_MOST_LANES]
    found = [(await jobs.why_waiting(lane.first), lane.weight) for lane in fullest]
    # One that is just being handed out waits no more.
    return [LaneWait(why, min(open_pages, weight)) for why, weight in found if why is not None]


def positions_to_look_at(total: int) -> Iterator[tuple[int, int]]:
    """The last positions, and some that are spread evenly over those before; each with how many it stands for."""
    before = max(0, total - _LAST)
    parts = min(before, _SPREAD)
    for number in range(parts):
        first, end = before * number // parts, before * (number + 1) // parts
        # Not at even distances: lists often go round their hosts, and that would show the same few again and again.
        yield first + int(number * _GOLDEN % 1 * (end - first)), end - first
    yield from ((position, 1) for position in range(before, total))


def _lanes_of(lines: list[LedgerLine], weights: dict[int, int]) -> list[_Lane]:
    lanes: dict[str, _Lane] = {}
    for line in lines:
        if line.state is JobState.WAITING:
            lane = lanes.setdefault(line.lane, _Lane(line.job, line.position))
            lane.weight += weights[line.position]
            if line.position < lane.position:
                lane.first, lane.position = line.job, line.position
    return list(lanes.values())
