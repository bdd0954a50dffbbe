"""The README's first example, run as a newcomer would."""

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parent.parent.parent


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=90, check=False)


def test_the_demo_shows_a_product_a_refusal_and_a_move() -> None:
    told = _run(sys.executable, "-m", "emissary", "demo")
    assert told.returncode == 0, told.stderr
    assert "No. 4 Zinc Seed Drawer" in told.stdout
    assert "404.0" in told.stdout
    assert "refused" in told.stdout
    assert "Disallow: /" in told.stdout
    assert "302" in told.stdout
    assert "./emissary up" in told.stdout
    assert told.stderr == ""


def test_the_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # noqa: TID251 - its own, but for this
    told = subprocess.run(
        [sys.executable, "-m", "emissary", "demo"],
        cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert list(tmp_path.iterdir()) == []


def test_running_the_wrapper_twice_changes_nothing() -> None:
    _run("./emissary", "version")
    stamps = {path: path.stat().st_mtime_ns for path in (_ROOT / ".venv").glob(".emissary-*")}
    again = _run("./emissary", "version")
    assert again.returncode == 0
    assert again.stderr == ""
    assert {path: path.stat().st_mtime_ns for path in (_ROOT / ".venv").glob(".emissary-*")} == stamps
