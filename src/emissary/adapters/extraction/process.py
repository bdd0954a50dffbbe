"""One child process, and the thread that keeps it: there it is started, talked to and seen off."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from emissary.adapters.extraction.messages import (
    OUT_OF_MEMORY,
    READY,
    Answer,
    OversizedFrame,
    Task,
    read_frame,
    write_frame,
)
from emissary.model.errors import ExtractionUnavailable
from emissary.model.extraction import Extracted, Undoing, Unextractable, Wanted
from emissary.model.pages import Page

__all__ = ["ChildLimits", "ChildProcess", "Extract"]

Extract = Callable[[Page, Wanted], Extracted]
T = TypeVar("T")

_MIB = 1024 * 1024
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What one child may take, and how long it is kept."""

    memory: int = 1024 * _MIB  # of address space
    seconds: float = 30.0
    start_seconds: float = 30.0
    answer_bytes: int = 64 * _MIB  # four times the largest page: what a page gives is held here as well
    pages: int = 500


class ChildProcess:
    """Reads one page at a time. Where it does not answer, the page is to blame, and it is not used again.

    The kernel kills it when the thread that started it ends. So that thread is its own, and lives as long as it does.
    """

    def __init__(self, extract: Extract, limits: ChildLimits) -> None:
        self._function = f"{extract.__module__}:{extract.__qualname__}"
        self._limits = limits
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="extraction")
        self._process: subprocess.Popen[bytes] | None = None
        self._doomed = self._busy = False
        self._pages = 0
        self._size_at_start = 0

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def is_fit(self) -> bool:
        """Whether it can read another page."""
        if self._busy or self._process is None or self._process.poll() is not None:
            return False
        return self._pages < self._limits.pages and not self._has_grown()

    async def start(self) -> None:
        """Start it and wait until it is ready; raises ExtractionUnavailable."""
        try:
            async with asyncio.timeout(self._limits.start_seconds):
                is_ready = await self._in_thread(self._start)
        except TimeoutError:
            is_ready = False
        except OSError as error:
            raise ExtractionUnavailable(f"no process to read the page in could be started: {error}") from error
        if not is_ready:
            raise ExtractionUnavailable("the process that was to read the page did not get ready")

    async def extract(self, page: Page, wanted: Wanted) -> Answer | Unextractable:
        """What the child says of the page, or how it ended over it. Without an answer it stays busy for ever."""
        self._busy = True
        self._pages += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                answer = await self._in_thread(lambda: self._ask(page, wanted))
        except TimeoutError:
            return Unextractable(Undoing.TIME, f"reading the page took longer than {self._limits.seconds:g} s")
        self._busy = not isinstance(answer, Answer)
        return answer

    def kill(self) -> None:
        """Whatever it does; from any thread. If it is being started, the thread that starts it sees to it."""
        self._doomed = True
        if self._process is not None:
            self._process.kill()

    async def end(self) -> None:
        """Kill it and see it off."""
        self.kill()
        try:
            await self._in_thread(self._see_off)
        finally:
            self._thread.shutdown(wait=False)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _start(self) -> bool:
        command = [sys.executable, "-P", "-m", "emissary.adapters.extraction.child"]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [*command, self._function, str(self._limits.memory), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Nothing of our environment, in which there may be keys, but the way to our modules.
            env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=True,  # a Ctrl-C on the terminal is for us alone
        )
        if self._doomed:
            self._process.kill()
        _, answers = self._pipes()
        is_ready = read_frame(answers, len(READY)) == READY
        self._size_at_start = self._size() if is_ready else 0
        return is_ready

    def _ask(self, page: Page, wanted: Wanted) -> Answer | Unextractable:
        requests, answers = self._pipes()
        try:
            write_frame(requests, Task.of(page, wanted).encode())
            frame = read_frame(answers, self._limits.answer_bytes)
        except BrokenPipeError:
            frame = None
        except OversizedFrame as error:
            return Unextractable(Undoing.SIZE, f"what was asked of the page is too large ({error})")
        try:
            return self._last_words() if frame is None else Answer.decode(frame)
        except msgspec.MsgspecError as error:
            return Unextractable(Undoing.CRASH, f"reading the page gave what cannot be understood ({error})")

    def _last_words(self) -> Unextractable:
        """It has ended in the middle of the page."""
        assert self._process is not None
        code = self._process.wait()
        if code == OUT_OF_MEMORY:
            return Unextractable(Undoing.MEMORY, f"reading the page took more than {self._limits.memory // _MIB} MiB")
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Unextractable(Undoing.CRASH, f"reading the page ended the process that read it ({how})")

    def _see_off(self) -> None:
        if self._process is None:
            return
        self._process.wait()
        for pipe in self._pipes():
            with suppress(BrokenPipeError):  # a part of the page may still be on its way
                pipe.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process is not None
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        return requests, answers

    def _has_grown(self) -> bool:
        """Whether it holds on to half of the memory that was there for pages."""
        return self._size() - self._size_at_start > (self._limits.memory - self._size_at_start) // 2

    def _size(self) -> int:
        """Its address space in bytes, which is what its limit counts."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[0]) * _PAGE_BYTES
