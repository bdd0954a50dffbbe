"""Fair turns: start-time fair queueing. Every flow of work has a virtual time, and its items are ranked by it. Pure.

A flow is a batch, or an account's single jobs of one priority. An item's tag is the virtual time at which its turn
begins: the flow's own time, or the clock's where the flow was idle, so that nobody saves up turns. The clock goes on by
one turn for each that a flow was given (`Service`). Of two flows of equal weight that always have work, each gets every
second turn.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from emissary.model.jobs import Priority
from emissary.model.lanes import Item

__all__ = ["ONE", "PARKED", "WINDOW", "Service", "Turns", "is_parked", "rank_of", "tag_of", "turns_for", "window_from"]

ONE = 1_000
"""The virtual time that an item of weight 1 takes."""

WINDOW = 50 * ONE
"""How far beyond the front of all work the further items of a lane may be taken with its first."""

PARKED = 1 << 60
"""What the rank of an item grows by while its batch is paused: it stands behind all others."""

_HEAD_START_ITEMS = 1_000_000
_BANDS = (Priority.HIGH, Priority.INTERACTIVE, Priority.NORMAL, Priority.LOW)
_HEAD_STARTS = tuple(steps * _HEAD_START_ITEMS * ONE for steps in (2, 1, 0, -1))
_BAND_OF = {priority: band for band, priority in enumerate(_BANDS)}
_BAND_BITS = 2  # the lowest bits of a rank say which head start is in it, so that the clock can take it out again


@dataclass(frozen=True, slots=True)
class Turns:
    """The tags of consecutive items of a flow: the first, and how far apart they are."""

    first: int
    step: int

    def tag(self, index: int) -> int:
        return self.first + index * self.step

    def after(self, count: int) -> int:
        """The flow's virtual time once so many turns are given out."""
        return self.first + count * self.step


def turns_for(last: int, clock: int, weight: float = 1.0, sharing: int = 1) -> Turns:
    """The next turns of a flow whose time is `last`; `sharing` flows divide the weight among them."""
    step = max(int(ONE * max(sharing, 1) / weight), 1)
    return Turns(max(last, clock), step)


def rank_of(tag: int, priority: Priority) -> int:
    """The place in line, smaller first: the tag less the head start of the priority."""
    band = _BAND_OF[priority]
    return ((tag - _HEAD_STARTS[band]) << _BAND_BITS) | band


def tag_of(rank: int) -> int:
    """The tag in a rank."""
    return (rank >> _BAND_BITS) + _HEAD_STARTS[rank & ((1 << _BAND_BITS) - 1)]


def window_from(rank: int) -> int:
    """The greatest rank that is taken along with this one."""
    return rank + (WINDOW << _BAND_BITS)


def is_parked(rank: int) -> bool:
    """Ranks may be below zero: what is parked is about PARKED, on either side."""
    return rank > PARKED // 2


@dataclass(frozen=True, slots=True)
class Service:
    """What was handed out at once, as far as the clock is concerned.

    Lanes bring items along that stand far behind their first, and leave others behind that stand before these. If the
    clock went to the greatest tag, whoever comes next would have to wait for all that was left behind. So it goes on by
    as many turns as one flow was given; but never beyond the last tag, nor less far than the first.
    """

    first: int
    last: int
    turns: int

    @classmethod
    def of(cls, leases: Iterable[Sequence[Item]]) -> Self | None:
        """Of the items of each lane, in order. Parked ones have the tags of long ago: they do not move the clock."""
        given = [items for items in leases if items]
        ends = [item.rank for items in given for item in (items[0], items[-1])]
        tags = [tag_of(rank) for rank in ends if not is_parked(rank)]
        if not tags:
            return None
        turns = Counter([item.batch or item.account for items in given for item in items])
        return cls(min(tags), max(tags), max(turns.values()) * ONE)
