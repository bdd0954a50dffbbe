"""A robots.txt file as it was found."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["RobotsFile"]


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """What asking for /robots.txt gave: its status (None where nothing answered), its text, and when."""

    status: int | None
    body: bytes
    fetched_at: datetime
