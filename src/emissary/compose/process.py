"""What a process sets for itself before it works."""

import ctypes
import gc
from contextlib import suppress

from emissary.adapters.clock import SystemClock
from emissary.model.ids import AccountId
from emissary.ports.clock import Clock

__all__ = ["LOCAL_ACCOUNT", "steady_process", "the_clock"]

LOCAL_ACCOUNT = AccountId("acc_local")
"""Whose everything is until there are others."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # as glibc's malloc.h has them
_KEPT_BYTES = 64 * 1024 * 1024


def steady_process() -> None:
    """Tell the collector that what was made at start lives for ever, and the allocator to keep what pages give back.

    A page's tree is made and gone in a moment. Handing its memory back to the system each time, and asking for it
    anew, costs as much as parsing does.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    with suppress(OSError, AttributeError):  # another C library has no such knob
        library = ctypes.CDLL(None)
        library.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        library.mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES // 4)


def the_clock() -> Clock:
    """The real clock, for those who have no app to take it from."""
    return SystemClock()
