"""The lanes on PostgreSQL. Whoever changes a lane, or what stands in it, has locked it before."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from emissary.backends.cluster import settling_statements as ends
from emissary.backends.cluster import statements as sql
from emissary.backends.cluster.allowances import QueueRoom
from emissary.backends.cluster.claiming import claim, take
from emissary.backends.cluster.database import Connection, Database
from emissary.backends.cluster.flows import FlowBook
from emissary.backends.cluster.lining_up import lock_ids, place, submit
from emissary.backends.cluster.lookout import Lookout, wake
from emissary.backends.cluster.outages import gave_way
from emissary.backends.cluster.settling import Overtaken, Tally, count, forsake, job_of, settle
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import JobId, WorkerId, ulid_of
from emissary.model.jobs import JobState, NewJob
from emissary.model.lanes import Claim, Claimed, Grip, LaneKey, Report, Taken, Wish
from emissary.model.moments import to_ms

__all__ = ["PostgresLanes"]

T = TypeVar("T")

_TRIES = 5


class PostgresLanes:
    """Keeps the promise of `ports.lanes.Lanes`. `shard` is this process's own part of the counts."""

    def __init__(self, database: Database, shard: int) -> None:
        self._database = database
        self._shard = shard
        self._book = FlowBook()
        self._lookout = Lookout()

    async def submit(
        self, jobs: Sequence[NewJob], now: datetime, *, most_queued: int | None = None
    ) -> frozenset[JobId]:
        if not jobs:
            return frozenset()
        room = QueueRoom(most_queued)
        accepted = await self._in_one_go(lambda connection: submit(connection, jobs, now, self._book, room=room))
        self._book.note_made(jobs)
        return accepted

    async def claim(self, asked: Claim, now: datetime) -> Claimed:
        return await self._in_one_go(
            lambda connection: claim(connection, asked, now, self._book, lookout=self._lookout)
        )

    async def take(self, wishes: Sequence[Wish], now: datetime) -> Taken:
        return await self._in_one_go(
            lambda connection: take(connection, wishes, now, self._book, lookout=self._lookout)
        )

    async def renew(self, grips: Sequence[Grip], until: datetime) -> frozenset[LaneKey]:
        keys, fences = [grip.lane for grip in grips], [grip.fence for grip in grips]
        rows = await self._in_one_go(lambda connection: connection.fetch(sql.RENEW, keys, fences, to_ms(until)))
        self._lookout.whereabouts.note((row["key"], row["ctid"]) for row in rows)
        return frozenset(keys) - {row["key"] for row in rows}

    async def settle(self, report: Report, now: datetime) -> frozenset[JobId]:
        places = self._lookout.whereabouts
        written = await self._in_one_go(
            lambda connection: settle(connection, report, now, shard=self._shard, book=self._book, whereabouts=places)
        )
        places.forget(release.grip.lane for release in report.releases)
        self._book.note_made(written.follow_ups)
        return written.jobs

    async def wake(self, now: datetime) -> int:
        async def work(connection: Connection) -> int:
            _, woken = await wake(connection, await self._lookout.look(connection), to_ms(now))
            return woken

        return await self._in_one_go(work)

    async def forsake(self, workers: Sequence[WorkerId], now: datetime, gap: timedelta) -> int:
        return await self._in_one_go(
            lambda connection: forsake(connection, workers, now, gap, shard=self._shard, book=self._book)
        )

    async def cancel(self, jobs: Sequence[JobId], now: datetime) -> frozenset[JobId]:
        ids = [identity for identity in map(ulid_of, jobs) if identity is not None]

        async def work(connection: Connection) -> frozenset[JobId]:
            open_jobs = await connection.fetch(ends.JOBS_TO_CANCEL, ids)
            lanes = await lock_ids(connection, {row["lane"] for row in open_jobs})
            ended = await connection.fetch(ends.CANCEL_JOBS, [row["id"] for row in open_jobs], to_ms(now))
            where = [[row[name] for row in ended] for name in ("lane", "rank", "id")]
            await connection.execute(ends.SHARE_FLOWS, list({row["flow"] for row in ended}))
            await connection.fetch(ends.DROP_ITEMS, *where)
            tallies: dict[int, Tally] = {}
            for row in ended:
                tallies.setdefault(row["flow"], Tally()).add(JobState.CANCELLED)
            await count(connection, tallies, self._shard)
            await place(connection, lanes.values(), now)
            return frozenset(job_of(row["id"]) for row in ended)

        return await self._in_one_go(work) if ids else frozenset()

    async def _in_one_go(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run the work in a transaction; the server may choose it as the one to give way to another, so try again."""
        for tries_left in reversed(range(_TRIES)):
            try:
                async with self._database.transaction() as connection:
                    return await work(connection)
            except Overtaken:
                continue  # cancelling happens once to a batch, so this ends
            except StoreUnavailable as error:
                if not gave_way(error) or not tries_left:
                    raise
        raise AssertionError("the last try returns or raises")
