"""Firecrawl's published clients, unmodified, and a real server on the local web."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The process helpers live beside the tests of the API.
sys.path.append(str(Path(__file__).parents[1] / "api"))

from driven import Driven
from one_server import server, web
from served import Emissary

from others_code import install_npm_packages, install_python_packages

__all__ = ["server", "web"]

_HERE = Path(__file__).parent
_LOCK = _HERE.parents[1] / "locks" / "firecrawl.txt"


@pytest.fixture(scope="session")
def python(server: Emissary) -> Iterator[Driven]:
    """`firecrawl-py`."""
    interpreter = install_python_packages(_HERE / "python", _LOCK)
    with Driven([str(interpreter), "drive.py", server.url, server.key]) as client:
        yield client


@pytest.fixture(scope="session")
def javascript(server: Emissary) -> Iterator[Driven]:
    """`@mendable/firecrawl-js`."""
    install_npm_packages(_HERE)
    with Driven(["node", "drive.mjs", server.url, server.key]) as client:
        yield client


@pytest.fixture(params=["python", "javascript"])
def client(request: pytest.FixtureRequest) -> Driven:
    """Either of them: they do the same."""
    found: Driven = request.getfixturevalue(request.param)
    return found
