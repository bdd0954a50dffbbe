"""Idempotency: what a request that comes twice is known by, and the answer that is kept for it."""

from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

import msgspec

from emissary.model.ids import AccountId

__all__ = ["ANSWER_KEPT", "IN_FLIGHT", "ClaimedKey", "FirstAnswer", "InFlight", "KeptAnswer", "Remembered", "place_of"]

ANSWER_KEPT = timedelta(hours=24)
IN_FLIGHT = timedelta(seconds=60)  # so long a request is believed to run of which nothing more is heard


@dataclass(frozen=True, slots=True)
class ClaimedKey:
    """A key in the hands of one request. Whoever claims the place later has another token."""

    account: AccountId
    place: bytes
    token: bytes
    route: str  # for whoever looks at the rows; the place says it already


class FirstAnswer(msgspec.Struct, frozen=True, array_like=True):
    """The answer to a request, as it was sent."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The same as it is kept: sealed, beside the digest of the body that it answers."""

    asked: bytes
    status: int
    sealed: bytes


@dataclass(frozen=True, slots=True)
class InFlight:
    """Another request has the key, and has not been answered yet."""


Remembered = KeptAnswer | InFlight


def place_of(path: str, key: str) -> bytes:
    """By what an account's request is known again: its path, with the ids in it, and its key."""
    return sha256(f"{path}\n{key}".encode()).digest()
