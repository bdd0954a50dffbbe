"""What the servers have in common: a free port that they keep, and ways to end that are more or less kind."""

import secrets
import shutil
import signal
import socket
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from emissary.testing.servers.process import ServerProcess, own_folder, reachable

__all__ = ["LocalServer"]

_START_SECONDS = 60
_TRIES = 5  # a free port may be taken by another in the moment before it is used
# Lower than the ports that connections leave from: whoever dials one of those may end up talking to itself.
_FIRST_PORT, _PORTS = 15_000, 15_000


class LocalServer(ABC):
    """A server on loopback with everything it has in one folder. `with` starts it, and removes it at the end."""

    name: ClassVar[str]
    ports_needed: ClassVar[int] = 1
    says_ready: ClassVar[str]  # what it says when it takes connections
    kind_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, programs: Path) -> None:
        if not programs.exists():
            raise FileNotFoundError(f"{programs} is missing: the tests need it, and `./emissary setup` installs it")
        self.folder = own_folder(self.name)
        self.programs = reachable(programs, self.folder)
        self.ports: list[int] = []
        self._process = ServerProcess(self.folder)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        """What the server has said last."""
        return self._process.log

    def start(self) -> None:
        """Come back when it serves; after a stop or a crash it is on the same port again."""
        if self.ports:
            self._serve()
            return
        self.prepare()
        for tries_left in reversed(range(_TRIES)):
            self.ports = _free_ports(self.ports_needed)
            try:
                self._serve()
            except OSError:
                if not tries_left or "address already in use" not in self.log.lower():
                    raise
            else:
                return

    def stop(self) -> None:
        """End it in order."""
        self._process.stop(self.kind_signal)

    def kill(self) -> None:
        """End it as a crash does: SIGKILL to all of its processes. The next `start` recovers."""
        self._process.kill()

    def restart(self) -> None:
        self.stop()
        self.start()

    def pause(self) -> None:
        """Let everything hang until `resume`: what is connected stays so, and gets no answer."""
        self._process.pause()

    def resume(self) -> None:
        self._process.resume()

    def close(self) -> None:
        """End it for good and remove its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @abstractmethod
    def prepare(self) -> None:
        """What is done before the first start."""

    @abstractmethod
    def command(self) -> list[str]:
        """What runs it on its ports."""

    def _serve(self) -> None:
        self._process.start(self.command(), ready=self.says_ready, patience=_START_SECONDS)


def _free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on in this moment."""
    found: list[int] = []
    while len(found) < count:
        port = _FIRST_PORT + secrets.randbelow(_PORTS)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found
