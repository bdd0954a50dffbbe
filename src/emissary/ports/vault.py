"""The vault: secrets at rest."""

from typing import Protocol

__all__ = ["Vault"]


class Vault(Protocol):
    """Seals secrets to the place they belong to: what was sealed for one place cannot be opened for another."""

    def seal(self, secret: bytes, place: str) -> bytes:
        """The secret, sealed; each call gives other bytes."""
        ...

    def open(self, sealed: bytes, place: str) -> bytes:
        """The secret again; raises SealBroken if it was changed, or sealed for another place or with another key."""
        ...
