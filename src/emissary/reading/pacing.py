"""How a site bears our visits, told by its answers and by how long they take. The lane decides what follows. Pure."""

from collections import OrderedDict

from emissary.model.lanes import Strain
from emissary.model.pages import Code, Page, Refusal, Unchanged, Unreachable

__all__ = ["StrainWatch"]

_MOST_HOSTS = 10_000
_WEIGHT = 0.1
_TIMES_SLOWER = 3.0
_LEAST_RISE_MS = 250.0
_HEAVY = frozenset({Code.RATE_LIMITED, Code.UNAVAILABLE})
_RISING = frozenset({Code.SERVER_ERROR, Code.TIMEOUT, Code.CONNECT})


class StrainWatch:
    """Knows how quickly each host usually answers, and notices when it takes much longer."""

    def __init__(self) -> None:
        self._usual_ms: OrderedDict[str, float] = OrderedDict()

    def note(self, host: str, outcome: object, took_ms: float | None) -> Strain:
        """The strain that an answer shows."""
        match outcome:
            case Refusal(code=code) if code in _HEAVY:
                return Strain.HEAVY
            case Unreachable(code=code) if code in _RISING:
                return Strain.RISING
            case Page() | Unchanged() if took_ms is not None:
                return self._timed(host, took_ms)
            case _:
                return Strain.NONE

    def _timed(self, host: str, took_ms: float) -> Strain:
        usual = self._usual_ms.get(host, took_ms)
        # The usual time follows slowly and runs after no rise at full speed: a site that gets slow stays slow to us.
        self._usual_ms[host] = usual + _WEIGHT * (min(took_ms, usual * _TIMES_SLOWER) - usual)
        self._usual_ms.move_to_end(host)
        if len(self._usual_ms) > _MOST_HOSTS:
            self._usual_ms.popitem(last=False)
        slow = took_ms > usual * _TIMES_SLOWER and took_ms - usual > _LEAST_RISE_MS
        return Strain.RISING if slow else Strain.NONE
