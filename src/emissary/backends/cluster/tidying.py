"""What cancelling, pausing and going on with a batch leave behind: some of it at a time, while the batch is locked."""

from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from emissary.backends.cluster import batch_statements as sql
from emissary.backends.cluster.database import Connection, Record
from emissary.backends.cluster.lining_up import LaneRow, lock_ids, lower, place
from emissary.backends.cluster.settling import Tally, count
from emissary.model.batches import BatchState
from emissary.model.fairness import ONE, PARKED, rank_of
from emissary.model.jobs import JobState, Priority

__all__ = ["fresh_ranks", "tidy_some"]


async def fresh_ranks(connection: Connection, batch: Record, number: int) -> list[int]:
    """The next turns of the batch: it begins at the clock, and has saved up none while it was away."""
    ((first, step),) = await connection.fetch(sql.ADVANCE, batch["flow"], number, ONE)
    priority = Priority(batch["priority"])
    return [rank_of(first + index * step, priority) for index in range(number)]


async def tidy_some(connection: Connection, batch: Record, now: datetime, *, most: int, shard: int) -> int:
    """Do it for the next jobs of the batch, and note how far that is; returns how many they were."""
    seen = await connection.fetch(sql.NEXT_JOBS, batch["flow"], batch["tidied_to"], most)
    lanes = await lock_ids(connection, {job["lane"] for job in seen if job["open"]})
    # Until their lanes were locked, they may have been handed out, have ended or moved on: only now it is sure.
    jobs = await connection.fetch(sql.NEXT_JOBS, batch["flow"], batch["tidied_to"], most)
    sure = list(takewhile(lambda job: not job["open"] or job["lane"] in lanes, jobs))
    await _Portion(connection, batch, lanes, now, shard).carry_out([job for job in sure if job["open"]])
    if len(sure) == len(jobs) < most:
        await connection.execute(sql.TIDIED, batch["id"], None)
    elif sure:
        await connection.execute(sql.TIDIED, batch["id"], sure[-1]["position"])
    return len(sure)


@dataclass(frozen=True, slots=True)
class _Portion:
    """Some of a batch, whose lanes are locked."""

    connection: Connection
    batch: Record
    lanes: dict[int, LaneRow]
    now: datetime
    shard: int

    async def carry_out(self, jobs: list[Record]) -> None:
        """What the state of the batch means for these of its jobs."""
        idle = [job for job in jobs if not job["in_hand"]]
        match BatchState(self.batch["state"]):
            case BatchState.CANCELLED:
                await self._end(jobs)
            case BatchState.PAUSED:
                # They stand behind all others, so that nobody has to look past them. What is in hand comes to its end.
                awake = [job for job in idle if job["rank"] < PARKED]
                await self._rerank(awake, [job["rank"] + PARKED for job in awake])
            case _:
                await self._rerank(idle, await fresh_ranks(self.connection, self.batch, len(idle)))
        await place(self.connection, [self.lanes[lane] for lane in {job["lane"] for job in jobs}], self.now)

    async def _end(self, jobs: list[Record]) -> None:
        ids = [job["id"] for job in jobs]
        gone = await self.connection.fetch(sql.END_JOBS, ids, self.batch["finished_at"])
        await self.connection.execute(sql.DROP_ITEMS_OF, ids)
        tally = Tally()
        tally.add(JobState.CANCELLED, len(gone))
        await count(self.connection, {self.batch["flow"]: tally}, self.shard)

    async def _rerank(self, jobs: list[Record], ranks: list[int]) -> None:
        columns = [[job[name] for job in jobs] for name in ("id", "lane", "rank")]
        moved = await self.connection.fetch(sql.RERANK_ITEMS, *columns, ranks)
        await lower(self.connection, self.lanes, [(item["lane"], item["rank"]) for item in moved])
        new = [[item[name] for item in moved] for name in ("job", "rank")]
        await self.connection.execute(sql.RERANK_JOBS, *new)
