"""Which key opens what: looked up once in a while and remembered between, so that a request costs the store nothing."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from emissary.model.accounts import Allowance
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import AccountId, KeyId
from emissary.model.keys import ApiKey, digest_of
from emissary.model.rates import Rate
from emissary.ports.accounts import Allowances
from emissary.ports.clock import Clock
from emissary.ports.keys import Keys

__all__ = ["KeyRing", "Opened"]

_REMEMBERED = timedelta(seconds=5)
_MOST_REMEMBERED = 10_000
_NOTED_EVERY = timedelta(minutes=1)
_WRITTEN_EVERY = timedelta(seconds=2)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """The key that was shown, and the rate of its account."""

    key: ApiKey
    rate: Rate | None


class KeyRing:
    """The keys that were shown to this process. One that is revoked elsewhere opens for five seconds more."""

    def __init__(self, keys: Keys, allowances: Allowances, standard: Allowance, clock: Clock) -> None:
        self._keys = keys
        self._allowances = allowances
        self._standard = standard
        self._clock = clock
        self._known: dict[bytes, tuple[Opened, float]] = {}
        self._changes = 0
        self._noted: dict[KeyId, datetime] = {}
        self._uses: dict[KeyId, datetime] = {}

    async def open(self, secret: str) -> Opened | None:
        """What the key opens; None if nothing."""
        digest, now = digest_of(secret), self._clock.now()
        opened, until = self._known.get(digest, (None, 0.0))
        if opened is None or self._clock.monotonic() >= until:
            opened = await self._look_up(digest)
        if opened is None or not opened.key.is_live(now):
            return None
        self._note_use(opened.key, now)
        return opened

    def forget(self, key: KeyId) -> None:
        """The key has changed: from now on it is looked up anew."""
        self._drop([digest for digest, (opened, _) in self._known.items() if opened.key.id == key])

    def forget_account(self, account: AccountId) -> None:
        """What the account may do has changed."""
        self._drop([digest for digest, (opened, _) in self._known.items() if opened.key.account == account])

    async def run(self) -> None:
        """Write when keys were last used, now and then, for as long as the process serves."""
        while True:
            await self._clock.sleep(_WRITTEN_EVERY.total_seconds())
            await self.write_uses()

    async def write_uses(self) -> None:
        """What could not be written is written the next time."""
        if not self._uses:
            return
        uses, self._uses = self._uses, {}
        try:
            await self._keys.note_uses(uses)
        except StoreUnavailable as error:
            self._uses = uses | self._uses
            log.warning("the last use of keys was not noted, will be tried again", reason=error.detail)

    async def _look_up(self, digest: bytes) -> Opened | None:
        changes = self._changes
        key = await self._keys.by_digest(digest)
        if key is None:
            return None  # not remembered: whoever makes up keys would push out those that open something
        allowance = await self._allowances.allowance_of(key.account)
        opened = Opened(key, allowance.or_else(self._standard).rate)
        if changes == self._changes:  # else it may have been read before it was revoked
            self._remember(digest, opened)
        return opened

    def _remember(self, digest: bytes, opened: Opened) -> None:
        self._known.pop(digest, None)
        if len(self._known) >= _MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[digest] = opened, self._clock.monotonic() + _REMEMBERED.total_seconds()

    def _drop(self, digests: list[bytes]) -> None:
        self._changes += 1
        for digest in digests:
            del self._known[digest]

    def _note_use(self, key: ApiKey, now: datetime) -> None:
        noted = self._noted.get(key.id, key.last_used_at)
        if noted is not None and now - noted < _NOTED_EVERY:
            return
        if len(self._noted) >= _MOST_REMEMBERED:
            self._noted.clear()
        self._noted[key.id] = self._uses[key.id] = now
