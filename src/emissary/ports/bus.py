"""The bus: hints that something may be worth a look."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

__all__ = ["Bus", "Ears"]


class Ears(Protocol):
    """A listener's side of the bus."""

    async def hear(self, patience: float) -> frozenset[str]:
        """The words said since the last call; waits up to `patience` seconds for one, then returns none."""
        ...


class Bus(Protocol):
    """Says words to whoever listens now. A word may be lost or said twice: it is a hint, and the store is the truth."""

    def say(self, topic: str, word: str) -> None:
        """Tell those who listen to the topic."""
        ...

    def listen(self, topic: str) -> AbstractAsyncContextManager[Ears]:
        """Hear what is said on the topic from now on."""
        ...
