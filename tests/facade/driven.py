"""A published client in a process of its own, told what to do line by line."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["ClientFailed", "Driven"]


class ClientFailed(Exception):
    """The client raised an error; `status` and `code` are what it knows of it."""

    def __init__(self, kind: str, message: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.status = status
        self.code = code


class Driven:
    """`client.call("scrape", url, formats=["html"])` with names as JavaScript spells them; so are the answer's.

    Python's client spells the same names in another way, so they are compared in lower case and without lines.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[str]

    def __enter__(self) -> Self:
        here = Path(__file__).parent
        self._process = subprocess.Popen(
            self._command, cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=20)

    def call(self, method: str, *args: object, **options: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"method": method, "args": args, "options": options}) + "\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        if "error" in told:
            raise ClientFailed(told["error"].pop("kind"), told["error"].pop("message"), **told["error"])
        return _plain(told["answer"])


def _plain(value: object) -> Any:
    if isinstance(value, dict):
        return {name.replace("_", "").lower(): _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
