"""Alerts: what the operator has to know of."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["Alert"]


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that happened to a subject, such as `worker.dead` to a worker; told once however often it is seen."""

    event: str
    subject: str
    at: datetime
