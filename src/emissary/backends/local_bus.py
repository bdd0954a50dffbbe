"""The bus inside one process."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from emissary.ports.bus import Ears

__all__ = ["LocalBus"]


class _LocalEars:
    def __init__(self) -> None:
        self.words: set[str] = set()
        self.bell = asyncio.Event()

    async def hear(self, patience: float) -> frozenset[str]:
        try:
            async with asyncio.timeout(max(patience, 0)):
                await self.bell.wait()
        except TimeoutError:
            return frozenset()
        heard = frozenset(self.words)
        self.words.clear()
        self.bell.clear()
        return heard


class LocalBus:
    """Keeps the promise of `ports.bus.Bus`; words said twice before they are heard are heard once."""

    def __init__(self) -> None:
        self._listeners: defaultdict[str, set[_LocalEars]] = defaultdict(set)

    def say(self, topic: str, word: str) -> None:
        for ears in self._listeners.get(topic, ()):
            ears.words.add(word)
            ears.bell.set()

    @asynccontextmanager
    async def listen(self, topic: str) -> AsyncIterator[Ears]:
        ears = _LocalEars()
        self._listeners[topic].add(ears)
        try:
            yield ears
        finally:
            self._listeners[topic].discard(ears)
            if not self._listeners[topic]:
                del self._listeners[topic]
