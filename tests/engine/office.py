"""An office: candidates for the lead of one store, each a process with a clock of its own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.leadership import SqliteLeadership
from emissary.engine.coordinator import Coordinator, Duty, Tenure
from emissary.model.ids import WorkerId
from emissary.model.leadership import Term
from emissary.telemetry.metrics import Metrics
from emissary.testing.clock import FakeClock
from emissary.testing.coordination import ShakyLeadership

LEASE, RENEWAL = 15, 5
TENURE = Tenure(timedelta(seconds=LEASE), timedelta(seconds=RENEWAL))


@dataclass(slots=True)
class Noting:
    """A duty that notes when it was done, and does what the test hands it."""

    clock: FakeClock
    name: str = "noting"
    every: timedelta = timedelta(seconds=1)
    play: Callable[[Term], Awaitable[bool]] | None = None
    done: list[datetime] = field(default_factory=list)

    async def do(self, term: Term, /) -> bool:
        self.done.append(self.clock.now())
        return False if self.play is None else await self.play(term)


class Candidate:
    """A process: while its clock stands still, it is paused."""

    def __init__(self, name: str, database: Database, clock: FakeClock, duties: Sequence[Duty]) -> None:
        self.clock = clock
        self.metrics = Metrics()
        self.leadership = ShakyLeadership(SqliteLeadership(database))
        self._database = database
        self._duties = len(duties)
        self._coordinator = Coordinator(
            WorkerId(name), self.leadership, duties, clock=clock, metrics=self.metrics, tenure=TENURE
        )

    @property
    def leads(self) -> bool:
        return self.metrics.registry.get_sample_value("emissary_leads") == 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Until the end of the block, and then in order; a test that hangs fails instead."""
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            group.create_task(self._coordinator.run())
            await self.quiet()
            yield
            self._coordinator.stop()

    @asynccontextmanager
    async def dying(self) -> AsyncIterator[None]:
        """Until the end of the block, and then as a process that is killed: nothing of it is said to anybody."""
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            task = group.create_task(self._coordinator.run())
            await self.quiet()
            yield
            self.leadership.down = True
            task.cancel()

    async def quiet(self) -> None:
        """Come back when it has nothing to do before its clock goes on."""
        while len(self.clock.waits) != (2 + self._duties if self.leads else 1):
            await self.breathe()

    async def breathe(self) -> None:
        await self._database.read(lambda connection: connection.execute("SELECT 1").fetchone())

    async def after(self, seconds: float, step: float = 0.5) -> None:
        """Let so much time pass, in small steps, and all happen that happens in it."""
        for _ in range(int(seconds / step)):
            self.clock.advance(step)
            await self.quiet()
