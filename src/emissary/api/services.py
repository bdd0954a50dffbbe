"""What the API stands on; the composition root puts it together."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from emissary.engine.jobs import Jobs
from emissary.ports.clock import Clock
from emissary.ports.records import Accounts
from emissary.products.scrape import Scrapes
from emissary.products.scrape.batches import ScrapeBatches
from emissary.reading.credentials import Credentials
from emissary.reading.owners import OwnersBook
from emissary.telemetry.metrics import Metrics

__all__ = ["PartHealth", "Services"]


@dataclass(frozen=True, slots=True)
class PartHealth:
    """How one part is, and why if it is not well."""

    part: str
    status: Literal["ok", "degraded", "down"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Services:
    """The fronts and the instruments that routes use."""

    version: str
    scrapes: Scrapes
    batches: ScrapeBatches
    jobs: Jobs
    accounts: Accounts
    metrics: Metrics
    clock: Clock
    health: Callable[[], Awaitable[list[PartHealth]]]
    credentials: Credentials
    owners: OwnersBook
    gap: timedelta
