"""What the coordinator needs of a store, opened for each backend."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from emissary.backends.cluster.alerts import PostgresAlerts
from emissary.backends.cluster.batches import PostgresBatches
from emissary.backends.cluster.database import Database as PostgresDatabase
from emissary.backends.cluster.jobs import PostgresJobRecords
from emissary.backends.cluster.lanes import PostgresLanes
from emissary.backends.cluster.leadership import PostgresLeadership
from emissary.backends.cluster.schedules import PostgresSchedules
from emissary.backends.cluster.upkeep import PostgresRetention, PostgresWorkload
from emissary.backends.cluster.usage import PostgresUsage
from emissary.backends.cluster.webhooks import PostgresDeliveries, PostgresHappenings
from emissary.backends.embedded.alerts import SqliteAlerts
from emissary.backends.embedded.batches import SqliteBatches
from emissary.backends.embedded.database import Database as SqliteDatabase
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.leadership import SqliteLeadership
from emissary.backends.embedded.records import SqliteJobRecords
from emissary.backends.embedded.schedules import SqliteSchedules
from emissary.backends.embedded.upkeep import SqliteRetention, SqliteWorkload
from emissary.backends.embedded.usage import SqliteUsage
from emissary.backends.embedded.webhooks import SqliteDeliveries, SqliteHappenings
from emissary.ports.alerts import Alerts
from emissary.ports.batches import Batches
from emissary.ports.lanes import Lanes
from emissary.ports.leadership import Leadership
from emissary.ports.records import JobRecords
from emissary.ports.schedules import Schedules
from emissary.ports.upkeep import Retention, Workload
from emissary.ports.usage import Usage
from emissary.ports.webhooks import Deliveries, Happenings


@dataclass(frozen=True, slots=True)
class Side:
    """One process's view of a store; opening the same place again is the next process's."""

    leadership: Leadership
    schedules: Schedules
    alerts: Alerts
    retention: Retention
    workload: Workload
    lanes: Lanes
    jobs: JobRecords
    batches: Batches
    usage: Usage
    happenings: Happenings
    deliveries: Deliveries


@asynccontextmanager
async def open_embedded(place: str) -> AsyncIterator[Side]:
    database = await SqliteDatabase.open(Path(place))
    yield Side(
        SqliteLeadership(database),
        SqliteSchedules(database),
        SqliteAlerts(database),
        SqliteRetention(database),
        SqliteWorkload(database),
        SqliteLanes(database),
        SqliteJobRecords(database),
        SqliteBatches(database),
        SqliteUsage(database),
        SqliteHappenings(database),
        SqliteDeliveries(database),
    )
    await database.close()


@asynccontextmanager
async def open_cluster(place: str) -> AsyncIterator[Side]:
    database = await PostgresDatabase.open(place)
    yield Side(
        PostgresLeadership(database),
        PostgresSchedules(database),
        PostgresAlerts(database),
        PostgresRetention(database),
        PostgresWorkload(database),
        PostgresLanes(database, 0),
        PostgresJobRecords(database),
        PostgresBatches(database, 0),
        PostgresUsage(database),
        PostgresHappenings(database),
        PostgresDeliveries(database),
    )
    await database.close()


SIDES: dict[str, Callable[[str], AbstractAsyncContextManager[Side]]] = {
    "cluster": open_cluster,
    "embedded": open_embedded,
}
