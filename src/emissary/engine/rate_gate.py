"""Keeps accounts to their rates: a process takes slices of an account's bucket, and lets requests pass out of them."""

import asyncio
from dataclasses import dataclass, field

from emissary.model.ids import AccountId
from emissary.model.rates import Rate, Standing
from emissary.ports.clock import Clock
from emissary.ports.rates import Rates

__all__ = ["RateGate"]

_MOST_PURSES = 10_000
_LAPSE_SECONDS = 10.0


@dataclass(slots=True)
class _Purse:
    """What this process has of an account's tokens, and what was left in the bucket when it took them."""

    rate: Rate
    tokens: int = 0
    left: float = 0.0
    taken_at: float = float("-inf")
    filling: asyncio.Lock = field(default_factory=asyncio.Lock)

    def have(self, now: float) -> int:
        """Tokens that lie about for long are let go: kept, they would come on top of a bucket that is full again."""
        return self.tokens if now - self.taken_at < _LAPSE_SECONDS else 0

    def may_hold(self, now: float) -> float:
        """What the bucket and the purse have by now, if nobody else took anything."""
        filled = self.left + (now - self.taken_at) * self.rate.per_second
        return min(filled + self.have(now), float(self.rate.burst))

    def is_dry(self, now: float) -> bool:
        """Whether the bucket was empty when it was last looked at, and cannot have a token yet."""
        return self.left < 1 and self.may_hold(now) < 1


class RateGate:
    """A request costs a write once in a slice. One that is refused costs none until there can be a token again."""

    def __init__(self, rates: Rates, clock: Clock) -> None:
        self._rates = rates
        self._clock = clock
        self._purses: dict[AccountId, _Purse] = {}

    async def admit(self, account: AccountId, rate: Rate) -> Standing:
        """Let one request of the account pass, or not."""
        purse = self._purse(account, rate)
        while not purse.have(self._clock.monotonic()) and not purse.is_dry(self._clock.monotonic()):
            async with purse.filling:
                await self._fill(account, purse)
        now = self._clock.monotonic()
        if not purse.have(now):
            return Standing(rate, allowed=False, left=purse.may_hold(now))
        purse.tokens -= 1
        return Standing(rate, allowed=True, left=purse.may_hold(now))

    def _purse(self, account: AccountId, rate: Rate) -> _Purse:
        purse = self._purses.get(account)
        if purse is None or purse.rate != rate:
            if purse is None and len(self._purses) >= _MOST_PURSES:
                del self._purses[next(iter(self._purses))]
            purse = self._purses[account] = _Purse(rate)
        return purse

    async def _fill(self, account: AccountId, purse: _Purse) -> None:
        began = self._clock.monotonic()
        if purse.have(began) or purse.is_dry(began):
            return  # somebody else has looked while we waited
        taken = await self._rates.take(account, purse.rate, purse.rate.slice, self._clock.now())
        purse.tokens, purse.left, purse.taken_at = taken.taken, taken.left, self._clock.monotonic()
