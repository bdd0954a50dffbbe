"""The real dial with real sockets, where nothing can get out: a network namespace that has only `lo`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).parent


def _run(*allowed: str) -> dict[str, Any]:
    inside = f'ip link set lo up && exec "{sys.executable}" in_namespace.py ' + " ".join(allowed)
    command = ["unshare", "-rn", "sh", "-c", inside]
    ran = subprocess.run(command, cwd=_HERE, capture_output=True, text=True, timeout=60, check=False)
    if ran.returncode != 0:
        pytest.fail(f"No network namespace could be made and used (unshare -rn, ip link): {ran.stderr.strip()}")
    told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    assert told["interfaces"] == ["lo"]
    assert told["listening"] >= 6
    return told


def test_real_sockets_do_not_reach_this_machine_either() -> None:
    told = _run()
    assert told["came"] == []
    assert "reply" not in told["codes"]
    assert told["codes"].count("guard") >= 80


def test_what_the_operator_opens_is_reached_and_nothing_beside_it() -> None:
    """What the test above is worth: those who listen are there, and an opened network leads to them."""
    told = _run("127.0.0.0/8")
    assert told["codes"].count("reply") >= 20
    assert {place.split()[0] for place in told["came"]} == {"0.0.0.0"}  # not ::1, which was not opened
    assert not {place.split()[1] for place in told["came"]} & {"22", "6379"}  # nor a port of another service
