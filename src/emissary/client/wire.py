"""What the client stands on: a way to a server, whether that is behind a socket or in this process."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["Exchange", "Head", "Request", "Wire"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request. The path has its query; a body is written piece by piece, where there is one."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    has_body: bool = False
    timeout: float = 60.0  # seconds in which nothing comes, before it is given up


@dataclass(frozen=True, slots=True)
class Head:
    """How the answer begins; header names are in lower case."""

    status: int
    headers: Mapping[str, str]


class Exchange(Protocol):
    """A request under way, and its answer. Raises ServerUnreachable where it breaks off."""

    async def write(self, piece: bytes) -> bool:
        """Send a piece of the body; false once the server has answered, and wants no more of it."""
        ...

    async def answer(self) -> Head:
        """End the body, and wait for the answer."""
        ...

    async def read(self) -> bytes:
        """The next piece of the answer's body; empty at its end."""
        ...

    async def close(self) -> None:
        """Have done with it, at any time."""
        ...


class Wire(Protocol):
    """The way to one server."""

    async def begin(self, request: Request) -> Exchange: ...

    async def sleep(self, seconds: float) -> None: ...

    async def close(self) -> None: ...
