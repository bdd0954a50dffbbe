"""The clients in other languages keep up with this one; `./emissary test-clients` runs their own tests."""

import inspect
import json
import re
from pathlib import Path

import pytest

from emissary import __version__
from emissary.client import AsyncEmissary

_CLIENTS = Path(__file__).parents[2] / "clients"
_ONLY_HERE = {"close", "open"}  # others leave connections to their platform, and need a server


def _verbs() -> set[str]:
    verbs = {name for name, _ in inspect.getmembers(AsyncEmissary, inspect.isfunction) if not name.startswith("_")}
    return {name.replace("_", "") for name in verbs - _ONLY_HERE}


def _text(client: str, pattern: str) -> str:
    return "\n".join(file.read_text() for file in sorted((_CLIENTS / client).glob(pattern)))


@pytest.mark.parametrize(
    ("client", "files", "method"),
    [
        ("typescript", "src/client.ts", r"^  (?:async )?\*? ?(\w+)\("),
        ("go", "*.go", r"^func \(c \*Client\) ([A-Z]\w+)\("),
    ],
)
def test_no_verb_is_missing_and_each_is_in_the_readme(client: str, files: str, method: str) -> None:
    found = re.findall(method, _text(client, files), re.MULTILINE)
    assert {name.lower() for name in found} >= _verbs()
    told = {name.lower() for name in re.findall(r"`(\w+)\(", _text(client, "README.md"))}
    assert told >= _verbs()


def test_they_have_our_version() -> None:
    package = json.loads((_CLIENTS / "typescript" / "package.json").read_text())
    assert package["version"] == __version__
    assert f'VERSION = "{__version__}"' in _text("typescript", "src/version.ts")
    assert f'Version = "{__version__}"' in _text("go", "calling.go")


def test_what_they_are_built_with_is_pinned_and_names_no_registry() -> None:
    package = json.loads((_CLIENTS / "typescript" / "package.json").read_text())
    assert "dependencies" not in package
    assert all(version[0].isdigit() for version in package["devDependencies"].values())
    lock = json.loads((_CLIENTS / "typescript" / "package-lock.json").read_text())
    assert all("resolved" not in entry for entry in lock["packages"].values())
    assert all("integrity" in entry for name, entry in lock["packages"].items() if name)
    assert "require" not in _text("go", "go.mod")
