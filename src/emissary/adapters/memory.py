"""How much memory this process takes."""

import resource
from pathlib import Path

__all__ = ["resident_bytes"]

_STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """The bytes that are really in memory; where the system does not tell, the most there ever were."""
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
