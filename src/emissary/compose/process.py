"""What a process sets for itself before it works."""

import ctypes
import gc
from contextlib import suppress
from pathlib import Path
from typing import Any

from emissary.adapters.clock import SystemChance, SystemClock
from emissary.model.errors import SettingsError
from emissary.model.ids import AccountId
from emissary.ports.clock import Chance, Clock
from emissary.settings import Settings, load_settings

__all__ = ["LOCAL_ACCOUNT", "settle_in", "steady_process", "the_chance", "the_clock"]

LOCAL_ACCOUNT = AccountId("acc_local")
"""Whose everything is until there are others."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # as glibc's malloc.h has them
_KEPT_BYTES = 64 * 1024 * 1024


def settle_in(file: Path | None = None, **given: Any) -> Settings:
    """The settings, and the directory that they name; raises SettingsError where there can be none."""
    settings = load_settings(file, **given)
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        what = f"{settings.data_dir} cannot be used as a directory ({error.strerror})"
        raise SettingsError(f"EMISSARY_DATA_DIR: {what}; name another, here or with --data-dir") from error
    return settings


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


def the_chance() -> Chance:
    """Real chance, for those who have no app to take it from."""
    return SystemChance()
