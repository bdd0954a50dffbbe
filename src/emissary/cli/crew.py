"""Several processes of the same verb: started together, replaced when one dies, stopped together."""

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Sequence

import structlog

from emissary.compose import the_clock

__all__ = ["Crew"]

_PR_SET_PDEATHSIG = 1  # as prctl.h has it
_FIRST_REST, _LONGEST_REST = 1.0, 30.0
_STEADY_SECONDS = 60.0

log = structlog.get_logger(__name__)


class Crew:
    """Runs so many processes of `emissary …`. One that dies is replaced, the later the more often it has died."""

    def __init__(self, arguments: Sequence[str], count: int) -> None:
        self._command = [sys.executable, "-m", "emissary", *arguments]
        self._count = count
        self._clock = the_clock()

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop; then all are asked to stop, and waited for."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._count):
                group.create_task(self._keep(stop))

    async def _keep(self, stop: asyncio.Event) -> None:
        rest = _FIRST_REST
        while not stop.is_set():
            began = self._clock.monotonic()
            code = await self._one(stop)
            if stop.is_set():
                return
            rest = _FIRST_REST if self._clock.monotonic() - began > _STEADY_SECONDS else min(rest * 2, _LONGEST_REST)
            log.warning("a worker process died and will be replaced", code=code, rest=rest)
            await _either(stop.wait(), self._clock.sleep(rest))

    async def _one(self, stop: asyncio.Event) -> int:
        process = await asyncio.create_subprocess_exec(*self._command, preexec_fn=_die_with(os.getpid()))
        await _either(stop.wait(), process.wait())
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        return await process.wait()


async def _either(*chores: object) -> None:
    """Wait for the first of them, and let the others go."""
    tasks = [asyncio.ensure_future(chore) for chore in chores]  # type: ignore[call-overload]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _die_with(parent: int):  # type: ignore[no-untyped-def]
    """Whatever ends the parent, its children are asked to stop: nobody is left behind unseen."""
    library = ctypes.CDLL(None)

    def prepare() -> None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)

    return prepare
