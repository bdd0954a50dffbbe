"""Faults are made on real processes; their helpers live beside the tests of the API and of the engine."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parents[1] / beside) for beside in ("api", "engine")]

from account import Account, summed_up
from stage import Place, Stage, embedded_place, open_stage, shared_place

from emissary.testing.servers import PostgresServer
from emissary.testing.web import TestWebProcess


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", type=int, default=1, help="how many times as many faults are made as CI makes")


@pytest.fixture
def times(request: pytest.FixtureRequest) -> int:
    """The option is known only when the tests of this folder are asked for by name."""
    return int(request.config.getoption("--times", 1))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The long form takes as long as it takes."""
    if config.getoption("--times", 1) > 1:
        for item in items:
            item.add_marker(pytest.mark.timeout(0), append=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ended = [each for outcome in ("passed", "failed") for each in terminalreporter.stats.get(outcome, [])]
    for line in summed_up(ended):
        terminalreporter.write_line(line)


@pytest.fixture
def account(
    request: pytest.FixtureRequest,
    times: int,
    record_property: Callable[[str, object], None],
    capfd: pytest.CaptureFixture[str],
) -> Account:
    """To keep account of the faults of this test; in the long form it is heard while it goes on."""

    def say(words: str) -> None:
        if times > 1:
            with capfd.disabled():
                sys.stderr.write(f"{words}\n")

    return Account(request.node.name.removeprefix("test_").replace("_", " "), say, record_property)


@pytest.fixture(params=["embedded", "cluster"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "embedded":
        return embedded_place(tmp_path)
    return shared_place(tmp_path, request.getfixturevalue("database_url"), request.getfixturevalue("objects_url"))


@pytest.fixture
async def stage(place: Place, slow_web: TestWebProcess, anyio_backend: str) -> AsyncIterator[Stage]:
    async with open_stage(place, slow_web) as stage:
        yield stage


@pytest.fixture(scope="session")
def slow_web() -> Iterator[TestWebProcess]:
    """A web that takes its time, so that there is always something under way when a fault comes."""
    with TestWebProcess(hosts=8, latency=timedelta(seconds=0.04)) as web:
        yield web


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """One that may be killed and paused."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def frail_place(own_postgres: PostgresServer, objects_url: str, tmp_path: Path) -> Place:
    return shared_place(tmp_path, own_postgres.url, objects_url)


@pytest.fixture
async def frail_stage(frail_place: Place, slow_web: TestWebProcess, anyio_backend: str) -> AsyncIterator[Stage]:
    async with open_stage(frail_place, slow_web) as stage:
        yield stage
