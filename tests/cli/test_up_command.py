"""`emissary up`, `doctor` and `version`: what they say to people and to scripts, and how they end."""

import json
import signal
import socket
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen

import pytest
from served import LOCAL, Emissary, environment, until

from emissary import __version__
from emissary.testing.web import TestWebProcess

Run = Callable[..., "CompletedProcess[str]"]


def test_the_version_is_said_and_nothing_else(run: Run) -> None:
    done = run("version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n", "")


def test_without_a_verb_the_verbs_are_listed(run: Run) -> None:
    done = run()
    told = done.stdout + done.stderr
    assert all(verb in told for verb in ("up", "scrape", "demo", "doctor", "version"))


def test_one_line_of_json_says_where_it_is(tmp_path: Path) -> None:
    with Emissary(tmp_path) as server:
        assert set(server.ready) == {"url", "dataDir", "apiKey"}
        assert server.ready["url"].startswith("http://127.0.0.1:")
        assert server.ready["dataDir"] == str(tmp_path / "data")
        assert server.ask("GET", "/healthz").status == 200
        assert server.process.stdout is not None
        server.process.send_signal(signal.SIGTERM)
        assert server.process.stdout.read() == ""
        assert server.process.wait(30) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(tmp_path: Path, number: signal.Signals) -> None:
    with Emissary(tmp_path) as server:
        server.process.send_signal(number)
        server.process.communicate(timeout=30)
    assert server.process.returncode == 0
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_people_are_told_where_it_is_and_what_their_key_is(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "emissary", "up", "--port", "0", "--data-dir", str(tmp_path / "data")]
    with Popen(command, stdout=PIPE, stderr=PIPE, text=True, env=environment(tmp_path, LOCAL)) as process:
        assert process.stderr is not None
        told = ""
        while "Ctrl-C" not in told:
            line = process.stderr.readline()
            assert line, told
            told += line
        process.terminate()
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == ""
    assert "http://127.0.0.1:" in told
    assert "em_live_" in told
    assert "EMISSARY_AGENT_URL" in told


def test_at_the_end_what_has_begun_is_finished_and_the_rest_is_given_back(tmp_path: Path, web: TestWebProcess) -> None:
    with Emissary(tmp_path) as server:
        first = server.submit(web.url("trouble", "/slow?seconds=1"))
        until(lambda: server.job(first)["status"] == "active")
        rest = [server.submit(web.url("trouble", "/slow?seconds=0.1")) for _ in range(3)]
        key = server.key
        assert server.stop() == 0
    with closing(sqlite3.connect(server.database)) as database:
        states = dict(database.execute("SELECT id, state FROM jobs").fetchall())
        holders = database.execute("SELECT holder FROM lanes WHERE holder IS NOT NULL").fetchall()
    assert states[first] == "completed"
    assert {states[job] for job in rest} == {"waiting"}
    assert holders == []
    with Emissary(tmp_path) as again:
        again.key = key
        assert {again.finished(job)["status"] for job in rest} == {"completed"}


