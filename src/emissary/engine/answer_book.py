"""The book of first answers: a request that comes again under its key gets the answer that it got before."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import msgspec
import structlog

from emissary.model import zstd
from emissary.model.errors import RequestInFlight, StoreUnavailable
from emissary.model.idempotency import IN_FLIGHT, ClaimedKey, FirstAnswer, InFlight, KeptAnswer, place_of
from emissary.model.ids import AccountId
from emissary.ports.clock import Chance, Clock
from emissary.ports.idempotency import FirstAnswers
from emissary.ports.vault import Vault

__all__ = ["AnswerBook"]

P = ParamSpec("P")
T = TypeVar("T")

_RENEW_SECONDS = IN_FLIGHT.total_seconds() / 4
_TOKEN_BYTES = 16
_LIGHT_BYTES = 100_000  # beyond, packing an answer would hold others up

log = structlog.get_logger(__name__)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(FirstAnswer).decode


class AnswerBook:
    """Claims keys, keeps answers. They are sealed at rest: a key that was just made is shown in one of them."""

    def __init__(self, store: FirstAnswers, vault: Vault, *, clock: Clock, chance: Chance) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock
        self._chance = chance

    async def claim(self, account: AccountId, path: str, *, key: str, route: str) -> ClaimedKey | KeptAnswer:
        """Take the key, or else what was answered under it; raises RequestInFlight while nothing was."""
        wanted = ClaimedKey(account, place_of(path, key), self._chance.draw(_TOKEN_BYTES), route)
        match await self._store.claim(wanted, self._clock.now()):
            case None:
                return wanted
            case InFlight():
                raise RequestInFlight
            case KeptAnswer() as kept:
                return kept

    async def stay(self, key: ClaimedKey) -> None:
        """Renew the claim until this is cancelled, or the key is in other hands."""
        while True:
            await self._clock.sleep(_RENEW_SECONDS)
            try:
                if not await self._store.renew(key, self._clock.now()):
                    return
            except StoreUnavailable as error:
                log.warning("a claim of an idempotency key could not be renewed", reason=error.detail)

    async def keep(self, key: ClaimedKey, asked: bytes, answer: FirstAnswer) -> None:
        """Keep the answer. If that fails it was given all the same: whoever asks again is then told to wait."""
        sealed = await _aside(answer.body, self._pack, answer, _seal_of(key.account, key.place))
        try:
            if not await self._store.keep(key, KeptAnswer(asked, answer.status, sealed), self._clock.now()):
                log.warning("an answer came after its idempotency key was given to another request", route=key.route)
        except StoreUnavailable as error:
            log.warning("an answer could not be kept for its idempotency key", reason=error.detail)

    async def release(self, key: ClaimedKey) -> None:
        """Let the key go: what was answered is not to be remembered."""
        try:
            await self._store.release(key)
        except StoreUnavailable as error:
            log.warning("an idempotency key could not be let go, and will be later", reason=error.detail)

    async def open(self, account: AccountId, path: str, key: str, kept: KeptAnswer) -> FirstAnswer:
        """The answer as it was sent."""
        return await _aside(kept.sealed, self._unpack, kept.sealed, _seal_of(account, place_of(path, key)))

    def _pack(self, answer: FirstAnswer, place: str) -> bytes:
        return self._vault.seal(zstd.compress(_encode(answer)), place)

    def _unpack(self, sealed: bytes, place: str) -> FirstAnswer:
        return _decode(zstd.decompress(self._vault.open(sealed, place)))


def _seal_of(account: AccountId, place: bytes) -> str:
    return f"first answer {account} {place.hex()}"


async def _aside(bulk: bytes, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    if len(bulk) <= _LIGHT_BYTES:
        return work(*given, **named)
    return await asyncio.to_thread(work, *given, **named)
