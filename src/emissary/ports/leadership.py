"""Leadership: who does what must be done by one process only."""

from datetime import datetime, timedelta
from typing import Protocol

from emissary.model.ids import WorkerId
from emissary.model.leadership import Term

__all__ = ["LONGEST_LEASE", "Leadership"]

LONGEST_LEASE = timedelta(minutes=1)
"""A term that seems to last longer was written before the clock was set back, and is over."""


class Leadership(Protocol):
    """One of all candidates leads, for as long as it says so again in time.

    A leader may be paused, and believe that it leads when another does. So the number of terms grows, and what must not
    be done twice is written under a term: if that is over, it is not written.
    """

    async def lead(self, candidate: WorkerId, lease: timedelta, now: datetime) -> Term | None:
        """Lead for so long from now, or go on leading; None while another does.

        `now` is the candidate's. A store with a clock of its own goes by that, since those of many machines differ.
        """
        ...

    async def resign(self, term: Term) -> None:
        """Lead no longer, so that another can at once; nothing happens if the term is over."""
        ...
