"""A server's process: unprivileged, in a folder of its own, and gone with the test run however that ends."""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ["ServerProcess", "own_folder", "reachable", "run"]

_PR_SET_PDEATHSIG = 1  # as in linux/prctl.h
_STOP_SECONDS = 30
# Stops a server and its children until its own standard input ends, which it also does when the test run is killed.
_HOLD = """
kill -STOP "$1"; set -- "$1" $(cat "/proc/$1/task/$1/children"); kill -STOP "$@"; echo held
read -r _; kill -CONT "$@" 2>/dev/null
"""

_libc = ctypes.CDLL(None, use_errno=True)


def _somebody() -> dict[str, Any]:
    """Whom a server runs as: for root it is `nobody`, since no server needs more, and PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def own_folder(name: str) -> Path:
    """A new folder that belongs to whom the server runs as."""
    folder = Path(tempfile.mkdtemp(prefix=f"emissary-{name}-"))
    if somebody := _somebody():
        os.chown(folder, somebody["user"], somebody["group"])
    return folder


def reachable(programs: Path, folder: Path) -> Path:
    """Where whom the server runs as finds its programs: in a copy, if the way to them is closed to others."""
    if not _somebody() or all(step.stat().st_mode & 0o001 for step in (programs, *programs.parents)):
        return programs
    copy = folder / programs.name
    if programs.is_dir():
        shutil.copytree(programs, copy)
    else:
        shutil.copy2(programs, copy)
    return copy


def run(command: list[str]) -> None:
    """Run a command to its end, as whom the servers run."""
    done = subprocess.run(command, **_somebody(), capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode:
        raise OSError(f"{Path(command[0]).name} ended with {done.returncode}: {done.stderr}")


class ServerProcess:
    """Starts, stops, kills and pauses one server; what it said last is in `log`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self._holder: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._lines: deque[str] = deque(maxlen=200)
        self._ready = False
        self._bell = threading.Event()

    @property
    def log(self) -> str:
        return "\n".join(self._lines)

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the server has not been started")
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, command: list[str], *, ready: str, patience: float) -> None:
        """Come back when the server has said that it is ready."""
        self._ready = False
        self._bell.clear()
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            **_somebody(),
            cwd=self._folder,
            env={"HOME": str(self._folder), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # Ctrl-C is for the test run, which then ends its servers in its own order
            preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509 - two system calls
        )
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout, ready), daemon=True)
        self._reader.start()
        self._bell.wait(patience)
        if not self._ready:
            self.kill()
            raise OSError(f"the server did not start; it said:\n{self.log}")

    def stop(self, number: signal.Signals) -> None:
        """End it with this signal; with SIGKILL if that is not enough."""
        self.resume()
        if self.runs:
            os.kill(self.pid, number)
        try:
            self._wait()
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it as a crash does: all of its processes in this moment, with nothing said or written."""
        if self.runs:
            os.kill(self.pid, signal.SIGSTOP)  # else it would start children anew
            for each in [*_children(self.pid), self.pid]:
                os.kill(each, signal.SIGKILL)
        self._wait()
        self.resume()

    def pause(self) -> None:
        """Nothing of it moves until `resume`: connections stay open, and nobody answers."""
        self._holder = subprocess.Popen(  # noqa: S603 - our own command
            ["sh", "-c", _HOLD, "sh", str(self.pid)],  # noqa: S607 - any shell will do
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._holder.stdout is not None
        if not self._holder.stdout.readline():
            raise OSError("the server could not be paused")

    def resume(self) -> None:
        if self._holder is not None:
            self._holder.communicate()
        self._holder = None

    def _wait(self) -> None:
        if self._process is None or self._reader is None:
            return
        self._process.wait(_STOP_SECONDS)
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self, said: IO[str], ready: str) -> None:
        for line in said:
            self._lines.append(line.rstrip())
            if ready in line:
                self._ready = True
                self._bell.set()
        self._bell.set()  # it has ended: there is nothing more to wait for


def _die_with(parent: int) -> Callable[[], None]:
    """The child is killed when its parent dies. Said after the change of user, which would make it void."""

    def promise() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return promise


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
