"""`emissary work`: what it takes on, and what it says when it cannot."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen

import pytest
from served import LOCAL, environment

from emissary.products.kinds import KINDS

Run = Callable[..., "CompletedProcess[str]"]


@pytest.mark.parametrize("kinds", ["pages", "scrape.http,pages"])
def test_an_unknown_kind_of_work_is_named_with_those_that_there_are(run: Run, kinds: str) -> None:
    done = run("work", "--kinds", kinds)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'pages' is no kind of work" in done.stderr
    assert all(kind in done.stderr for kind in KINDS)


def test_a_worker_can_be_told_to_do_some_kinds_of_work_only(tmp_path: Path) -> None:
    given = {**LOCAL, "EMISSARY_DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, "-m", "emissary", "work", "--json", "--kinds", "deliver, scrape.http"]
    with Popen(command, stdout=PIPE, text=True, env=environment(tmp_path, given)) as worker:
        assert worker.stdout is not None
        assert "worker" in json.loads(worker.stdout.readline())
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=30) == 0
