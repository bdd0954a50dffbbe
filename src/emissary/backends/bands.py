"""The bands of ready lanes: what kind of thing is behind a lane, and how urgent its first item is, in one small number.

Both stores keep their ready lanes in the order of bands. So whoever serves some kinds of lanes only, or looks for
urgent work only, passes over all others without reading them. Whoever places a lane writes its band: the priority as
it stands in the lowest bits of the rank, and 4 more for a lane of webhooks. On PostgreSQL, where lanes are not kept by
flow, 8 more are for a lane whose first item is of a batch: so single jobs are found behind however many of those.
"""

from collections.abc import Iterable

from emissary.model.lanes import Thing, Wish

__all__ = ["bands_of", "competing_bands", "is_of_batch", "most_on_top"]

_PRIORITIES = 4
_OF_BATCH = 8
_FIRST_BAND = {Thing.HOST: 0, Thing.HOOK: _PRIORITIES}


def bands_of(things: frozenset[Thing] | None) -> list[int]:
    """The bands of lanes of these things, None for all of them."""
    firsts = [first for thing, first in _FIRST_BAND.items() if things is None or thing in things]
    return [first + more + band for more in (0, _OF_BATCH) for first in firsts for band in range(_PRIORITIES)]


def is_of_batch(band: int) -> bool:
    """Whether the first item of such a lane is of a batch, where bands say that."""
    return band >= _OF_BATCH


def most_on_top(band: int, places: int, *, is_batch: bool, is_new: bool) -> int:
    """How many of the urgent places a flow of this band may have.

    All of them, if somebody waits for an answer. Of other work, a batch that has nothing in hand has one, and single
    jobs have half of what is left: so they begin at once, and however many they are, they leave a place.
    """
    if _is_urgent(band):
        return places
    return int(is_new) if is_batch else max(places // 2, int(is_new))


def _is_urgent(band: int) -> bool:
    """Whether somebody waits for what is in lanes of this band."""
    return band % _PRIORITIES <= 1


def competing_bands(wishes: Iterable[Wish]) -> list[int]:
    """The bands of lanes that whoever has these wishes could serve instead."""
    return sorted({band for things in {wish.things for wish in wishes} for band in bands_of(things)})
