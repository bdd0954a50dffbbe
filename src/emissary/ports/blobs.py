"""The object store: bodies too large for a record."""

from typing import Protocol

__all__ = ["Blobs"]


class Blobs(Protocol):
    """Bytes under a name, written once. A `put` that returned survives a loss of power."""

    async def put(self, name: str, body: bytes) -> None:
        """Keep the bytes under the name, whole or not at all."""
        ...

    async def get(self, name: str) -> bytes | None:
        """The bytes of the name, or None."""
        ...

    async def delete(self, name: str) -> None:
        """Forget the name; nothing happens if it is not there."""
        ...

    async def names(self, prefix: str) -> list[str]:
        """The names that begin so, in order."""
        ...
