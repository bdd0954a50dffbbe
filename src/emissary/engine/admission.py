"""How many requests a process has in hand: beyond that the next is turned away, before anything of it is read."""

from enum import Enum

from emissary.model.errors import Overloaded
from emissary.ports.clock import Clock

__all__ = ["Admission", "Place"]

_CALM_SECONDS = 1.0
_SHARE_IN_A_RUSH = 8


class Admission:
    """Takes in up to `most_at_once` requests: many at once do no harm, if that does not last.

    Once somebody had to be turned away, more comes than can be done, and whoever is let in would wait for all before
    it. So an eighth of it is let in, until nobody had to be turned away for a second: those who get in meanwhile have
    few before them.

    Whoever waits for something else, such as a page to be read, stands aside, where `most_aside` may.

    All who have not gone are as many as both together at most: whoever never sends the rest of a request costs no work,
    but memory, and nobody knows yet who it is.
    """

    def __init__(self, clock: Clock, *, most_at_once: int, most_aside: int) -> None:
        self.most_at_once = most_at_once
        self._clock = clock
        self._most_aside = most_aside
        self._most_inside = most_at_once + most_aside
        self._few = max(most_at_once // _SHARE_IN_A_RUSH, 1)
        self._inside = 0  # at work, aside, or waited for
        self._at_work = 0
        self._aside = 0
        self._refused_at = float("-inf")

    def enter(self) -> "Place | None":
        """A place for one more request; None if it is to come again later."""
        is_full = self._at_work >= self.most_at_once or self._inside >= self._most_inside
        if is_full or self._at_work >= self._few:
            now = self._clock.monotonic()
            is_rush = now - self._refused_at < _CALM_SECONDS
            if is_full or is_rush:
                self._refused_at = now
                return None
        self._inside += 1
        self.begin()
        return Place(self)

    def let_out(self) -> None:
        """One of all who were let in has gone."""
        self._inside -= 1

    def begin(self) -> None:
        """One more is at work."""
        self._at_work += 1

    def end(self) -> None:
        """One fewer is."""
        self._at_work -= 1

    def stand_aside(self) -> None:
        """One of those at work waits from now on."""
        if self._aside >= self._most_aside:
            raise Overloaded(f"{self._aside:,} requests wait here already for what they asked for")
        self._aside += 1
        self.end()

    def leave_aside(self) -> None:
        """One of those who waited has gone."""
        self._aside -= 1


class _Standing(Enum):
    AT_WORK = "at work"
    PAUSED = "paused"
    ASIDE = "aside"
    GONE = "gone"


class Place:
    """The place of one request."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._standing = _Standing.AT_WORK

    def pause(self) -> None:
        """Nothing can be done for it until `resume`: the rest of it has yet to come."""
        if self._standing is _Standing.AT_WORK:
            self._admission.end()
            self._standing = _Standing.PAUSED

    def resume(self) -> None:
        if self._standing is _Standing.PAUSED:
            self._admission.begin()
            self._standing = _Standing.AT_WORK

    def stand_aside(self) -> None:
        """It waits from now on; raises Overloaded where too many do."""
        if self._standing is _Standing.AT_WORK:
            self._admission.stand_aside()
            self._standing = _Standing.ASIDE

    def answer(self) -> None:
        """What was to be done for it at once is done. How fast the answer is taken is up to the other side."""
        if self._standing is not _Standing.ASIDE:
            self.leave()

    def leave(self) -> None:
        if self._standing is _Standing.GONE:
            return
        if self._standing is _Standing.AT_WORK:
            self._admission.end()
        elif self._standing is _Standing.ASIDE:
            self._admission.leave_aside()
        self._admission.let_out()
        self._standing = _Standing.GONE
