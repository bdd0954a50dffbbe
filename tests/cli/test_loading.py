"""Whoever speaks to a server elsewhere does not load one."""

import subprocess
import sys

import pytest

_SEEN = "import sys; {}; print(*sorted({{'fastapi', 'uvicorn', 'emissary.api.app'}} & sys.modules.keys()))"


@pytest.mark.parametrize(
    "program",
    [
        "from emissary.client import Emissary, AsyncEmissary",
        "from emissary.cli import main; import emissary.cli.keys, emissary.cli.jobs, emissary.cli.work",
    ],
)
def test_no_server_is_loaded_to_use_one(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", _SEEN.format(program)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_verb_is_in_the_help() -> None:
    helped = subprocess.run([sys.executable, "-m", "emissary", "--help"], capture_output=True, text=True, check=True)
    verbs = [line.split()[0] for line in helped.stdout.partition("Commands:")[2].splitlines() if line.strip()]
    assert {"up", "work", "scrape", "jobs", "keys", "usage", "version"} <= set(verbs)
