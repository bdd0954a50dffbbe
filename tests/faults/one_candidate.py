"""A process that may lead: it fires schedules on the database that its argument names, until it is killed."""

import asyncio
import sys
from datetime import timedelta

from emissary.adapters.clock import SystemClock
from emissary.backends.cluster.database import Database
from emissary.backends.cluster.leadership import PostgresLeadership
from emissary.backends.cluster.schedules import PostgresSchedules
from emissary.backends.local_bus import LocalBus
from emissary.engine.coordinator import Coordinator, Tenure
from emissary.engine.schedules import FiringDuty
from emissary.model.ids import WorkerId
from emissary.telemetry.logs import configure_logs
from emissary.telemetry.metrics import Metrics


async def stand(url: str, name: str, lease: float) -> None:
    database, clock, metrics = await Database.open(url), SystemClock(), Metrics()
    duty = FiringDuty(PostgresSchedules(database), LocalBus(), clock=clock, metrics=metrics)
    duty.every = timedelta(seconds=0.02)  # so that it is often stopped in the middle of it
    tenure = Tenure(timedelta(seconds=lease), timedelta(seconds=lease / 3))
    leadership = PostgresLeadership(database)
    await Coordinator(WorkerId(name), leadership, [duty], clock=clock, metrics=metrics, tenure=tenure).run()


if __name__ == "__main__":
    configure_logs("json", "info")
    asyncio.run(stand(sys.argv[1], sys.argv[2], float(sys.argv[3])))
