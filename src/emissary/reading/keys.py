"""The keys that prove who we are: made from chance, published before they sign, and dropped a while after."""

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from nacl.bindings import crypto_sign, crypto_sign_BYTES, crypto_sign_seed_keypair, crypto_sign_SEEDBYTES

__all__ = ["KEPT_FOR", "PUBLISHED_AHEAD", "KeyRing", "SigningKey", "drop_retired", "rotate"]

PUBLISHED_AHEAD = timedelta(hours=24)
"""A key waits this long before it signs, so that no site meets it with a directory fetched before it was there."""

KEPT_FOR = timedelta(hours=48)
"""A key stays in the directory this long after its last signature, for sites that check late."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 key, made from 32 secret bytes: these bytes and the two times are all there is to store.

    `key_id` is the base64url SHA-256 thumbprint of the public key (RFC 7638, RFC 8037).
    """

    secret: bytes = field(repr=False)
    not_before: datetime
    expires: datetime | None = None
    x: str = field(init=False, compare=False)
    key_id: str = field(init=False, compare=False)
    _private: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Derived here and kept: reading the secret anew would cost more than a signature does.
        if len(self.secret) != crypto_sign_SEEDBYTES:
            raise ValueError(f"an Ed25519 key is made from {crypto_sign_SEEDBYTES} bytes, not {len(self.secret)}")
        public, private = crypto_sign_seed_keypair(self.secret)
        x = _base64url(public)
        object.__setattr__(self, "_private", private)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "key_id", _thumbprint(x))

    def sign(self, message: bytes) -> bytes:
        return crypto_sign(message, self._private)[:crypto_sign_BYTES]

    def public_jwk(self) -> dict[str, str | int]:
        """The public half, as the key directory shows it."""
        jwk: dict[str, str | int] = {"kty": "OKP", "crv": "Ed25519", "kid": self.key_id, "x": self.x, "use": "sig"}
        jwk["nbf"] = int(self.not_before.timestamp())
        if self.expires is not None:
            jwk["exp"] = int(self.expires.timestamp())
        return jwk


@dataclass(frozen=True, slots=True)
class KeyRing:
    """All keys that the directory shows, in the order in which they were published.

    Which of them signs follows from the time alone, so that every process that holds the ring changes over together.
    """

    published: tuple[SigningKey, ...]

    def __post_init__(self) -> None:
        if not self.published:
            raise ValueError("a key ring holds at least one key")

    def active(self, now: datetime) -> SigningKey:
        """The key to sign with: of those whose time has come, the one published last."""
        for key in reversed(self.published):
            if key.not_before <= now:
                return key
        return self.published[0]


def rotate(
    ring: KeyRing,
    new_key: SigningKey,
    now: datetime,
    *,
    ahead: timedelta = PUBLISHED_AHEAD,
    keep: timedelta = KEPT_FOR,
) -> KeyRing:
    """Publish the new key beside the others; it signs after `ahead`, and they are retired `keep` after that.

    After a theft both are zero: the stolen key must not be shown for another day.
    """
    if any(key.secret == new_key.secret for key in ring.published):
        raise ValueError("the new key is already in the ring")
    begins = now + ahead
    ends = begins + keep
    others = (replace(key, expires=min(key.expires or ends, ends)) for key in ring.published)
    return KeyRing((*others, replace(new_key, not_before=begins, expires=None)))


def drop_retired(ring: KeyRing, now: datetime) -> KeyRing:
    """The ring without the keys whose time is over. The key that signs is never among them: its successor ends it."""
    return KeyRing(tuple(key for key in ring.published if key.expires is None or key.expires > now))


def _thumbprint(x: str) -> str:
    # RFC 7638: the required members only, in alphabetical order, without white space.
    canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": x}, separators=(",", ":"))
    return _base64url(hashlib.sha256(canonical.encode()).digest())


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
