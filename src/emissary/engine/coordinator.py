"""Leads, or stands by: what must be done by one process only is done here, for as long as this one leads."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import structlog

from emissary.model.errors import StoreUnavailable, TermOver
from emissary.model.ids import WorkerId
from emissary.model.leadership import Term
from emissary.ports.clock import Clock
from emissary.ports.leadership import Leadership
from emissary.telemetry.metrics import Metrics

__all__ = ["Coordinator", "Duty", "Tenure"]

_BREATH_SECONDS = 0.02  # between two portions of a duty, so that others come in between
_LONGEST_RETRY_SECONDS = 30.0
_RESIGN_SECONDS = 2.0
_SURE = 0.7

log = structlog.get_logger(__name__)


class Duty(Protocol):
    """Something that one process does for all, again and again.

    It may be done by two at once, when one of them was paused and does not know that its term is over. So whatever of
    it must not happen twice is written under the term, or is void by its own nature the second time.
    """

    name: str
    every: timedelta

    async def do(self, term: Term, /) -> bool:
        """Do a portion of it; tells whether there is more to do at once."""
        ...


@dataclass(frozen=True, slots=True)
class Tenure:
    """How long one may lead without saying so again, and how often one tries. Who stands by takes over after both."""

    lease: timedelta = timedelta(seconds=15)
    renewal: timedelta = timedelta(seconds=5)


class Coordinator:
    """One candidate. As many as there are processes run, and one of them leads.

    It stops at 70 % of a lease that it could not renew: then all its duties have ended before another begins.
    """

    def __init__(
        self,
        candidate: WorkerId,
        leadership: Leadership,
        duties: Sequence[Duty],
        *,
        clock: Clock,
        metrics: Metrics,
        tenure: Tenure | None = None,
    ) -> None:
        self._candidate = candidate
        self._leadership = leadership
        self._duties = duties
        self._clock = clock
        self._metrics = metrics
        self._tenure = tenure or Tenure()
        self._led = 0  # the number of the last term
        self._good_until = 0.0
        self._over = asyncio.Event()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Lead no longer; another takes over as soon as it looks."""
        self._stopping.set()

    async def run(self) -> None:
        """Lead whenever nobody else does, until told to stop."""
        async with asyncio.TaskGroup() as group:
            standing = group.create_task(self._stand())
            await self._stopping.wait()
            standing.cancel()

    async def _stand(self) -> None:
        while True:
            try:
                term = await self._elect()
            except StoreUnavailable as error:
                log.warning("leadership could not be asked for", reason=error.detail)
            else:
                if term is not None:
                    await self._lead(term)
            await self._clock.sleep(self._tenure.renewal.total_seconds())

    async def _elect(self) -> Term | None:
        """Lead, or go on leading; how long that is good for counts from before we asked."""
        began = self._clock.monotonic()
        term = await self._leadership.lead(self._candidate, self._tenure.lease, self._clock.now())
        if term is not None:
            self._good_until = began + _SURE * self._tenure.lease.total_seconds()
        return term

    async def _lead(self, term: Term) -> None:
        self._begin(term)
        try:
            async with asyncio.TaskGroup() as group:
                chores = [group.create_task(self._renew(term)), group.create_task(self._watch())]
                chores += [group.create_task(self._see_to(duty, term)) for duty in self._duties]
                await self._over.wait()
                for chore in chores:
                    chore.cancel()
        finally:
            self._metrics.step_down()
            log.info("leads no longer", term=term.number)
            await self._resign(term)

    def _begin(self, term: Term) -> None:
        self._over.clear()
        if term.number != self._led:
            self._metrics.terms.inc()
            log.info("leads now", term=term.number)
        self._led = term.number
        self._metrics.leads.set(1)

    async def _renew(self, term: Term) -> None:
        while True:
            await self._clock.sleep(self._tenure.renewal.total_seconds())
            try:
                if await self._elect() != term:
                    self._over.set()
            except StoreUnavailable as error:
                log.warning("leadership could not be renewed", reason=error.detail)

    async def _watch(self) -> None:
        """A chore of its own: a renewal that hangs must not keep us leading."""
        while (left := self._good_until - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        log.warning("leadership could not be renewed in time")
        self._over.set()

    async def _see_to(self, duty: Duty, term: Term) -> None:
        while True:
            await self._clock.sleep(await self._do(duty, term))

    async def _do(self, duty: Duty, term: Term) -> float:
        """Do a portion of the duty; returns after how many seconds the next one is to be done."""
        every = duty.every.total_seconds()
        if self._clock.monotonic() >= self._good_until:
            self._over.set()  # the whole machine was paused, and we are the first to wake
            return every
        try:
            return _BREATH_SECONDS if await duty.do(term) else every
        except TermOver as error:
            log.warning("another leads", reason=error.detail)
            self._over.set()
        except StoreUnavailable as error:
            self._metrics.duties_failed.labels(duty.name).inc()
            log.warning("a duty has to wait for the store", duty=duty.name, reason=error.detail)
        except Exception:
            self._metrics.duties_failed.labels(duty.name).inc()
            log.exception("a duty failed, and will be tried again", duty=duty.name)
        return min(every, _LONGEST_RETRY_SECONDS)

    async def _resign(self, term: Term) -> None:
        """So that another need not wait for the end of the lease, which comes all the same if this is not heard."""
        try:
            async with asyncio.timeout(_RESIGN_SECONDS):
                await self._leadership.resign(term)
        except (StoreUnavailable, TimeoutError) as error:
            log.warning("leadership could not be given back", reason=str(error))
