"""What has to be done now and then: learn what owners said, take over new keys, forget what is too old."""

from dataclasses import dataclass
from datetime import timedelta

import structlog

from emissary.model.errors import SealBroken, StoreUnavailable
from emissary.ports.captures import Captures
from emissary.ports.clock import Chance, Clock
from emissary.ports.reading_records import PageCache, Secrets, Sessions
from emissary.ports.records import HouseRules
from emissary.ports.vault import Vault
from emissary.reading.credentials import Credentials
from emissary.reading.owners import OwnersBook

__all__ = ["Stores", "Upkeep"]

_EVERY = timedelta(seconds=30)
_FORGET_EVERY = 120  # rounds: once an hour
_PAGES_KEPT = timedelta(days=30)
_CAPTURES_KEPT = timedelta(hours=24)
_RULES_KEPT = timedelta(days=7)  # they count for one day: what is a week old belongs to a site that nobody asks for

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Stores:
    """What is looked after."""

    owners: OwnersBook
    credentials: Credentials
    secrets: Secrets
    vault: Vault
    cache: PageCache
    sessions: Sessions
    captures: Captures
    rules: HouseRules


class Upkeep:
    """Runs beside the worker for as long as it works. What fails is tried again the next time round."""

    def __init__(self, stores: Stores, clock: Clock, chance: Chance) -> None:
        self._stores = stores
        self._clock = clock
        self._chance = chance

    async def run(self) -> None:
        rounds = 0
        while True:
            try:
                await self.learn()
                if rounds % _FORGET_EVERY == 0:
                    await self.forget()
            except (StoreUnavailable, SealBroken) as error:
                log.warning("upkeep failed, will be tried again", reason=error.detail)
            rounds += 1
            await self._clock.sleep(_EVERY.total_seconds())

    async def learn(self) -> None:
        """What owners have said, and which keys sign, as every other process knows it."""
        await self._stores.owners.refresh()
        await self._stores.credentials.load(self._stores.secrets, self._stores.vault, self._chance)

    async def forget(self) -> None:
        """Copies after 30 days, captures after one, house rules after seven, sessions when their time is over."""
        now = self._clock.now()
        await self._stores.cache.forget(now - _PAGES_KEPT)
        await self._stores.sessions.forget(now)
        await self._stores.captures.drop(now - _CAPTURES_KEPT)
        await self._stores.rules.forget_rules(now - _RULES_KEPT)
