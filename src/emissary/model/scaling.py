"""How many workers there should be, told from what waits. Pure."""

from dataclasses import dataclass
from datetime import timedelta

__all__ = ["Load", "Scaling", "scaling_of"]


@dataclass(frozen=True, slots=True)
class Load:
    """The lanes at one moment. Where more than a hundred thousand are ready, no more than that are counted."""

    ready_lanes: int
    held_lanes: int
    oldest_wait: timedelta  # since when the ready lane that has waited longest could have been served


@dataclass(frozen=True, slots=True)
class Scaling:
    """What an autoscaler goes by."""

    wanted_workers: int
    ready_lanes: int
    waiting_items: int
    oldest_wait: timedelta


def scaling_of(load: Load, waiting_items: int, lanes_per_worker: int) -> Scaling:
    """As many workers as have room for all lanes that are held or could be; one as long as anything waits."""
    lanes = load.ready_lanes + load.held_lanes
    wanted = max(-(-lanes // lanes_per_worker), 1 if waiting_items else 0)
    return Scaling(wanted, load.ready_lanes, waiting_items, load.oldest_wait)
