"""A duty of the leader: what the store itself brought about is told to whoever wants to hear of it."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from emissary.engine.worker import LANES_TOPIC
from emissary.model.jobs import NewJob
from emissary.model.leadership import Term
from emissary.model.webhooks import Happening
from emissary.ports.bus import Bus
from emissary.ports.clock import Clock
from emissary.ports.webhooks import Happenings

__all__ = ["TellingDuty"]

_AT_ONCE = 100


class TellingDuty:
    """Makes deliveries of happenings. Each is taken away under the term, with what it led to: so none is told twice."""

    name = "telling"
    every = timedelta(seconds=0.5)

    def __init__(
        self,
        happenings: Happenings,
        deliveries: Callable[[Happening], Awaitable[Sequence[NewJob]]],
        bus: Bus,
        clock: Clock,
    ) -> None:
        self._happenings = happenings
        self._deliveries = deliveries
        self._bus = bus
        self._clock = clock

    async def do(self, term: Term, /) -> bool:
        untold = await self._happenings.untold(most=_AT_ONCE)
        for happening in untold:
            jobs = await self._deliveries(happening)
            if await self._happenings.tell(term, happening, jobs, self._clock.now()):
                for lane in {job.lane for job in jobs}:
                    self._bus.say(LANES_TOPIC, lane)
        return len(untold) == _AT_ONCE
