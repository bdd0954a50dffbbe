"""`emissary keys` and `emissary usage`: what can be done with the store at hand, and no key."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

from served import LOCAL, Emissary
from watching import with_key

from emissary.testing.web import TestWebProcess

Run = Callable[..., "CompletedProcess[str]"]


def test_a_key_is_printed_once_and_listed_without_its_secret(run: Run) -> None:
    made = run("keys", "create", "pipeline", "--scope", "read", "--expires", "90d")
    assert made.returncode == 0
    secret = made.stdout.strip()
    assert secret.startswith("em_live_")
    assert "shown this once" in made.stderr
    (listed,) = json.loads(run("keys", "list", "--json").stdout)
    assert (listed["name"], listed["scopes"], listed["live"]) == ("pipeline", ["read"], True)
    assert secret.startswith(listed["hint"])
    table = run("keys", "list").stdout
    assert "live until" in table
    assert listed["id"] in table
    assert secret not in table


def test_a_key_made_beside_a_running_server_opens_it_and_can_be_taken_away(run: Run, tmp_path: Path) -> None:
    with Emissary(tmp_path, LOCAL) as server:
        made = json.loads(run("keys", "create", "pipeline", "--json").stdout)
        assert with_key(server, made["key"]).get("/v1/account").status == 200
        new = json.loads(run("keys", "rotate", made["id"], "--grace", "0m", "--json").stdout)
        assert with_key(server, new["key"]).get("/v1/account").status == 200
        revoked = run("keys", "revoke", new["id"])
        assert (revoked.returncode, revoked.stdout) == (0, "")
        fresh = json.loads(run("keys", "list", "--json").stdout)
        assert {key["id"]: key["live"] for key in fresh if key["name"] == "pipeline"} == {
            made["id"]: False,
            new["id"]: False,
        }


def test_what_cannot_be_done_is_said_in_a_sentence(run: Run) -> None:
    for _ in range(2):
        run("keys", "create", "twice")
    for arguments, told in (
        (("create", "twice"), "revoke one of them"),
        (("create", "x", "--account", "acc_nobody"), "there is no account acc_nobody"),
        (("create", "x", "--expires", "soon"), "write 30m, 12h or 90d"),
        (("create", ""), "1 to 100"),
        (("rotate", "key_nobody"), "there is no key key_nobody"),
        (("revoke", "key_nobody"), "there is no key key_nobody"),
    ):
        done = run("keys", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert told in done.stderr
        assert "Traceback" not in done.stderr


def test_usage_is_a_table_for_people_and_json_for_scripts(run: Run, web: TestWebProcess) -> None:
    assert "nothing ended" in run("usage").stderr
    for path in ("/small", "/small?2"):
        assert run("scrape", web.host_url(1, path)).returncode == 0
    told = json.loads(run("usage", "--by", "host", "--json").stdout)
    (row,) = told["data"]
    assert (told["by"], row["jobs"], row["credits"]) == ("host", 2, 2)
    table = run("usage", "--by", "host").stdout
    assert table.split()[:2] == ["host", "jobs"]
    assert row["key"] in table
    assert "all" in table
    assert "2030-01-31" in run("usage", "--from", "yesterday").stderr
    assert "first day" in run("usage", "--from", "2030-02-01", "--to", "2030-01-01").stderr
