"""Identifiers: prefixed ULIDs, sortable by the moment they were made."""

from datetime import datetime
from typing import NewType

__all__ = ["AccountId", "DocumentId", "JobId", "KeyId", "ReceiptId", "WorkerId", "ulid"]

AccountId = NewType("AccountId", str)
DocumentId = NewType("DocumentId", str)
JobId = NewType("JobId", str)
KeyId = NewType("KeyId", str)
ReceiptId = NewType("ReceiptId", str)
WorkerId = NewType("WorkerId", str)

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: no I, L, O, U
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]


def ulid(now: datetime, entropy: bytes) -> str:
    """The 26 characters of a ULID: 48 bits of milliseconds, then 80 bits of chance."""
    if len(entropy) != 10:
        raise ValueError("a ULID takes ten bytes of chance")
    value = (int(now.timestamp() * 1000) << 80) | int.from_bytes(entropy, "big")
    pairs = [_PAIRS[(value >> shift) & 0x3FF] for shift in range(120, -1, -10)]
    return "".join(pairs)
