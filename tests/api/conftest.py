"""One server and one web for all tests of the API; whoever disturbs a host for long starts a server of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from served import LOCAL, Emissary

from emissary.testing.web import TestWebProcess


@pytest.fixture(scope="session")
def web() -> Iterator[TestWebProcess]:
    with TestWebProcess(hosts=8) as web:
        yield web


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emissary]:
    with Emissary(tmp_path_factory.mktemp("emissary")) as server:
        yield server


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Emissary]]:
    """Starts further servers, all on the same directory, with settings of their own."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(Emissary(tmp_path, {**LOCAL, **settings}))
