"""What is kept of a page for the next time it is asked for."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from emissary.model.ids import AccountId

__all__ = ["CacheKey", "CachedPage"]


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Whose copy of which page; a copy with no owner is for everyone."""

    url: str
    owner: AccountId | None


class CachedPage(msgspec.Struct, frozen=True, rename="camel"):
    """A page that was read before, and what was taken from it then."""

    url: str
    fetched_at: datetime
    status: int
    headers: dict[str, str]
    body: bytes
    sha256: str
    wanted: str | None = None  # what was asked for when `extracted` was taken
    extracted: bytes | None = None  # as JSON
