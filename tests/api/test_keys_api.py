"""Keys and the door: a key is shown once and kept as a digest; nothing listens to the world without one."""

import socket
import stat
from collections.abc import Callable
from pathlib import Path

from served import LOCAL, Emissary

_GIVEN = "em_live_given_by_the_operator"


def test_the_first_start_makes_a_key_and_later_ones_do_not_show_it(start: Callable[..., Emissary]) -> None:
    first = start()
    assert set(first.ready) == {"url", "dataDir", "apiKey"}
    assert first.key.startswith("em_live_")
    assert first.stop() == 0
    second = start()
    assert set(second.ready) == {"url", "dataDir"}
    second.key = first.key
    assert second.get("/v1/jobs/x").status == 404


def test_a_key_is_kept_as_a_digest_only(start: Callable[..., Emissary], tmp_path: Path) -> None:
    server = start()
    assert server.get("/v1/jobs/x").status == 404
    assert server.stop() == 0
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert server.database in kept
    secret = server.key.rpartition("_")[2].encode()
    for file in kept:
        assert secret not in file.read_bytes(), file


def test_nobody_else_on_the_machine_may_look_into_the_directory(server: Emissary) -> None:
    assert stat.S_IMODE((server.folder / "data").stat().st_mode) == 0o700


def test_a_given_key_opens_and_is_not_shown(start: Callable[..., Emissary]) -> None:
    server = start(EMISSARY_API_KEY=_GIVEN)
    assert "apiKey" not in server.ready
    assert server.get("/v1/jobs/x").status == 404
    log = (server.folder / "log").read_text()
    assert _GIVEN not in log


def test_a_key_that_was_made_before_still_opens_beside_a_given_one(start: Callable[..., Emissary]) -> None:
    first = start()
    made = first.key
    first.stop()
    second = start(EMISSARY_API_KEY=_GIVEN)
    for key in (made, _GIVEN):
        assert second.ask("GET", "/v1/jobs/x", headers={"Authorization": f"Bearer {key}"}).status == 404


def test_nothing_listens_to_the_world_without_a_key(tmp_path: Path) -> None:
    server = Emissary(tmp_path, LOCAL, "--host", "0.0.0.0")
    server.spawn()
    assert not server.await_ready()
    server.process.communicate()
    assert server.process.returncode == 2
    complaint = (tmp_path / "log").read_text()
    assert "EMISSARY_API_KEY" in complaint
    assert "Traceback" not in complaint


def test_a_port_that_is_taken_is_said_in_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = Emissary(tmp_path, LOCAL, "--port", str(port))
        server.spawn()
        assert not server.await_ready()
        server.process.communicate()
    assert server.process.returncode == 5
    complaint = (tmp_path / "log").read_text()
    assert f"127.0.0.1:{port}" in complaint
    assert "--port" in complaint
    assert "Traceback" not in complaint
