"""The webhooks of accounts, the log of what was told, and what the store itself has to tell."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from emissary.model.ids import AccountId, JobId, WebhookId
from emissary.model.jobs import NewJob
from emissary.model.leadership import Term
from emissary.model.webhooks import Delivery, DeliveryState, Happening, Standing, Try, Webhook

__all__ = ["Deliveries", "Happenings", "Webhooks"]


class Webhooks(Protocol):
    """Receivers that accounts have named."""

    async def add(self, webhook: Webhook) -> None:
        """Keep a new one."""
        ...

    async def find(self, webhook: WebhookId) -> Webhook | None:
        """The webhook, or None."""
        ...

    async def of_account(self, account: AccountId, *, after: str = "", most: int = 1_000) -> list[Webhook]:
        """The account's webhooks by their ids, those behind this one."""
        ...

    async def change(self, webhook: Webhook) -> bool:
        """Keep it as it is now; False if it is gone."""
        ...

    async def disable(self, webhook: WebhookId, reason: str) -> None:
        """Nothing is told there from now on, and this is why; nothing happens if it is not active."""
        ...

    async def remove(self, webhook: WebhookId) -> bool:
        """Forget it, and all that its log says; False if there was none."""
        ...


class Deliveries(Protocol):
    """The log. A line of it begins with the job that delivers, in the transaction that puts it into line."""

    async def standing(self, job: JobId) -> Standing:
        """How often the delivery was tried, and whether an earlier one of its line has not ended."""
        ...

    async def note(self, job: JobId, tried: Try) -> None:
        """One more try. Where no other is due, nothing of its line waits for it any longer."""
        ...

    async def of_webhook(
        self,
        webhook: WebhookId,
        *,
        before: int | None = None,
        most: int = 100,
        state: DeliveryState | None = None,
    ) -> list[Delivery]:
        """What was told there, the latest first, and of that what was made before this number."""
        ...

    async def dead_since(self, webhook: WebhookId, since: datetime, *, after: int, most: int) -> list[Delivery]:
        """Dead letters from then on that were not replayed, in the order they were made in, behind this number."""
        ...

    async def of_job(self, webhook: WebhookId, job: JobId) -> Delivery | None:
        """One line of the log; None if it is another webhook's, or nobody's."""
        ...

    async def replay(self, copies: Mapping[JobId, NewJob], now: datetime, *, once: bool) -> int:
        """Put copies of deliveries into line, and note that; how many. If `once`, only of those never replayed."""
        ...


class Happenings(Protocol):
    """What the store itself brought about: noted in the transaction that did, until somebody was told."""

    async def untold(self, *, most: int) -> list[Happening]:
        """The first of them."""
        ...

    async def tell(self, term: Term, happening: Happening, deliveries: Sequence[NewJob], now: datetime) -> bool:
        """Take it away and submit its deliveries, in one transaction; False if it was told before.

        Raises TermOver, and nothing is written, if another leads by now.
        """
        ...
