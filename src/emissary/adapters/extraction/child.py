"""What runs in a child process: reads one page after the other, with little memory, no files and no network.

It is started as `python -m emissary.adapters.extraction.child MODULE:FUNCTION BYTES PARENT`.
"""

import ctypes
import encodings
import gc
import importlib
import os
import pkgutil
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from emissary.adapters.extraction.messages import OUT_OF_MEMORY, READY, Answer, Task, read_frame, write_frame
from emissary.model.extraction import Extracted, Wanted
from emissary.model.pages import Page

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1
_NICENESS = 10
_FIRST_TO_GO = "900"  # of 1000: if the whole machine is short of memory, we are to go before the server
_LONGEST_TRACE = 4_000
_LONGEST_TASK = 1 << 40  # our parent's word is good

Extract = Callable[[Page, Wanted], Extracted]


def main(function: str, memory: int, parent: int) -> None:
    """Serve until there is nobody left to serve."""
    _die_with(parent)
    requests, answers = os.fdopen(0, "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed while we start is for the operator, and no answer
    extract = _named(function)
    _load_codecs()
    _hush()
    _confine(memory)
    gc.freeze()
    write_frame(answers, READY)
    try:
        _serve(extract, requests, answers)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)  # at once: even a farewell takes memory
    except BrokenPipeError:
        os._exit(0)  # nobody waits for the answer


def _serve(extract: Extract, requests: IO[bytes], answers: IO[bytes]) -> None:
    while (frame := read_frame(requests, _LONGEST_TASK)) is not None:
        write_frame(answers, _answer(extract, frame))


def _answer(extract: Extract, frame: bytes) -> bytes:
    try:
        task = Task.decode(frame)
        return Answer(extract(task.page, task.wanted)).encode()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the child's boundary: the parent logs it and counts it
        return Answer(error=type(error).__name__, trace=traceback.format_exc()[-_LONGEST_TRACE:]).encode()


def _die_with(parent: int) -> None:
    """Not even a page that is read for ever outlives its parent, however that dies."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is for our parent, which may yet want its answer
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:
        os._exit(0)  # it died before we could ask


def _named(function: str) -> Extract:
    module, _, name = function.partition(":")
    found: Extract = getattr(importlib.import_module(module), name)
    return found


def _load_codecs() -> None:
    """Python loads a codec from its file when it is first used; by then there are no files any more."""
    for module in pkgutil.iter_modules(encodings.__path__):
        if module.name not in ("mbcs", "oem"):  # Windows has these
            importlib.import_module(f"encodings.{module.name}")


def _hush() -> None:
    """Whatever a library says about a page goes nowhere; above all not into the answers."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _confine(memory: int) -> None:
    """So many bytes of address space; no core file; no new file or socket, for what is open now is all there is."""
    os.nice(_NICENESS)
    with suppress(OSError):  # some containers forbid it, and all else holds without
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
