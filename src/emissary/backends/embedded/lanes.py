"""The lanes on SQLite. One writer at a time makes every call here a step that nothing can come between."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta

from emissary.backends.embedded import claiming, settling
from emissary.backends.embedded import statements as sql
from emissary.backends.embedded.allowances import QueueRoom
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lining_up import submit
from emissary.backends.embedded.lists import as_list
from emissary.model.ids import JobId, WorkerId
from emissary.model.jobs import NewJob
from emissary.model.lanes import Claim, Claimed, Grip, LaneKey, Report, Taken, Wish
from emissary.model.moments import to_ms

__all__ = ["SqliteLanes"]


class SqliteLanes:
    """Keeps the promise of `ports.lanes.Lanes`."""

    def __init__(self, database: Database) -> None:
        self._write = database.write

    async def submit(
        self, jobs: Sequence[NewJob], now: datetime, *, most_queued: int | None = None
    ) -> frozenset[JobId]:
        room = QueueRoom(most_queued)
        return await self._write(lambda connection: submit(connection, jobs, now, room=room))

    async def claim(self, claim: Claim, now: datetime) -> Claimed:
        return await self._write(lambda connection: claiming.claim(connection, claim, now))

    async def take(self, wishes: Sequence[Wish], now: datetime) -> Taken:
        return await self._write(lambda connection: claiming.take(connection, wishes, now))

    async def renew(self, grips: Sequence[Grip], until: datetime) -> frozenset[LaneKey]:
        def work(connection: sqlite3.Connection) -> frozenset[LaneKey]:
            held = claiming.still_held(connection, grips)
            connection.execute(sql.RENEW, {"until": to_ms(until), "lanes": as_list(list(held.values()))})
            return frozenset(grip.lane for grip in grips if grip.lane not in held)

        return await self._write(work)

    async def settle(self, report: Report, now: datetime) -> frozenset[JobId]:
        return await self._write(lambda connection: settling.settle(connection, report, now))

    async def wake(self, now: datetime) -> int:
        woken = 0
        while some := await self._write(lambda connection: claiming.wake(connection, now)):
            woken += some
        return woken

    async def forsake(self, workers: Sequence[WorkerId], now: datetime, gap: timedelta) -> int:
        return await self._write(lambda connection: settling.forsake(connection, workers, now, gap))

    async def cancel(self, jobs: Sequence[JobId], now: datetime) -> frozenset[JobId]:
        return await self._write(lambda connection: settling.cancel(connection, jobs, now))
