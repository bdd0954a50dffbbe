"""Follows a batch while it is read: its pages as they end, its counts as they change, and its end."""

import math
from collections.abc import AsyncIterator
from dataclasses import dataclass

from emissary.model.batches import Batch, BatchState, Finished
from emissary.model.ids import AccountId, BatchId
from emissary.ports.clock import Clock
from emissary.products.scrape.batches import ScrapeBatches

__all__ = ["Event", "Following", "Over", "Progress", "Silence"]

_LOOK_SECONDS = 1.0
_SILENCE_SECONDS = 15.0
_PAGE = 100
_ENDS = frozenset({BatchState.COMPLETED, BatchState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Progress:
    """The counts have changed."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class Over:
    """The batch has ended, and every page of it that left something behind was told."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing has happened for a while; whoever listens should know that we are still there."""


Event = Finished | Progress | Over | Silence


class Following:
    """Looks once a second: hints may be lost, and the store is the truth. At most one page of results is in memory."""

    def __init__(self, batches: ScrapeBatches, clock: Clock, *, seconds: float = math.inf) -> None:
        self._batches = batches
        self._clock = clock
        self._seconds = seconds
        self._is_stopped = False

    def stop(self) -> None:
        """End what is being followed within a second; whoever listens goes on elsewhere, behind the last cursor."""
        self._is_stopped = True

    async def follow(self, account: AccountId, batch: BatchId, after: str) -> AsyncIterator[Event]:
        """Every page behind the cursor as it ends, until the batch or the time has; progress once a second at most."""
        shown, is_told, looked_at, spoke_at = None, False, -math.inf, self._clock.monotonic()
        until = spoke_at + self._seconds
        while not self._is_stopped:
            if self._clock.monotonic() - looked_at >= _LOOK_SECONDS:
                before, shown = shown, await self._batches.show(account, batch)
                # Asked before the results are: those of a batch that has ended so are all among what is found then.
                is_told = shown.state in _ENDS and await self._batches.ledger.all_told(batch)
                looked_at = self._clock.monotonic()
                if before != shown:
                    spoke_at = looked_at
                    yield Progress(shown)
            page = await self._batches.ledger.finished(batch, after=after, most=_PAGE)
            for each in page:
                yield each
            if page:
                after, spoke_at = page[-1].cursor, self._clock.monotonic()
                continue
            if is_told and shown is not None:
                yield Over(shown)
                return
            if self._clock.monotonic() - spoke_at >= _SILENCE_SECONDS:
                spoke_at = self._clock.monotonic()
                yield Silence()
            left = until - self._clock.monotonic()
            if left <= 0:
                return
            await self._clock.sleep(min(_LOOK_SECONDS, left))
