"""The cluster backend, opened: every store under the name of its port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from emissary.backends.cluster.blobs import S3Blobs
from emissary.backends.cluster.bus import PostgresBus, open_bus
from emissary.backends.cluster.captures import S3Captures
from emissary.backends.cluster.database import Database
from emissary.backends.cluster.objects import open_objects
from emissary.backends.cluster.reading_records import (
    PostgresPageCache,
    PostgresSecrets,
    PostgresSessions,
    PostgresSiteOwners,
)
from emissary.backends.cluster.records import PostgresAccounts, PostgresHouseRules
from emissary.backends.cluster.workers import BeatingWorkers
from emissary.backends.segments import Scribe
from emissary.ports.clock import Clock

__all__ = ["ClusterStores", "open_stores"]


@dataclass(frozen=True, slots=True)
class ClusterStores:
    """One process's view of what all processes share."""

    database: Database
    accounts: PostgresAccounts
    rules: PostgresHouseRules
    workers: BeatingWorkers
    pages: PostgresPageCache
    sessions: PostgresSessions
    owners: PostgresSiteOwners
    secrets: PostgresSecrets
    blobs: S3Blobs
    captures: S3Captures
    bus: PostgresBus


@asynccontextmanager
async def open_stores(
    database_url: str, objects_url: str, *, writer: str, scribe: Scribe, clock: Clock
) -> AsyncIterator[ClusterStores]:
    """Open everything and bring it up to date. Captures are written in the writer's name, which nobody else has."""
    database = await Database.open(database_url)
    try:
        objects = await open_objects(objects_url)
        captures = S3Captures(objects, writer, scribe)
        async with open_bus(database_url, clock) as bus:
            try:
                yield _stores(database, S3Blobs(objects), captures, bus)
            finally:
                await captures.close()
    finally:
        await database.close()


def _stores(database: Database, blobs: S3Blobs, captures: S3Captures, bus: PostgresBus) -> ClusterStores:
    return ClusterStores(
        database=database,
        accounts=PostgresAccounts(database),
        rules=PostgresHouseRules(database),
        workers=BeatingWorkers(database),
        pages=PostgresPageCache(database),
        sessions=PostgresSessions(database),
        owners=PostgresSiteOwners(database),
        secrets=PostgresSecrets(database),
        blobs=blobs,
        captures=captures,
        bus=bus,
    )
