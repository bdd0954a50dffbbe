"""The client against a real server on the local web, in a process of its own or in this one."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The process helpers live beside the tests of the API.
sys.path.append(str(Path(__file__).parents[1] / "api"))

from one_server import server, web
from scripted_server import ScriptedServer
from served import Emissary as Server

from emissary.client import Emissary

__all__ = ["server", "web"]


@pytest.fixture(scope="session")
def far(server: Server) -> Iterator[Emissary]:
    """A client of a server."""
    with Emissary(server.url, server.key) as client:
        yield client


@pytest.fixture(scope="session")
def near(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emissary]:
    """A client without a server."""
    folder = tmp_path_factory.mktemp("near") / "data"
    with Emissary.open(folder, allow_networks="127.0.0.0/8", host_gap=0) as client:
        yield client


@pytest.fixture(params=["far", "near"])
def client(request: pytest.FixtureRequest) -> Emissary:
    """Either of them: they do the same."""
    found: Emissary = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
