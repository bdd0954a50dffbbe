"""The command line as a shell sees it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# The process helpers live beside the tests of the API.
sys.path.append(str(Path(__file__).parents[1] / "api"))

from one_server import server, web
from served import LOCAL, environment

__all__ = ["server", "web"]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs `emissary` with these arguments, in a directory of its own."""

    def run(*arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        given = {**LOCAL, "EMISSARY_DATA_DIR": str(tmp_path / "data"), **settings}
        return subprocess.run(
            [sys.executable, "-m", "emissary", *arguments],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=environment(tmp_path, given),
            cwd=tmp_path,
            check=False,
            timeout=60,
        )

    return run
