"""One server and one web for all tests of a folder: its conftest imports these."""

from collections.abc import Iterator

import pytest
from served import Emissary

from emissary.testing.web import TestWebProcess

__all__ = ["server", "web"]


@pytest.fixture(scope="session")
def web() -> Iterator[TestWebProcess]:
    with TestWebProcess(hosts=8) as web:
        yield web


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emissary]:
    with Emissary(tmp_path_factory.mktemp("emissary")) as server:
        yield server
