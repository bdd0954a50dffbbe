"""The real clock and real chance: the one home of both."""

import asyncio
import fcntl
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from struct import Struct
from typing import IO, NamedTuple, Self

from emissary.model.errors import StoreUnavailable

__all__ = ["THIS_MACHINE", "AgreedClock", "CarriedClock", "Machine", "SystemChance", "SystemClock"]

# Whoever holds a lane stops using it at 70 % of its lease. By a clock that gains a fifth, leases end at 83 % of theirs.
_MOST_GAINED = 0.2
_WORTH_SECONDS = 0.5  # two clocks are never read in the same moment
_COURSE = Struct("<3d")
# Where there is no such clock, the other one is it.
_steady = partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class SystemClock:
    """Keeps the promise of `ports.clock.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))


class CarriedClock:
    """A clock that is kept elsewhere, carried on by this machine's steady one between two looks at it.

    Machines that share a database share its time, whatever their own clocks say or do.
    """

    def __init__(self, look: Callable[[], Awaitable[datetime]]) -> None:
        self._look = look
        self._seen = datetime.min.replace(tzinfo=UTC)
        self._seen_at = 0.0
        self._latest = self._seen

    async def correct(self) -> None:
        """Look at it again. The moment seen is taken for that in the middle between asking and being told."""
        asked = time.monotonic()
        seen = await self._look()
        self._seen, self._seen_at = seen, (asked + time.monotonic()) / 2

    def now(self) -> datetime:
        """The time there; a correction may let it stand still, but never takes it back."""
        self._latest = max(self._latest, self._seen + timedelta(seconds=time.monotonic() - self._seen_at))
        return self._latest

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))


@dataclass(frozen=True, slots=True)
class Machine:
    """What a machine's clocks say, in seconds: the time of day can be set, the steady one goes on even in its sleep."""

    time_of_day: Callable[[], float] = time.time
    steady: Callable[[], float] = _steady

    @property
    def ahead(self) -> float:
        """How far the time of day is ahead of the steady clock."""
        return self.time_of_day() - self.steady()


THIS_MACHINE = Machine()


class _Course(NamedTuple):
    """How far a clock is ahead of the steady one: so far at that moment of it, and from there on the way to a goal."""

    since: float
    ahead: float
    goal: float

    def at(self, steady: float) -> float:
        most = _MOST_GAINED * max(steady - self.since, 0.0)
        return self.ahead + min(max(self.goal - self.ahead, -most), most)


class AgreedClock:
    """The time of day that the processes of one machine agree on, in a file beside their data.

    The first of them takes it from the machine. From then on it goes by the steady clock, and when somebody sets the
    time of day, it goes there slowly: no lease ends while its holder relies on it, and no rest takes an hour more.
    """

    def __init__(self, file: Path, machine: Machine) -> None:
        self._file = _opened(file)
        self._presence = _opened(file.with_suffix(".lock"))
        self._machine = machine
        self._turn = threading.Lock()
        self._latest = datetime.min.replace(tzinfo=UTC)
        self._course = self._join()

    @classmethod
    async def open(cls, file: Path, machine: Machine = THIS_MACHINE) -> Self:
        """Go by the clock that is kept in the file; a lock beside it says for how long somebody does."""
        try:
            return await asyncio.to_thread(cls, file, machine)
        except OSError as error:
            raise StoreUnavailable(f"{file} cannot be used: {error}") from error

    async def correct(self) -> None:
        """See whether the time of day was set, or whether another process saw it first."""
        try:
            await asyncio.to_thread(self._look)
        except OSError as error:
            raise StoreUnavailable(f"the clock of this directory cannot be looked at: {error}") from error

    def now(self) -> datetime:
        """The time agreed on; what another process saw may let it stand still, but never takes it back."""
        steady, course = self._machine.steady(), self._course
        ahead = course.ahead if course.ahead == course.goal else course.at(steady)  # it is asked for all the time
        self._latest = max(self._latest, datetime.fromtimestamp(steady + ahead, UTC))
        return self._latest

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))

    def close(self) -> None:
        with self._turn:  # a look may be under way: the number of its file must not be another's by then
            self._presence.close()
            self._file.close()

    def _join(self) -> _Course:
        with self._alone():
            try:
                fcntl.flock(self._presence, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                course = self._read()
            else:
                ahead = self._machine.ahead
                course = self._write(_Course(self._machine.steady(), ahead, ahead))
            fcntl.flock(self._presence, fcntl.LOCK_SH)
        return course

    def _look(self) -> None:
        with self._alone():
            course, goal, steady = self._read(), self._machine.ahead, self._machine.steady()
            if abs(goal - course.goal) > _WORTH_SECONDS:
                course = self._write(_Course(steady, course.at(steady), goal))
        self._course = course

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._turn:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _read(self) -> _Course:
        return _Course(*_COURSE.unpack(os.pread(self._file.fileno(), _COURSE.size, 0)))

    def _write(self, course: _Course) -> _Course:
        os.pwrite(self._file.fileno(), _COURSE.pack(*course), 0)
        return course


def _opened(file: Path) -> IO[bytes]:
    return os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)


class SystemChance:
    """Keeps the promise of `ports.clock.Chance`."""

    def draw(self, count: int) -> bytes:
        return os.urandom(count)
