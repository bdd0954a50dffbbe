"""A machine whose time of day a test sets."""

from emissary.adapters.clock import THIS_MACHINE, Machine

__all__ = ["StillWatch", "WristWatch"]


class WristWatch:
    """Goes as this machine does, and shows what it was set to."""

    def __init__(self) -> None:
        self._set_by = 0.0
        self.machine = Machine(lambda: THIS_MACHINE.time_of_day() + self._set_by)

    def set_by(self, seconds: float) -> None:
        """Ahead, or back where it is negative."""
        self._set_by += seconds


class StillWatch:
    """Goes on when it is told to; its steady clock began long ago."""

    def __init__(self, shows: float, steady: float = 5_000.0) -> None:
        self.shows = shows
        self._steady = steady
        self.machine = Machine(lambda: self.shows, lambda: self._steady)

    def set_by(self, seconds: float) -> None:
        self.shows += seconds

    def go_on(self, seconds: float) -> None:
        self.shows += seconds
        self._steady += seconds
