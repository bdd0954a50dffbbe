"""Keys as their account or the operator handles them: made, rotated, revoked."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from emissary.engine.key_ring import KeyRing
from emissary.model.errors import BadRequest, NotAllowed, NotFound
from emissary.model.ids import AccountId, KeyId, ulid
from emissary.model.keys import ApiKey, Scope, digest_of, hint_of, spell_key, told
from emissary.ports.clock import Chance, Clock
from emissary.ports.keys import Keys

__all__ = ["KeyBook", "KeyWish"]


@dataclass(frozen=True, slots=True)
class KeyWish:
    """A key that somebody would like to have."""

    name: str
    scopes: frozenset[Scope]
    expires_at: datetime | None = None


class KeyBook:
    """The keys of all accounts, each shown to its own account only. A secret is returned once and kept nowhere."""

    def __init__(self, keys: Keys, ring: KeyRing, clock: Clock, chance: Chance) -> None:
        self._keys = keys
        self._ring = ring
        self._clock = clock
        self._chance = chance

    async def make(self, account: AccountId, wish: KeyWish, by: frozenset[Scope]) -> tuple[ApiKey, str]:
        """A new key and its secret; nobody gives out what they do not have themselves."""
        now = self._clock.now()
        _may_give_out(wish.scopes, by)
        if wish.expires_at is not None and wish.expires_at <= now:
            raise BadRequest(f"the key would have expired at {wish.expires_at.isoformat()}: choose a time to come")
        key, secret = self._new(account, wish, now)
        await self._keys.add(key, now)
        return await self.find(account, key.id), secret

    async def rotate(
        self, account: AccountId, key: KeyId, grace: timedelta, by: frozenset[Scope]
    ) -> tuple[ApiKey, str]:
        """A key to take the place of this one, which opens for so long still."""
        now, old = self._clock.now(), await self.find(account, key)
        _may_give_out(old.scopes, by)
        if not old.is_live(now):
            raise BadRequest(f"the key {key} opens nothing any more: make a new one", "key_ended")
        lifetime = None if old.expires_at is None else old.expires_at - old.created_at
        wish = KeyWish(old.name, old.scopes, None if lifetime is None else now + lifetime)
        new, secret = self._new(account, wish, now)
        await self._keys.replace(old.id, new, now + grace, now)
        self._ring.forget(old.id)
        return await self.find(account, new.id), secret

    async def revoke(self, account: AccountId, key: KeyId) -> ApiKey:
        """From now on the key opens nothing: here at once, elsewhere within seconds."""
        found = await self.find(account, key)
        await self._keys.revoke(found.id, self._clock.now())
        self._ring.forget(found.id)
        return await self.find(account, key)

    async def find(self, account: AccountId, key: KeyId) -> ApiKey:
        """The key, if it is this account's."""
        found = await self._keys.find(key) if key.isprintable() else None  # no store takes every character
        if found is None or found.account != account:
            raise NotFound(f"there is no key {key}")
        return found

    async def page(self, account: AccountId, *, after: str, most: int) -> list[ApiKey]:
        """The account's keys by their ids, those behind this one."""
        return await self._keys.of_account(account, after=after, most=most)

    def _new(self, account: AccountId, wish: KeyWish, now: datetime) -> tuple[ApiKey, str]:
        secret = spell_key(self._chance.draw(38))
        name = KeyId(f"key_{ulid(now, self._chance.draw(10))}")
        new = ApiKey(name, account, digest_of(secret), now, wish.name, wish.scopes, hint_of(secret), wish.expires_at)
        return new, secret


def _may_give_out(scopes: frozenset[Scope], by: frozenset[Scope]) -> None:
    if missing := scopes - by:
        raise NotAllowed(f"your key has not the scope {' and '.join(told(missing))} itself, so it cannot give it out")
