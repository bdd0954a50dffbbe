"""The API keeps its own description, whatever is sent: schemathesis tries, where nothing it makes up can leave."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from served import environment

from emissary.api.app import create_app
from emissary.telemetry.metrics import Metrics

_EXAMPLES = 100
_TAKES = frozenset({"parameters", "requestBody"})


@pytest.mark.timeout(900)
def test_the_api_keeps_to_its_description(tmp_path: Path) -> None:
    inside = [sys.executable, str(Path(__file__).with_name("sealed_run.py")), str(tmp_path), str(_EXAMPLES)]
    done = subprocess.run(
        [*_namespace(), *inside], capture_output=True, text=True, env=environment(tmp_path, {}), check=False
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told[-8000:] + (tmp_path / "log").read_text()[-4000:]
    assert "No issues found" in told, told[-3000:]
    # Nothing was left out silently: every operation, and as many cases of each as were asked for.
    selected = re.search(r"Operations:\s+(\d+) selected / (\d+) total", told)
    assert selected is not None
    assert selected[1] == selected[2]
    sent = _cases_in(tmp_path / "report.ndjson")
    operations = _operations()
    assert len(operations) == int(selected[1])
    assert {name: sent[name] for name, wanted in operations.items() if sent[name] < wanted} == {}
    assert "Traceback" not in (tmp_path / "log").read_text()


def _operations() -> dict[str, int]:
    """How many cases of each operation there are to be at least.

    Of one that takes nothing there are only few. Of a DELETE, schemathesis tries the ids that it was given before, and
    ends early when these are used up.
    """
    bare = SimpleNamespace(version="0", metrics=Metrics(), clock=None)
    document = create_app(bare).openapi()  # type: ignore[arg-type]
    return {
        f"{method.upper()} {path}": 1 if method == "delete" or not _TAKES & operation.keys() else _EXAMPLES
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def _cases_in(report: Path) -> Counter[str]:
    """How many cases of each operation were answered."""
    answered: Counter[str] = Counter()
    with report.open(encoding="utf-8") as lines:
        for line in lines:
            (event,) = json.loads(line).values()
            told = event.get("recorder", {})
            cases = [told["cases"][name]["value"] for name in told.get("interactions", ())]
            answered.update(f"{case['method']} {case['path']}" for case in cases)
    return answered


def _namespace() -> list[str]:
    unshare = shutil.which("unshare", path="/usr/bin:/bin:/usr/sbin:/sbin")
    if unshare is None:
        pytest.fail("unshare(1) is needed: made-up URLs must not leave this machine")
    for command in ([unshare, "--net"], [unshare, "--map-root-user", "--net"]):
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    pytest.fail("no network namespace can be made here, and made-up URLs must not leave this machine")
