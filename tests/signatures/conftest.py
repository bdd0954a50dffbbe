"""Verifiers that others wrote, run by Node. They are installed once; without Node and npm these tests fail."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from others_code import install_npm_packages

_HERE = Path(__file__).parent


class Verifiers:
    """The other side of verify.mjs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._to: IO[str] = _open_end(process.stdin)
        self._from: IO[str] = _open_end(process.stdout)

    def verify(self, **case: Any) -> dict[str, Any]:
        self._to.write(json.dumps(case) + "\n")
        self._to.flush()
        answer: dict[str, Any] = json.loads(self._from.readline())
        return answer


def _open_end(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


@pytest.fixture(scope="session")
def verifiers() -> Iterator[Verifiers]:
    install_npm_packages(_HERE)
    with subprocess.Popen(
        ["node", "verify.mjs"], cwd=_HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Verifiers(process)
        _open_end(process.stdin).close()
