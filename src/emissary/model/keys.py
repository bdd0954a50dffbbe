"""The keys that open accounts: what they may be used for, how they are spelled, and for how long they live."""

import hashlib
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from emissary.model.ids import AccountId, KeyId

__all__ = ["ALL_SCOPES", "MOST_LIVE", "ApiKey", "Scope", "digest_of", "hint_of", "is_misspelled", "spell_key", "told"]

MOST_LIVE = 2
"""Keys of one name that open at the same time: the one in use, and the one that takes its place."""

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CHECKSUM = 6
_OURS = re.compile(r"em_live_[0-9A-Za-z]{9}_[0-9A-Za-z]{49}")


class Scope(StrEnum):
    """What a key may be used for. None of them contains another."""

    READ = "read"
    WRITE = "write"
    KEYS = "keys"
    ADMIN = "admin"


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept: its digest, never the key. The hint is the part of it that may be shown."""

    id: KeyId
    account: AccountId
    digest: bytes
    created_at: datetime
    name: str = "first"
    scopes: frozenset[Scope] = ALL_SCOPES
    hint: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def is_live(self, now: datetime) -> bool:
        """Whether it opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def told(scopes: Iterable[Scope]) -> list[str]:
    """The scopes in the order in which they are always named."""
    given = frozenset(scopes)
    return [scope.value for scope in Scope if scope in given]


def digest_of(secret: str) -> bytes:
    """What is kept of a key. The secret has 256 bits of chance, so no slow hash is needed."""
    return hashlib.sha256(secret.encode()).digest()


def spell_key(entropy: bytes) -> str:
    """`em_live_<id>_<secret><crc>`: the prefix is found by secret scanners, the checksum catches a slip of the pen."""
    if len(entropy) != 38:
        raise ValueError("a key takes 38 bytes of chance: 6 of the id, 32 of the secret")
    body = f"em_live_{_base62(entropy[:6], 9)}_{_base62(entropy[6:], 43)}"
    return body + _checksum(body)


def hint_of(secret: str) -> str | None:
    """By what a key of our own spelling is recognised; of any other nothing is shown."""
    return secret.rpartition("_")[0] if _OURS.fullmatch(secret) else None


def is_misspelled(secret: str) -> bool:
    """Whether it has the form of our keys, and a checksum that does not fit. Keys of another form are not judged."""
    return _OURS.fullmatch(secret) is not None and _checksum(secret[:-_CHECKSUM]) != secret[-_CHECKSUM:]


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()).to_bytes(4, "big"), _CHECKSUM)


def _base62(raw: bytes, width: int) -> str:
    value, digits = int.from_bytes(raw, "big"), []
    for _ in range(width):
        value, digit = divmod(value, 62)
        digits.append(_BASE62[digit])
    return "".join(reversed(digits))