def test_a_caller_who_waits_gets_an_answer_although_the_end_was_asked_for(tmp_path: Path, web: TestWebProcess) -> None:
    with Emissary(tmp_path) as server:
        connection = server.connect()
        body = json.dumps({"url": web.url("trouble", "/slow?seconds=1")}).encode()
        connection.request("POST", "/v1/scrape", body, {**server.authority, "Content-Type": "application/json"})
        until(lambda: b"emissary_lanes_held 1.0" in server.ask("GET", "/metrics").body)
        server.process.send_signal(signal.SIGTERM)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["status"]) == (200, "completed")
        connection.close()
        assert server.process.wait(30) == 0


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"EMISSARY_PORT": "99999"}, "EMISSARY_PORT"),
        ({"EMISSARY_PORT": "http"}, "EMISSARY_PORT"),
        ({"EMISSARY_HOST_GAP": "-1"}, "EMISSARY_HOST_GAP"),
        ({"EMISSARY_HOST_GAP": "soon"}, "EMISSARY_HOST_GAP"),
        ({"EMISSARY_HOST_CONCURRENCY": "0"}, "EMISSARY_HOST_CONCURRENCY"),
        ({"EMISSARY_ALLOW_NETWORKS": "127.0.0.1/8"}, "EMISSARY_ALLOW_NETWORKS"),
        ({"EMISSARY_ALLOW_NETWORKS": "home"}, "EMISSARY_ALLOW_NETWORKS"),
        ({"EMISSARY_API_KEY": "short"}, "EMISSARY_API_KEY"),
        ({"EMISSARY_AGENT_URL": "me"}, "EMISSARY_AGENT_URL"),
        ({"EMISSARY_LOG": "xml"}, "EMISSARY_LOG"),
        ({"EMISSARY_DATABASE_URL": "mysql://ann:short@x/"}, "EMISSARY_DATABASE_URL"),
        ({"EMISSARY_OBJECTS_URL": "https://ann:short@x/"}, "EMISSARY_OBJECTS_URL"),
        ({"EMISSARY_DATABASE_URL": "postgresql://x/"}, "EMISSARY_DATABASE_URL: it needs EMISSARY_OBJECTS_URL"),
        ({"EMISSARY_OBJECTS_URL": "s3://x/"}, "EMISSARY_OBJECTS_URL: it needs EMISSARY_DATABASE_URL"),
    ],
)
def test_a_setting_that_cannot_work_ends_with_2_and_is_named(run: Run, settings: dict[str, str], named: str) -> None:
    done = run("up", "--json", **{"EMISSARY_PORT": "0"} | settings)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "short" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_directory_that_cannot_be_used_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    for verb in (("up", "--json", "--port", "0"), ("scrape", "http://127.0.0.1:9/")):
        done = run(*verb, EMISSARY_DATA_DIR=str(tmp_path / "file"))
        assert done.returncode in {2, 5}
        assert done.stdout == ""
        assert str(tmp_path / "file") in done.stderr
        assert "Traceback" not in done.stderr


def test_a_database_that_is_none_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "emissary.db").write_text("this is no database, however long it is " * 100)
    done = run("up", "--json", "--port", "0")
    assert (done.returncode, done.stdout) == (5, "")
    assert "emissary.db" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(f"data_dir: {tmp_path / 'file'}\nhost_gap: -5\n")
    settings = {**LOCAL, "EMISSARY_DATA_DIR": str(tmp_path / "environment")}
    with Emissary(tmp_path, settings, "--config", str(tmp_path / "settings.yaml")) as server:
        assert server.ready["dataDir"] == str(tmp_path / "data")


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("worker_lanes: 0", "WORKER_LANES"),
        ("colour: red", "COLOUR"),
        ("- a", "settings.yaml"),
        ("a: [", "settings.yaml"),
    ],
)
def test_a_settings_file_that_cannot_work_is_named(run: Run, tmp_path: Path, written: str, named: str) -> None:
    (tmp_path / "settings.yaml").write_text(written)
    done = run("up", "--json", "--port", "0", "--config", "settings.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr


def test_the_doctor_says_what_is_there(run: Run, tmp_path: Path) -> None:
    done = run("doctor", EMISSARY_PORT="0")
    assert done.returncode == 0
    told = done.stdout + done.stderr
    for name in ("python", "disk", "sqlite", "clock", "port", "browser", "networks", "agent"):
        assert name in told
    assert str(tmp_path / "data") in told.replace("\n", "")


def test_the_doctor_speaks_json(run: Run) -> None:
    done = run("doctor", "--json", EMISSARY_PORT="0")
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)}
    assert (done.returncode, done.stderr) == (0, "")
    assert set(findings) == {"python", "disk", "sqlite", "clock", "port", "browser", "networks", "agent"}
    assert {finding["status"] for finding in findings.values()} <= {"ok", "note"}
    assert "127.0.0.0/8" in findings["networks"]["detail"]


def test_the_doctor_sees_that_a_port_is_taken(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("doctor", "--json", EMISSARY_PORT=str(taken.getsockname()[1]))
    (port,) = (finding for finding in json.loads(done.stdout) if finding["name"] == "port")
    assert (done.returncode, port["status"]) == (0, "note")


def test_the_doctor_sees_that_a_directory_cannot_be_used(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    done = run("doctor", "--json", EMISSARY_PORT="0", EMISSARY_DATA_DIR=str(tmp_path / "file"))
    (disk,) = (finding for finding in json.loads(done.stdout) if finding["name"] == "disk")
    assert (done.returncode, disk["status"]) == (5, "missing")
    assert "EMISSARY_DATA_DIR" in disk["detail"]
