"""Identifiers: prefixed ULIDs, sortable by the moment they were made."""

from datetime import datetime
from hashlib import sha256
from typing import NewType

__all__ = [
    "AccountId",
    "BatchId",
    "DocumentId",
    "EventId",
    "JobId",
    "KeyId",
    "ReceiptId",
    "ScheduleId",
    "WebhookId",
    "WorkerId",
    "keyed_ulid",
    "ulid",
    "ulid_of",
    "ulid_text",
]

AccountId = NewType("AccountId", str)
BatchId = NewType("BatchId", str)
DocumentId = NewType("DocumentId", str)
EventId = NewType("EventId", str)
JobId = NewType("JobId", str)
KeyId = NewType("KeyId", str)
ReceiptId = NewType("ReceiptId", str)
ScheduleId = NewType("ScheduleId", str)
WebhookId = NewType("WebhookId", str)
WorkerId = NewType("WorkerId", str)

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: no I, L, O, U
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_LENGTH = 26
_AS_PYTHON_DIGITS = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_KNOWN = frozenset(_ALPHABET)


def ulid(now: datetime, entropy: bytes) -> str:
    """The 26 characters of a ULID: 48 bits of milliseconds, then 80 bits of chance."""
    if len(entropy) != 10:
        raise ValueError("a ULID takes ten bytes of chance")
    value = (int(now.timestamp() * 1000) << 80) | int.from_bytes(entropy, "big")
    return _spell(value)


def keyed_ulid(now: datetime, key: str) -> str:
    """A name in which the key stands for chance: whoever names the same thing at the same moment names it alike."""
    return ulid(now, sha256(key.encode()).digest()[:10])


def ulid_of(name: str) -> bytes | None:
    """The 16 bytes of the ULID at the end of a prefixed name; None if there is none."""
    text = name[-_LENGTH:]
    if len(text) != _LENGTH or text[0] > "7" or not _KNOWN.issuperset(text):
        return None
    return int(text.translate(_AS_PYTHON_DIGITS), 32).to_bytes(16, "big")


def ulid_text(raw: bytes) -> str:
    """The 26 characters of these 16 bytes."""
    return _spell(int.from_bytes(raw, "big"))


def _spell(value: int) -> str:
    """Written out, and in numbers that fit a machine word: a claim spells thousands, in a third of a loop's time."""
    pairs = _PAIRS
    moment, middle, low = value >> 80, (value >> 40) & 0xFF_FFFF_FFFF, value & 0xFF_FFFF_FFFF
    return (
        f"{pairs[moment >> 40]}{pairs[moment >> 30 & 1023]}{pairs[moment >> 20 & 1023]}"
        f"{pairs[moment >> 10 & 1023]}{pairs[moment & 1023]}"
        f"{pairs[middle >> 30]}{pairs[middle >> 20 & 1023]}{pairs[middle >> 10 & 1023]}{pairs[middle & 1023]}"
        f"{pairs[low >> 30]}{pairs[low >> 20 & 1023]}{pairs[low >> 10 & 1023]}{pairs[low & 1023]}"
    )
