"""Tests the clients in other languages against a real server on the local web; `./emissary test-clients` runs it."""

import json
import os  # the tools of other languages want the whole environment
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

# The process helpers live beside the tests of the API.
sys.path.append(str(Path(__file__).parents[1] / "api"))

from served import Emissary

from emissary.testing.web import TestWebProcess

_CLIENTS = Path(__file__).parents[2] / "clients"
_HOSTS = 8
_SITES = ("shop", "closed", "news", "trouble", "hooks")
_COMMANDS = {
    "typescript": (("npm", "ci", "--ignore-scripts", "--loglevel=error"), ("npm", "run", "build"), ("npm", "test")),
    "go": (("go", "vet", "./..."), ("go", "test", "-count=1", "./...")),
}


def main(names: list[str]) -> int:
    """Every client that was named, or all of them; the exit code is that of the first command that failed."""
    for name in names:
        if name not in _COMMANDS:
            sys.exit(f"there is no client {name!r}: give {' or '.join(_COMMANDS)}, or nothing for all")
    with tempfile.TemporaryDirectory() as folder, TestWebProcess(hosts=_HOSTS) as web, Emissary(Path(folder)) as server:
        environment = {"EMISSARY_URL": server.url, "EMISSARY_API_KEY": server.key, "EMISSARY_TEST_WEB": _told(web)}
        return max(_test(name, environment) for name in names or _COMMANDS)


def _told(web: TestWebProcess) -> str:
    """The address of every site that the tests know by name."""
    sites = {name: web.url(name, "") for name in _SITES}
    hosts = {f"host{number}": web.host_url(number, "") for number in range(1, _HOSTS)}
    return json.dumps({**sites, **hosts})


def _test(name: str, environment: Mapping[str, str]) -> int:
    for command in _COMMANDS[name]:
        ended = subprocess.run(
            command,
            cwd=_CLIENTS / name,
            env={**os.environ, **environment},  # noqa: TID251 - see above
            check=False,
        )
        if ended.returncode:
            return ended.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
