"""An outbox on a real store, worked off by hand while the test moves the clock, and a receiver that may fail."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from standardwebhooks import Webhook as Verifier

from emissary.adapters.vault import FileVault
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.webhooks import SqliteDeliveries, SqliteWebhooks
from emissary.engine.delivery import DeliveryHandler, DeliveryTools, place_of_secret
from emissary.engine.events import Event, Hook, delivery_of
from emissary.engine.handlers import Done, Onward, Retry, Verdict, Work
from emissary.engine.jobs import new_job_id
from emissary.model.ids import AccountId, JobId, WebhookId, WorkerId
from emissary.model.jobs import JobState, StoredResult
from emissary.model.lanes import Claim, Lease, Reason, Release, Report, Settlement
from emissary.model.pages import Code, Reply, Timings, Unreachable
from emissary.model.webhooks import Delivery, EventType, Webhook
from emissary.ports.web import Ask
from emissary.reading.urls import parse
from emissary.testing.clock import FakeClock, SeededChance

__all__ = ["ACCOUNT", "SECRET", "WEBHOOK", "Outbox", "Receiver", "open_outbox"]

ACCOUNT = AccountId("acc_1")
SECRET = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
WEBHOOK = WebhookId("whk_00000000000000000000000001")
_ANN = WorkerId("wrk_ann")
_LEASE = timedelta(seconds=60)


@dataclass(slots=True)
class Receiver:
    """Keeps the promise of `ports.web.Web`: answers with its status, or does not answer while that is None."""

    clock: FakeClock
    status: int | None = 204
    asked: list[Ask] = field(default_factory=list)
    at: list[datetime] = field(default_factory=list)
    taken: list[dict[str, Any]] = field(default_factory=list)

    async def ask(self, ask: Ask) -> Reply | Unreachable:
        self.asked.append(ask)
        self.at.append(self.clock.now())
        if self.status is None:
            return Unreachable(ask.url, Code.CONNECT, "nobody is there")
        if 200 <= self.status < 300:
            self.taken.append(self._verified(ask))
        return Reply(self.status, {}, b"", "192.0.2.1", "1.1", Timings(1, 1), 0)

    def _verified(self, ask: Ask) -> dict[str, Any]:
        """What was told, if the library signs it in the same way; its own check goes by the time of the machine."""
        assert ask.body is not None
        sent = datetime.fromtimestamp(int(ask.headers["webhook-timestamp"]), self.clock.now().tzinfo)
        signature = Verifier(SECRET).sign(ask.headers["webhook-id"], sent, ask.body.decode())
        assert signature == ask.headers["webhook-signature"]
        assert abs(sent - self.clock.now()) < timedelta(seconds=1)
        return {"id": ask.headers["webhook-id"], **msgspec.json.decode(ask.body)}


@dataclass(slots=True)
class Outbox:
    """Deliveries in line, and whoever works them off."""

    database: Database
    vault: FileVault
    clock: FakeClock
    receiver: Receiver
    chance: SeededChance = field(default_factory=SeededChance)

    @property
    def lanes(self) -> SqliteLanes:
        return SqliteLanes(self.database)

    @property
    def webhooks(self) -> SqliteWebhooks:
        return SqliteWebhooks(self.database)

    @property
    def deliveries(self) -> SqliteDeliveries:
        return SqliteDeliveries(self.database)

    async def add_webhook(self, url: str = "https://hooks.example/a") -> Webhook:
        webhook = Webhook(WEBHOOK, ACCOUNT, parse(url), frozenset(), b"", self.clock.now())
        sealed = self.vault.seal(SECRET.encode(), place_of_secret(webhook))
        webhook = Webhook(WEBHOOK, ACCOUNT, webhook.url, frozenset(), sealed, self.clock.now())
        await self.webhooks.add(webhook)
        return webhook

    async def tell(self, to: Hook | Webhook, event: EventType, about: str, data: object = None) -> JobId:
        """Put an event into line."""
        told = Event.new(event, {"about": about, "data": data}, about, clock=self.clock, chance=self.chance)
        job = delivery_of(to, told, job=new_job_id(self.clock, self.chance), account=ACCOUNT)
        await self.lanes.submit([job], self.clock.now())
        return job.id

    async def work(self) -> None:
        """Do all that is due now, in turns of one item, as a worker does."""
        while True:
            now = self.clock.now()
            await self.lanes.wake(now)
            leases = (await self.lanes.claim(Claim(_ANN, now + _LEASE, 10, 1), now)).leases
            if not leases:
                return
            for lease in leases:
                await self._serve(lease)

    async def pass_time(self, whole: timedelta, step: timedelta = timedelta(seconds=30)) -> None:
        for _ in range(whole // step):
            self.clock.advance(step.total_seconds())
            await self.work()

    async def log(self) -> list[Delivery]:
        """What was told, the first first."""
        return (await self.deliveries.of_webhook(WEBHOOK))[::-1]

    async def _serve(self, lease: Lease) -> None:
        now, settlements = self.clock.now(), []
        tools = DeliveryTools(
            self.receiver, self.webhooks, self.deliveries, self.vault, clock=self.clock, chance=self.chance
        )
        for item in lease.items:
            verdict = await DeliveryHandler(tools).handle(Work(item, lease.grip.lane, now), _at_once)
            settlements.append(_settlement(lease, Work(item, lease.grip.lane, now), verdict))
        await self.lanes.settle(Report(tuple(settlements), (Release(lease.grip, now, Reason.GAP),)), now)


@asynccontextmanager
async def _at_once(_: timedelta | None = None, /) -> AsyncIterator[None]:
    yield


def _settlement(lease: Lease, work: Work, verdict: Verdict) -> Settlement:
    item, grip, began = work.item, lease.grip, work.started_at
    match verdict:
        case Done(state, result):
            return Settlement(grip, item.job, item.rank, began, state, StoredResult(result.outcome))
        case Retry(at):
            return Settlement(
                grip, item.job, item.rank, began, JobState.DELAYED, retry_at=at, failures=item.failures + 1
            )
        case Onward(lane, trail):
            return Settlement(grip, item.job, item.rank, began, JobState.WAITING, onward=lane, trail=trail)


@asynccontextmanager
async def open_outbox(place: Path) -> AsyncIterator[Outbox]:
    database = await Database.open(place / "emissary.db")
    clock = FakeClock()
    yield Outbox(database, FileVault.at(place / "master.key"), clock, Receiver(clock))
    await database.close()
