"""Who hears of what: the webhooks of an account, looked up once in a while and remembered between."""

from emissary.engine.events import Hook
from emissary.model.errors import BadRequest
from emissary.model.ids import AccountId, WebhookId
from emissary.model.webhooks import Webhook
from emissary.ports.clock import Clock
from emissary.ports.webhooks import Webhooks

__all__ = ["Hearers"]

_REMEMBERED_SECONDS = 5.0
_MOST_REMEMBERED = 10_000


class Hearers:
    """The webhooks of accounts that something was done for. What another process changed is known in five seconds."""

    def __init__(self, webhooks: Webhooks, clock: Clock) -> None:
        self._webhooks = webhooks
        self._clock = clock
        self._known: dict[AccountId, tuple[tuple[Webhook, ...], float]] = {}

    async def learn(self, account: AccountId, named: WebhookId | None = None) -> None:
        """Look the account's webhooks up, unless that was done just now; one that is named is looked for anew."""
        known, until = self._known.get(account, ((), 0.0))
        is_fresh = account in self._known and self._clock.monotonic() < until
        if is_fresh and (named is None or any(each.id == named for each in known)):
            return
        found = tuple(await self._webhooks.of_account(account))
        if len(self._known) >= _MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[account] = found, self._clock.monotonic() + _REMEMBERED_SECONDS

    def forget(self, account: AccountId) -> None:
        """Its webhooks have changed."""
        self._known.pop(account, None)

    async def check(self, account: AccountId, named: WebhookId | None) -> None:
        """Raises BadRequest if the account has no such webhook."""
        if named is None:
            return
        found = await self._webhooks.find(named)
        if found is None or found.account != account:
            raise BadRequest(f"there is no webhook {named}: make it with POST /v1/webhooks", "unknown_webhook")

    def of(
        self,
        account: AccountId,
        event: str,
        *,
        hook: Hook | None = None,
        named: WebhookId | None = None,
        in_batch: bool = False,
    ) -> list[Hook | Webhook]:
        """Who is told of the event, as far as was learned: who was given or named with it, and who hears of all such.

        Of what is only a part of a batch, nobody hears but those whom the batch itself names.
        """
        told: list[Hook | Webhook] = [] if hook is None or not hook.wants(event) else [hook]
        known, _ = self._known.get(account, ((), 0.0))
        for each in known:
            wanted = event in each.events or (each.id == named and not each.events)
            if each.active and wanted and (each.id == named or not in_batch):
                told.append(each)
        return told
