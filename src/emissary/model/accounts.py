"""Accounts and the keys that open them."""

import hashlib
import zlib
from dataclasses import dataclass
from datetime import datetime

from emissary.model.ids import AccountId, KeyId

__all__ = ["Account", "ApiKey", "digest_of", "spell_key"]

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Account:
    """Whoever jobs belong to."""

    id: AccountId
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept: its digest, never the key."""

    id: KeyId
    account: AccountId
    digest: bytes
    created_at: datetime


def digest_of(secret: str) -> bytes:
    """What is kept of a key. The secret has 256 bits of chance, so no slow hash is needed."""
    return hashlib.sha256(secret.encode()).digest()


def spell_key(entropy: bytes) -> str:
    """`em_live_<id>_<secret><crc>`: the prefix is found by secret scanners, the checksum catches a slip of the pen."""
    if len(entropy) != 38:
        raise ValueError("a key takes 38 bytes of chance: 6 of the id, 32 of the secret")
    body = f"em_live_{_base62(entropy[:6], 9)}_{_base62(entropy[6:], 43)}"
    return body + _base62(zlib.crc32(body.encode()).to_bytes(4, "big"), 6)


def _base62(raw: bytes, width: int) -> str:
    value, digits = int.from_bytes(raw, "big"), []
    for _ in range(width):
        value, digit = divmod(value, 62)
        digits.append(_BASE62[digit])
    return "".join(reversed(digits))
