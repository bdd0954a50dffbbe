"""Verifiers that others wrote, run by Node. They are installed once; without Node and npm these tests fail."""

import fcntl
import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

_HERE = Path(__file__).parent
_MODULES = _HERE / "node_modules"
_STAMP = _MODULES / ".installed"
_INSTALL = ("npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


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
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            pytest.fail(f"{tool} is needed: our signatures are verified by code that is not ours")
    _install()
    with subprocess.Popen(
        ["node", "verify.mjs"], cwd=_HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Verifiers(process)
        _open_end(process.stdin).close()


def _install() -> None:
    """Install what package.json names, unless that is there; of two test processes, one waits for the other."""
    wanted = hashlib.sha256((_HERE / "package.json").read_bytes()).hexdigest()
    _MODULES.mkdir(exist_ok=True)
    with (_HERE / "node_modules" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _STAMP.exists() and _STAMP.read_text(encoding="ascii") == wanted:
            return
        ran = subprocess.run(_INSTALL, cwd=_HERE, capture_output=True, text=True, check=False)
        if ran.returncode:
            pytest.fail(f"npm could not install the verifiers:\n{ran.stderr}")
        _STAMP.write_text(wanted, encoding="ascii")
