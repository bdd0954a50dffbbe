"""What is kept of a page for the next time it is asked for."""

from dataclasses import dataclass
from datetime import datetime
from typing import NewType

import msgspec

from emissary.model.ids import AccountId

__all__ = ["CacheKey", "CachedPage", "Reader", "reader_of"]

Reader = NewType("Reader", str)
"""An account, or one session of it: what a site showed in one session it has not shown in another."""


def reader_of(account: AccountId, session: str | None) -> Reader:
    """Who reads."""
    return Reader(account if session is None else f"{account}/{session}")


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Whose copy of which page; a copy with no owner is for everyone."""

    url: str
    owner: Reader | None


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
    shared: bool = False  # whether the site lets it be kept for everyone
    usage: dict[str, bool] = {}  # what robots.txt said about its use when it was fetched
