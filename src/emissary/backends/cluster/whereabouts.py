"""Remembers where the rows of held lanes are, so that whoever settles need not search for them.

An index leads to a row by way of its earlier versions, and while somebody reads for long there are many. A place is a
hint: the row may have moved since, so the key is compared, and a lane that is not there is searched for.
"""

from collections.abc import Iterable
from typing import TypeAlias

__all__ = ["Place", "Whereabouts"]

_MOST_REMEMBERED = 100_000

Place: TypeAlias = tuple[int, int]
"""The page and the line of a row (its ctid)."""


class Whereabouts:
    """Where the lanes are that were leased through this process."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}

    def note(self, lanes: Iterable[tuple[str, Place]]) -> None:
        if len(self._places) > _MOST_REMEMBERED:
            self._places.clear()
        self._places.update(lanes)

    def of(self, keys: Iterable[str]) -> dict[str, Place]:
        """Of these lanes those that are known of."""
        return {key: self._places[key] for key in keys if key in self._places}

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._places.pop(key, None)
