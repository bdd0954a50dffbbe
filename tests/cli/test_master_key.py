"""The master key: what a machine says that shares the stores of others and has not their key."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from served import LOCAL, Emissary

Run = Callable[..., "CompletedProcess[str]"]


@pytest.mark.parametrize("verb", [("up", "--port", "0"), ("work",), ("keys", "list"), ("jobs",)])
def test_a_second_machine_without_the_first_ones_master_key_is_told_what_to_do(
    run: Run, tmp_path: Path, *, verb: tuple[str, ...], database_url: str, objects_url: str
) -> None:
    shared = {"EMISSARY_DATABASE_URL": database_url, "EMISSARY_OBJECTS_URL": objects_url}
    first = tmp_path / "first" / "master.key"
    assert run("identity", "show", EMISSARY_DATA_DIR=str(first.parent), **shared).returncode == 0
    done = run(*verb, **shared)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path / 'data' / 'master.key'} is not the master key" in done.stderr
    assert "first machine's data directory over it, with mode 0400" in done.stderr
    assert "Traceback" not in done.stderr
    (tmp_path / "data" / "master.key").unlink()
    shutil.copy(first, tmp_path / "data" / "master.key")
    assert run("keys", "list", **shared).returncode == 0


def test_a_port_that_is_taken_is_said_in_a_sentence_by_a_machine_among_several_too(
    run: Run, tmp_path: Path, *, database_url: str, objects_url: str
) -> None:
    shared = {"EMISSARY_DATABASE_URL": database_url, "EMISSARY_OBJECTS_URL": objects_url}
    with Emissary(tmp_path, {**LOCAL, **shared}) as server:
        done = run("up", "--port", server.url.rpartition(":")[2], **shared)
        server.process.send_signal(signal.SIGTERM)
    assert (done.returncode, done.stdout) == (5, "")
    assert "choose another with --port" in done.stderr
    assert "Traceback" not in done.stderr
