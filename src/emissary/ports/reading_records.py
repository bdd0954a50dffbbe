"""What reading remembers from one visit to the next."""

from datetime import datetime
from typing import Protocol

from emissary.model.cache import CachedPage, CacheKey, Reader
from emissary.model.sessions import KeptSession, SessionKey
from emissary.model.site_owners import OptOut, Ownership

__all__ = ["PageCache", "Secrets", "Sessions", "SiteOwners"]


class PageCache(Protocol):
    """Copies of pages, for the one who read them or for everyone."""

    async def find(self, url: str, reader: Reader) -> CachedPage | None:
        """The newest copy that this reader may see."""
        ...

    async def keep(self, key: CacheKey, page: CachedPage) -> None:
        """Keep the copy in place of the one before."""
        ...

    async def drop(self, url: str, reader: Reader) -> None:
        """Drop the copies of the page that this reader could be given."""
        ...

    async def forget(self, before: datetime) -> int:
        """Drop copies older than that; returns how many there were."""
        ...


class Sessions(Protocol):
    """Sealed sessions, each of one account."""

    async def find(self, key: SessionKey, now: datetime) -> KeptSession | None:
        """The session, unless its time is over."""
        ...

    async def keep(self, key: SessionKey, session: KeptSession) -> bool:
        """Keep the session if its version is the one after the kept one; tells whether it was."""
        ...

    async def forget(self, now: datetime) -> int:
        """Drop those whose time is over; returns how many there were."""
        ...


class SiteOwners(Protocol):
    """What the owners of sites have told us, known to every worker within a minute."""

    async def opt_out(self, word: OptOut) -> None:
        """Note that an owner wants us to stay away; nothing happens if they said so before."""
        ...

    async def opted_out(self) -> frozenset[str]:
        """The hosts to stay away from."""
        ...

    async def prove(self, ownership: Ownership) -> None:
        """Note what the operator has shown, in place of what was known of the host."""
        ...

    async def owned(self) -> dict[str, Ownership]:
        """The hosts that are the operator's own."""
        ...


class Secrets(Protocol):
    """Sealed secrets of the installation, such as signing keys."""

    async def read(self, name: str) -> bytes | None:
        """The sealed secret of the name."""
        ...

    async def write(self, name: str, sealed: bytes, before: bytes | None) -> bool:
        """Keep the sealed secret if the name still holds what it held before; tells whether it did."""
        ...
