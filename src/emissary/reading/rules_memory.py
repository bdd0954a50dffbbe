"""The house rules that a process knows by heart: as many as are worth their room, the last used first."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from emissary.model.robots import RobotsFile
from emissary.reading.robots import RobotsRules

__all__ = ["KnownRules", "RulesMemory"]

_MOST_FILES = 2_000
_MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class KnownRules:
    """The rules of an origin: the file that says them, the host that keeps it, and until when they count."""

    file: RobotsFile  # without its text: the rules are all that is needed of it
    keeper: str
    rules: RobotsRules
    until: datetime


class RulesMemory:
    """Bounded by count and by weight: a robots.txt of half a MiB weighs as much as a thousand usual ones."""

    def __init__(self, most_files: int = _MOST_FILES, most_bytes: int = _MOST_BYTES) -> None:
        self._most_files = most_files
        self._most_bytes = most_bytes
        self._known: OrderedDict[str, tuple[KnownRules, int]] = OrderedDict()
        self.weight = 0

    def __len__(self) -> int:
        return len(self._known)

    def recall(self, origin: str, now: datetime) -> KnownRules | None:
        """The rules of the origin, if they still count."""
        found = self._known.get(origin)
        if found is None:
            return None
        if now >= found[0].until:
            self._drop(origin)
            return None
        self._known.move_to_end(origin)
        return found[0]

    def keep(self, origin: str, known: KnownRules) -> None:
        """Remember the rules, and forget whatever has not been used for longest."""
        self._drop(origin)
        weight = known.rules.weight
        self._known[origin] = known, weight
        self.weight += weight
        while len(self._known) > self._most_files or self.weight > self._most_bytes:
            self._drop(next(iter(self._known)))

    def _drop(self, origin: str) -> None:
        _, weight = self._known.pop(origin, (None, 0))
        self.weight -= weight
