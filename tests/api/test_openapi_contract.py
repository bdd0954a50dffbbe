"""The API keeps its own description, whatever is sent: schemathesis tries, where nothing it makes up can leave."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from served import environment

_EXAMPLES = 100


@pytest.mark.timeout(400)
def test_the_api_keeps_to_its_description(tmp_path: Path) -> None:
    inside = [sys.executable, str(Path(__file__).with_name("sealed_run.py")), str(tmp_path), str(_EXAMPLES)]
    done = subprocess.run(
        [*_namespace(), *inside], capture_output=True, text=True, env=environment(tmp_path, {}), check=False
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told[-8000:] + (tmp_path / "log").read_text()[-4000:]
    assert "No issues found" in told, told[-3000:]
    # Nothing was left out silently: every operation, and as many cases as were asked for.
    selected = re.search(r"Operations:\s+(\d+) selected / (\d+) total", told)
    cases = re.search(r"(\d+) generated, (\d+) passed", told)
    assert selected is not None
    assert cases is not None
    assert selected[1] == selected[2]
    assert int(cases[2]) >= _EXAMPLES * 4
    assert "Traceback" not in (tmp_path / "log").read_text()


def _namespace() -> list[str]:
    unshare = shutil.which("unshare", path="/usr/bin:/bin:/usr/sbin:/sbin")
    if unshare is None:
        pytest.fail("unshare(1) is needed: made-up URLs must not leave this machine")
    for command in ([unshare, "--net"], [unshare, "--map-root-user", "--net"]):
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    pytest.fail("no network namespace can be made here, and made-up URLs must not leave this machine")
