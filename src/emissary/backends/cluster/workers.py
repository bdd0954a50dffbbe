"""Who works on this database: a row each, touched for as long as its worker lives."""

from emissary.backends.cluster.database import Database
from emissary.model.ids import WorkerId

__all__ = ["BeatingWorkers"]

_ALIVE = "beat_at > now() - interval '30 seconds'"


class BeatingWorkers:
    """Keeps the promise of `ports.records.WorkerRecords`: whoever has not been heard of for half a minute is dead.

    Moments are the database's own, so that the clocks of the machines need not agree.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enlist(self, worker: WorkerId) -> None:
        await self._database.write("DELETE FROM workers WHERE beat_at < now() - interval '1 day'")
        await self.beat(worker)

    async def beat(self, worker: WorkerId) -> None:
        statement = "INSERT INTO workers (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET beat_at = now()"
        await self._database.write(statement, worker)

    async def leave(self, worker: WorkerId) -> None:
        await self._database.write("DELETE FROM workers WHERE id = $1", worker)

    async def living(self) -> list[WorkerId]:
        rows = await self._database.read(f"SELECT id FROM workers WHERE {_ALIVE} ORDER BY id")  # noqa: S608 - our own
        return [WorkerId(row[0]) for row in rows]

    async def dead(self) -> list[WorkerId]:
        statement = f"""SELECT DISTINCT holder FROM lanes WHERE holder IS NOT NULL AND NOT EXISTS (
                            SELECT 1 FROM workers WHERE id = holder AND {_ALIVE})"""  # noqa: S608 - our own
        return [WorkerId(row[0]) for row in await self._database.read(statement)]
