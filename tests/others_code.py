"""What others wrote and tests need, installed once beside them. Of two test processes, one waits for the other."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

__all__ = ["install_npm_packages", "install_python_packages"]

_NPM = ("npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def install_npm_packages(folder: Path) -> None:
    """Install what the folder's package.json names; without Node and npm the test fails."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            pytest.fail(f"{tool} is needed: this is tested with code that is not ours")
    _install(folder / "node_modules", folder / "package.json", [_NPM], cwd=folder)


def install_python_packages(folder: Path, lock: Path) -> Path:
    """Install what the lock pins, by hash, into an environment of its own; gives back its interpreter."""
    python = folder / "bin" / "python"
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes")
    make = (sys.executable, "-m", "venv", str(folder))
    _install(folder, lock, [make, (*pip, "-r", str(lock))], cwd=lock.parent)
    return python


def _install(into: Path, what: Path, commands: Sequence[Sequence[str]], *, cwd: Path) -> None:
    wanted, stamp = hashlib.sha256(what.read_bytes()).hexdigest(), into / ".installed"
    into.mkdir(exist_ok=True)
    with (into / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
            return
        for command in commands:
            ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
            if ran.returncode:
                pytest.fail(f"what {what.name} names could not be installed:\n{ran.stdout}{ran.stderr}")
        stamp.write_text(wanted, encoding="ascii")
