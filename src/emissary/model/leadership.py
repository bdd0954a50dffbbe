"""Who leads: one of many processes, for a term."""

from dataclasses import dataclass

from emissary.model.ids import WorkerId

__all__ = ["Term"]


@dataclass(frozen=True, slots=True)
class Term:
    """A leader's time in office. Its number is greater than that of every term before, and serves as a fence."""

    number: int
    leader: WorkerId
