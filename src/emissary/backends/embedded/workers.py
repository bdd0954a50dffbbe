"""Who works on this directory: a file each, locked for as long as its process lives.

The kernel gives a lock up when its holder dies, however it dies, so the dead are known at once and for certain.
"""

import asyncio
import fcntl
from pathlib import Path
from typing import IO

from emissary.backends.embedded.database import Database
from emissary.model.ids import WorkerId

__all__ = ["LockedWorkers"]


class LockedWorkers:
    """Keeps the promise of `ports.records.WorkerRecords` for the processes of one machine."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._mine: dict[WorkerId, IO[bytes]] = {}

    async def enlist(self, worker: WorkerId) -> None:
        self._mine[worker] = await asyncio.to_thread(self._lock, worker)

    async def beat(self, worker: WorkerId) -> None:
        """The lock says it, for as long as the process lives."""

    async def leave(self, worker: WorkerId) -> None:
        file = self._mine.pop(worker)
        self._path(worker).unlink(missing_ok=True)
        file.close()

    async def living(self) -> list[WorkerId]:
        names = await asyncio.to_thread(lambda: [WorkerId(path.stem) for path in self._folder.glob("*.lock")])
        return [worker for worker in names if self._lives(worker)]

    async def dead(self) -> list[WorkerId]:
        statement = "SELECT DISTINCT holder FROM lanes WHERE holder IS NOT NULL"
        rows = await self._database.read(lambda connection: connection.execute(statement).fetchall())
        return [worker for (worker,) in rows if not self._lives(WorkerId(worker))]

    def _lock(self, worker: WorkerId) -> IO[bytes]:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._path(worker).open("wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise
        return file

    def _lives(self, worker: WorkerId) -> bool:
        try:
            with self._path(worker).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        self._path(worker).unlink(missing_ok=True)
        return False

    def _path(self, worker: WorkerId) -> Path:
        return self._folder / f"{worker}.lock"
