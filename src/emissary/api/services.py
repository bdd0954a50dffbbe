"""What the API stands on; the composition root puts it together."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from emissary.engine.accounts import AccountBook
from emissary.engine.answer_book import AnswerBook
from emissary.engine.jobs import Jobs
from emissary.engine.key_book import KeyBook
from emissary.engine.key_ring import KeyRing
from emissary.engine.rate_gate import RateGate
from emissary.engine.webhook_book import WebhookBook
from emissary.ports.accounts import Allowances
from emissary.ports.captures import Captures
from emissary.ports.clock import Chance, Clock
from emissary.ports.records import Accounts
from emissary.products.scrape import Scrapes
from emissary.products.scrape.batches import ScrapeBatches
from emissary.products.scrape.following import Following
from emissary.products.scrape.maps import Maps
from emissary.products.scrape.plans import Plans
from emissary.reading.credentials import Credentials
from emissary.reading.owners import OwnersBook
from emissary.telemetry.metrics import Metrics

__all__ = ["PartHealth", "Services"]


@dataclass(frozen=True, slots=True)
class PartHealth:
    """How one part is, and why if it is not well. One that nobody asked for does not count for the whole."""

    part: str
    status: Literal["ok", "degraded", "down"]
    reason: str | None = None
    is_wanted: bool = True


@dataclass(frozen=True, slots=True)
class Services:
    """The fronts and the instruments that routes use."""

    version: str
    scrapes: Scrapes
    batches: ScrapeBatches
    following: Following
    maps: Maps
    plans: Plans
    jobs: Jobs
    captures: Captures
    accounts: Accounts
    allowances: Allowances
    key_ring: KeyRing
    key_book: KeyBook
    webhooks: WebhookBook
    rate_gate: RateGate
    account_book: AccountBook
    answer_book: AnswerBook
    metrics: Metrics
    clock: Clock
    health: Callable[[], Awaitable[list[PartHealth]]]
    credentials: Credentials
    owners: OwnersBook
    chance: Chance
    gap: timedelta
    origins: tuple[str, ...]
