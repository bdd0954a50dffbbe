"""The keys of all accounts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from emissary.model.ids import AccountId, KeyId
from emissary.model.keys import ApiKey

__all__ = ["Keys"]


class Keys(Protocol):
    """Keys, by their digests. A key is never deleted: one that was revoked or has expired can still be seen."""

    async def add(self, key: ApiKey, now: datetime) -> None:
        """Keep the key; nothing happens if one with this digest is there.

        Raises TooManyKeys where `MOST_LIVE` keys of its account and name are live at this moment.
        """
        ...

    async def replace(self, old: KeyId, new: ApiKey, until: datetime, now: datetime) -> None:
        """Let the old key expire at that time, unless it does so sooner, and add the new one; both of it or nothing."""
        ...

    async def by_digest(self, digest: bytes) -> ApiKey | None:
        """The key, live or not, or None."""
        ...

    async def find(self, key: KeyId) -> ApiKey | None:
        """The same by its id."""
        ...

    async def of_account(self, account: AccountId, *, after: str = "", most: int = 1_000) -> list[ApiKey]:
        """The account's keys by their ids, those behind this one."""
        ...

    async def revoke(self, key: KeyId, now: datetime) -> bool:
        """From now on the key opens nothing; False if it was revoked before, or never was."""
        ...

    async def note_uses(self, uses: Mapping[KeyId, datetime]) -> None:
        """Note when keys were last used; less than a minute after what is noted already, nothing is."""
        ...

    async def any_live(self, now: datetime) -> bool:
        """Whether any key opens anything."""
        ...
