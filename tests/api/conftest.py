"""One server and one web for all tests of the API; whoever disturbs a host for long starts a server of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from one_server import server, web
from served import LOCAL, Emissary

__all__ = ["server", "web"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Emissary]]:
    """Starts further servers, all on the same directory, with settings of their own."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(Emissary(tmp_path, {**LOCAL, **settings}))
