"""`emissary identity` and `emissary owner`: the keys of an installation, and the sites that are its operator's own."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from served import LOCAL, Emissary

from emissary.reading.owners import OWNER_PATH
from emissary.testing.web import TestWebProcess

Run = Callable[..., "CompletedProcess[str]"]

_AGENT = {"EMISSARY_AGENT_URL": "https://agent.example"}
_DIRECTORY = "/.well-known/http-message-signatures-directory"


def shown(run: Run, *verb: str, **settings: str) -> dict[str, Any]:
    done = run("identity", *verb, "--json", **settings)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_it_says_who_we_are_and_which_key_signs(run: Run) -> None:
    facts = shown(run, "show", **_AGENT, EMISSARY_AGENT_EMAIL="me@agent.example")
    assert facts["agent"].startswith("Emissary/")
    assert facts["email"] == "me@agent.example"
    assert facts["directory"] == f"https://agent.example{_DIRECTORY}"
    (key,) = facts["keys"]
    assert (key["id"], key["active"], key["expires"]) == (facts["signs"], True, None)
    assert shown(run, "show", **_AGENT)["signs"] == facts["signs"]
    told = run("identity", "show", **_AGENT)
    assert facts["signs"] in told.stdout


def test_without_an_address_it_says_that_nothing_is_signed(run: Run) -> None:
    assert shown(run, "show")["signs"] is None
    told = run("identity", "show")
    assert "nothing is signed" in told.stdout
    assert "EMISSARY_AGENT_URL" in told.stderr


def test_a_new_key_is_published_beside_the_old_which_goes_on_signing(run: Run) -> None:
    before = shown(run, "show", **_AGENT)["signs"]
    facts = shown(run, "rotate", **_AGENT)
    assert facts["signs"] == before
    old, new = facts["keys"]
    assert (old["id"], old["active"], new["active"]) == (before, True, False)
    assert old["expires"] > new["notBefore"]
    assert all(told.endswith("Z") for told in (old["notBefore"], old["expires"], new["notBefore"]))
    assert shown(run, "show", **_AGENT) == facts


def test_a_stolen_key_is_gone_at_once(run: Run) -> None:
    before = shown(run, "show", **_AGENT)["signs"]
    facts = shown(run, "rotate", "--stolen", **_AGENT)
    assert facts["signs"] != before
    assert [key["id"] for key in facts["keys"]] == [facts["signs"]]


def test_the_next_server_publishes_what_was_rotated(run: Run, tmp_path: Path) -> None:
    facts = shown(run, "rotate", **_AGENT)
    with Emissary(tmp_path, {**LOCAL, **_AGENT}) as server:
        published = [key["kid"] for key in server.ask("GET", _DIRECTORY).json()["keys"]]
    assert published == [key["id"] for key in facts["keys"]]


@contextmanager
def site(files: dict[str, str]) -> Iterator[str]:
    """A site of the operator's own; yields its origin."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write((body or "").encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_token_of_a_host_is_always_the_same_and_no_others(run: Run) -> None:
    first = run("owner", "token", "example.org")
    assert first.returncode == 0
    assert first.stdout == run("owner", "token", "https://example.org/").stdout
    assert first.stdout.startswith("emissary-")
    assert f"https://example.org{OWNER_PATH}" in first.stderr
    for other in ("www.example.org", "example.org:8443"):
        assert run("owner", "token", other).stdout != first.stdout


def test_another_installation_asks_for_another_token(run: Run, tmp_path: Path) -> None:
    tokens = {run("owner", "token", "a.example", EMISSARY_DATA_DIR=str(tmp_path / name)).stdout for name in "ab"}
    assert len(tokens) == 2


def test_a_site_that_shows_the_token_is_read_at_its_owners_pace(run: Run, tmp_path: Path) -> None:
    files = {f"/{page}": "<title>Mine</title><p>mine</p>" for page in range(6)}
    with site(files) as origin:
        files[OWNER_PATH] = f"# mine\n{run('owner', 'token', origin).stdout}"
        done = run("owner", "prove", origin, "--gap", "0", "--concurrency", "2")
        assert (done.returncode, done.stdout) == (0, "")
        assert "is yours" in done.stderr
        # With the usual gap, this would take minutes.
        with Emissary(tmp_path, {**LOCAL, "EMISSARY_HOST_GAP": "60"}) as server:
            jobs = [server.submit(f"{origin}/{page}") for page in range(6)]
            assert {server.finished(job)["status"] for job in jobs} == {"completed"}


@pytest.mark.parametrize("shows", [None, "", "emissary-0000", "Not the TOKEN"])
def test_a_site_that_does_not_show_it_is_not_proven(run: Run, shows: str | None) -> None:
    with site({} if shows is None else {OWNER_PATH: shows}) as origin:
        done = run("owner", "prove", origin)
    assert (done.returncode, done.stdout) == (4, "")
    assert "not proven" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_guard_stands_before_owners_too(run: Run, web: TestWebProcess) -> None:
    done = run("owner", "prove", web.url("shop"), EMISSARY_ALLOW_NETWORKS="")
    assert (done.returncode, done.stdout) == (4, "")
    assert "not proven" in done.stderr


@pytest.mark.parametrize(
    "arguments", [("token", "a b"), ("token", "ftp://x.example"), ("prove", "x", "--gap", "-1"), ()]
)
def test_wrong_usage_ends_with_2(run: Run, arguments: tuple[str, ...]) -> None:
    done = run("owner", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
