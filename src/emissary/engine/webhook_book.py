"""The front for webhooks: makes, shows and changes them, shows what was told there, and tells it again."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from emissary.engine.delivery import place_of_secret
from emissary.engine.events import Event, delivery_of, new_secret, told_again
from emissary.engine.hearers import Hearers
from emissary.engine.jobs import Jobs, new_job_id
from emissary.engine.worker import LANES_TOPIC
from emissary.model.errors import BadRequest, NotFound
from emissary.model.ids import AccountId, JobId, WebhookId, ulid
from emissary.model.jobs import Job, NewJob
from emissary.model.lanes import hook_lane
from emissary.model.moments import from_ms, to_ms
from emissary.model.pages import WebUrl
from emissary.model.webhooks import TEST_EVENT, Delivery, DeliveryState, EventType, Webhook
from emissary.ports.bus import Bus
from emissary.ports.clock import Chance, Clock
from emissary.ports.vault import Vault
from emissary.ports.webhooks import Deliveries, Webhooks

__all__ = ["WebhookBook", "WebhookStores", "WebhookWish"]

MOST_WEBHOOKS = 100
_AT_ONCE = 200
_TEST_PATIENCE = timedelta(seconds=25)


@dataclass(frozen=True, slots=True)
class WebhookStores:
    """Where webhooks and their log are kept, and what their secrets are sealed with."""

    webhooks: Webhooks
    deliveries: Deliveries
    vault: Vault


@dataclass(frozen=True, slots=True)
class WebhookWish:
    """A webhook that is to be made; without a secret, it is given one."""

    url: WebUrl
    events: frozenset[EventType] = frozenset()
    secret: str | None = None
    description: str | None = None
    active: bool = True


class WebhookBook:
    """The webhooks of all accounts, each shown to its own account only."""

    def __init__(
        self, stores: WebhookStores, hearers: Hearers, jobs: Jobs, *, bus: Bus, clock: Clock, chance: Chance
    ) -> None:
        self._webhooks = stores.webhooks
        self._deliveries = stores.deliveries
        self._vault = stores.vault
        self._hearers = hearers
        self._jobs = jobs
        self._bus = bus
        self._clock = clock
        self._chance = chance

    async def make(self, account: AccountId, wish: WebhookWish) -> tuple[Webhook, str]:
        """A new webhook, and its secret, which is not shown again."""
        if len(await self._webhooks.of_account(account, most=MOST_WEBHOOKS)) >= MOST_WEBHOOKS:
            raise BadRequest(f"an account has {MOST_WEBHOOKS} webhooks at most: remove one", "too_many_webhooks")
        now = from_ms(to_ms(self._clock.now()))  # as it is kept
        secret = wish.secret or new_secret(self._chance)
        name = WebhookId(f"whk_{ulid(now, self._chance.draw(10))}")
        made = Webhook(name, account, wish.url, wish.events, b"", now, wish.description, wish.active)
        made = self._sealed(made, secret)
        await self._webhooks.add(made)
        self._hearers.forget(account)
        return made, secret

    async def page(self, account: AccountId, *, after: str, most: int) -> list[Webhook]:
        """The account's webhooks by their ids."""
        return await self._webhooks.of_account(account, after=after, most=most)

    async def show(self, account: AccountId, webhook: WebhookId) -> Webhook:
        """The webhook. Another account's answers exactly like one that never was."""
        found = await self._webhooks.find(webhook)
        if found is None or found.account != account:
            raise NotFound(f"there is no webhook {webhook}")
        return found

    async def change(self, changed: Webhook, secret: str | None) -> Webhook:
        """Keep it as it is now, with another secret if one is given. What is active has no reason not to be."""
        if changed.active:
            changed = replace(changed, disabled=None)
        if secret is not None:
            changed = self._sealed(changed, secret)
        if not await self._webhooks.change(changed):
            raise NotFound(f"there is no webhook {changed.id}")
        self._hearers.forget(changed.account)
        return changed

    async def remove(self, account: AccountId, webhook: WebhookId) -> Webhook:
        """Nothing is told there any more, not even what waits."""
        found = await self.show(account, webhook)
        await self._webhooks.remove(webhook)
        self._hearers.forget(account)
        return found

    async def deliveries(
        self, webhook: Webhook, *, before: int | None, most: int, state: DeliveryState | None
    ) -> list[Delivery]:
        """What was told there, the latest first."""
        return await self._deliveries.of_webhook(webhook.id, before=before, most=most, state=state)

    async def replay(self, webhook: Webhook, delivery: JobId) -> int:
        """Tell once more what was told by this delivery, whatever became of it."""
        _check_active(webhook)
        found = await self._deliveries.of_job(webhook.id, delivery)
        if found is None:
            raise NotFound(f"there is no delivery {delivery} of this webhook")
        if found.state is DeliveryState.PENDING:
            raise BadRequest(f"{delivery} is still under way: it is tried again by itself", "delivery_pending")
        return await self._again(webhook, [found], once=False)

    async def replay_since(self, webhook: Webhook, since: datetime) -> int:
        """Tell once more all that died since then and was not replayed; how much that is."""
        _check_active(webhook)
        total, after = 0, 0
        while dead := await self._deliveries.dead_since(webhook.id, since, after=after, most=_AT_ONCE):
            total += await self._again(webhook, dead, once=True)
            after = dead[-1].number
        return total

    async def test(self, webhook: Webhook) -> Job:
        """Send an event now, whether the webhook is active or not, and wait for what comes back; it is tried once."""
        data = {"webhook": webhook.id, "description": webhook.description}
        name = self._name()  # it stands in a line of its own: it waits for nothing
        event = Event.new(TEST_EVENT, data, name, clock=self._clock, chance=self._chance)
        job = delivery_of(webhook, event, job=name, account=webhook.account, test=True)
        return await self._jobs.accept_and_wait(job, _TEST_PATIENCE)

    async def _again(self, webhook: Webhook, deliveries: list[Delivery], *, once: bool) -> int:
        copies: dict[JobId, NewJob] = {}
        for delivery in deliveries:
            old = await self._jobs.find(delivery.job, webhook.account)
            if old is not None:
                copies[delivery.job] = told_again(old, webhook, delivery, job=self._name())
        count = await self._deliveries.replay(copies, self._clock.now(), once=once)
        self._bus.say(LANES_TOPIC, hook_lane(webhook.url.authority))
        return count

    def _sealed(self, webhook: Webhook, secret: str) -> Webhook:
        return replace(webhook, sealed=self._vault.seal(secret.encode(), place_of_secret(webhook)))

    def _name(self) -> JobId:
        return new_job_id(self._clock, self._chance)


def _check_active(webhook: Webhook) -> None:
    """Whatever comes for a webhook that is not active is dead at once, and a replay would use it up for nothing."""
    if not webhook.active:
        raise BadRequest(
            f"{webhook.id} is not active, so nothing would be told: change it to active, then replay",
            "webhook_inactive",
        )
