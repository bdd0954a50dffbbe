"""`emissary keys` and `emissary usage`: with the store at hand and no key, or over a server."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from urllib.parse import urlsplit

import pytest
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
        (("list", "--account", "acc_nobody"), "there is no account acc_nobody"),
        (("rotate", "key_1", "--account", "acc_nobody"), "there is no account acc_nobody"),
        (("revoke", "key_1", "--account", "acc_nobody"), "there is no account acc_nobody"),
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


def test_usage_of_nobody_is_no_empty_list(run: Run) -> None:
    done = run("usage", "--account", "acc_nobody", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no account acc_nobody" in done.stderr


def test_times_are_written_as_the_api_writes_them(run: Run) -> None:
    made = json.loads(run("keys", "create", "timed", "--expires", "1h", "--json").stdout)
    (listed,) = json.loads(run("keys", "list", "--json").stdout)
    for told in (made["createdAt"], made["expiresAt"], listed["createdAt"], listed["expiresAt"]):
        assert told.endswith("Z")


@pytest.mark.parametrize("named", ["by the environment", "by an option"])
def test_keys_are_those_of_the_server_that_is_named(run: Run, server: Emissary, *, tmp_path: Path, named: str) -> None:
    key = {"EMISSARY_API_KEY": server.key}
    where, option = ({**key, "EMISSARY_URL": server.url}, ()) if "env" in named else (key, ("--server", server.url))
    made = json.loads(run("keys", "create", named, "--expires", "90d", "--json", *option, **where).stdout)
    assert with_key(server, made["key"]).get("/v1/account").status == 200
    new = run("keys", "rotate", made["id"], "--grace", "0m", *option, **where).stdout.strip()
    assert with_key(server, new).get("/v1/account").status == 200
    listed = json.loads(run("keys", "list", "--json", *option, **where).stdout)
    known = next(each for each in listed if each["id"] == made["id"])
    assert {**known, "key": made["key"], "live": True, "lastUsedAt": None, "expiresAt": made["expiresAt"]} == made
    (fresh,) = (each["id"] for each in listed if each["name"] == named and each["live"])
    assert "opens nothing any more" in run("keys", "revoke", fresh, *option, **where).stderr
    assert with_key(server, new).get("/v1/account").status == 401
    assert named in run("keys", "list", *option, **where).stdout
    assert not (tmp_path / "data").exists()


def test_usage_is_that_of_the_server_that_is_named(
    run: Run, server: Emissary, web: TestWebProcess, tmp_path: Path
) -> None:
    where = {"EMISSARY_URL": server.url, "EMISSARY_API_KEY": server.key}
    page = web.host_url(8, "/small?used")
    assert server.post("/v1/scrape", {"url": page}).status == 200
    told = json.loads(run("usage", "--by", "host", "--json", **where).stdout)
    answered = server.get("/v1/usage?by=host").json()
    assert told == {name: answered[name] for name in ("from", "to", "by", "data")}
    (row,) = (row for row in told["data"] if row["key"] == urlsplit(page).netloc)
    assert list(row) == ["key", "jobs", "credits", "cached", "failed", "refused"]
    table = run("usage", "--by", "host", "--server", server.url, EMISSARY_API_KEY=server.key).stdout
    assert row["key"] in table
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("verb", [("keys", "list"), ("usage",)])
def test_over_a_server_another_account_is_the_operators_by_other_routes(
    run: Run, server: Emissary, verb: tuple[str, ...]
) -> None:
    done = run(*verb, "--account", "acc_1", EMISSARY_URL=server.url, EMISSARY_API_KEY=server.key)
    assert (done.returncode, done.stdout) == (2, "")
    assert "/v1/admin/accounts" in done.stderr


def test_a_key_without_the_scope_is_told_so(run: Run, server: Emissary) -> None:
    made = json.loads(
        run("keys", "create", "reader", "--json", EMISSARY_URL=server.url, EMISSARY_API_KEY=server.key).stdout
    )
    done = run("keys", "list", EMISSARY_URL=server.url, EMISSARY_API_KEY=made["key"])
    assert (done.returncode, done.stdout) == (2, "")
    assert "scope `keys`" in done.stderr
