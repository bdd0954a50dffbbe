"""The alerts: what the operator has been told."""

from collections.abc import Sequence
from typing import Protocol

from emissary.model.alerts import Alert
from emissary.model.jobs import NewJob
from emissary.model.leadership import Term

__all__ = ["Alerts"]


class Alerts(Protocol):
    """Alerts, each noted once."""

    async def note(self, term: Term, alert: Alert, deliveries: Sequence[NewJob]) -> bool:
        """Note the alert and submit its deliveries, in one transaction; False if it has been noted before.

        Raises TermOver, and nothing is written, if another leads by now.
        """
        ...

    async def latest(self, *, most: int) -> list[Alert]:
        """The latest alerts, the last one first."""
        ...
