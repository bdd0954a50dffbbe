"""The bus over LISTEN and NOTIFY: one connection says and hears, and what is said in one moment goes out together."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import msgspec
import structlog

from emissary.backends.cluster.database import connect
from emissary.backends.cluster.outages import OUTAGES, hint_of
from emissary.backends.local_bus import LocalBus
from emissary.ports.bus import Ears
from emissary.ports.clock import Clock

__all__ = ["PostgresBus", "open_bus"]

_CHANNEL = "emissary"
_NOTIFY = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload"
_LARGEST = 7_900  # bytes of a payload; the server takes fewer than 8,000
_MOST_WAITING = 50_000  # words that are kept while there is no connection: they are hints, and old ones help nobody
_PATIENCE_SECONDS = 10.0
_BREATH_SECONDS = 0.005  # words that come within it share a statement; whoever comes after silence is not kept waiting
_SILENCE_SECONDS = 30.0  # after which we look whether there is still somebody at the other end
_AGAIN_SECONDS = 1.0

log = structlog.get_logger(__name__)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[tuple[str, str]]).decode


class PostgresBus:
    """Keeps the promise of `ports.bus.Bus`. Listeners of the same process hear at once, without the round trip."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._url = url
        self._clock = clock
        self._local = LocalBus()
        self._waiting: dict[bytes, None] = {}  # in the order in which they were said, each once
        self._bell = asyncio.Event()
        self._tried = asyncio.Event()

    def say(self, topic: str, word: str) -> None:
        pair = _encode((topic, word))
        if len(pair) > _LARGEST:
            raise ValueError(f"too long to be said on the bus: {word[:50]!r}…")
        self._local.say(topic, word)
        if len(self._waiting) < _MOST_WAITING:
            self._waiting[pair] = None
        self._bell.set()

    def listen(self, topic: str) -> AbstractAsyncContextManager[Ears]:
        return self._local.listen(topic)

    async def run(self) -> None:
        """Keep the connection. While there is none, words reach this process only; that costs others some time."""
        while True:
            try:
                await self._converse()
            except OUTAGES as error:
                log.warning("the bus is interrupted", reason=hint_of(error))
            self._tried.set()
            await self._clock.sleep(_AGAIN_SECONDS)

    async def until_tried(self) -> None:
        """Come back when there is a connection, or the first attempt has failed."""
        await self._tried.wait()

    async def _converse(self) -> None:
        connection = await connect(self._url, _PATIENCE_SECONDS)
        try:
            connection.add_termination_listener(lambda _: self._bell.set())
            await connection.add_listener(_CHANNEL, partial(self._hear, connection.get_server_pid()))
            self._tried.set()
            while not connection.is_closed():
                await self._ring()
                said, self._waiting = self._waiting, {}
                # With nothing to say, this shows whether anybody is there.
                await connection.execute(_NOTIFY, _CHANNEL, list(_payloads(said)), timeout=_PATIENCE_SECONDS)
                await self._clock.sleep(_BREATH_SECONDS)
        finally:
            connection.terminate()

    async def _ring(self) -> None:
        try:
            async with asyncio.timeout(_SILENCE_SECONDS):
                await self._bell.wait()
        except TimeoutError:
            return
        self._bell.clear()

    def _hear(self, own: int, _: object, sender: int, channel: str, payload: object) -> None:  # noqa: ARG002 - as it is called
        if sender == own:
            return  # our own words, which were heard here when they were said
        try:
            said = _decode(str(payload))
        except msgspec.DecodeError:
            log.warning("something on the bus is not ours", process=sender)
            return
        for topic, word in said:
            self._local.say(topic, word)


def _payloads(said: Iterable[bytes]) -> Iterator[str]:
    """The words as few arrays of pairs, each as large as a notification may be."""
    pairs: list[bytes] = []
    size = 0
    for pair in said:
        if size + len(pair) > _LARGEST:
            yield _array(pairs)
            pairs, size = [], 0
        pairs.append(pair)
        size += len(pair) + 1
    if pairs:
        yield _array(pairs)


def _array(pairs: list[bytes]) -> str:
    return f"[{b','.join(pairs).decode()}]"


@asynccontextmanager
async def open_bus(url: str, clock: Clock) -> AsyncIterator[PostgresBus]:
    """A bus that runs until the end of the block."""
    bus = PostgresBus(url, clock)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bus.run())
        await bus.until_tried()
        yield bus
        running.cancel()
