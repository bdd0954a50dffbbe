"""`emissary captures`: what was kept can be listed and taken along."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from served import Emissary
from warcs import both

from emissary.testing.web import TestWebProcess

Run = Callable[..., "CompletedProcess[str]"]


def test_without_captures_there_is_nothing_to_list_or_export(run: Run, tmp_path: Path) -> None:
    listed = run("captures", "list", "--json")
    assert (listed.returncode, json.loads(listed.stdout)) == (0, [])
    done = run("captures", "export", "-o", "all.warc.gz")
    assert (done.returncode, done.stdout) == (4, "")
    assert not (tmp_path / "all.warc.gz").exists()


def test_segments_are_listed_for_people_and_for_scripts(run: Run, web: TestWebProcess) -> None:
    for number in (1, 2):
        run("scrape", web.host_url(number, "/small"))
    listed = json.loads(run("captures", "list", "--json").stdout)
    assert len(listed) == 2
    assert all(each["bytes"] > 500 and each["beginsAt"].endswith("Z") for each in listed)
    told = run("captures", "list")
    assert told.stderr == ""
    assert [line.split()[-1] for line in told.stdout.splitlines()] == [each["name"] for each in listed]


def test_all_of_it_goes_into_one_file_that_others_can_read(run: Run, web: TestWebProcess, tmp_path: Path) -> None:
    for number in (1, 2):
        run("scrape", web.host_url(number, "/small"))
    done = run("captures", "export", "-o", "all.warc.gz", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (told["segments"], told["bytes"]) == (2, (tmp_path / "all.warc.gz").stat().st_size)
    records = both((tmp_path / "all.warc.gz").read_bytes())
    targets = [record.headers["warc-target-uri"] for record in records if record.kind == "response"]
    assert targets == [web.host_url(1, "/small"), web.host_url(2, "/small")]
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_a_directory_gets_the_segments(run: Run, web: TestWebProcess, tmp_path: Path) -> None:
    run("scrape", web.host_url(1, "/small"))
    (tmp_path / "out").mkdir()
    done = run("captures", "export", "-o", "out")
    assert (done.returncode, done.stdout) == (0, "")
    assert "1 segments" in done.stderr
    (segment,) = (tmp_path / "out").iterdir()
    assert [record.kind for record in both(segment.read_bytes())] == ["warcinfo", "response", "request", "metadata"]


def test_what_a_running_server_keeps_can_be_exported(run: Run, web: TestWebProcess, tmp_path: Path) -> None:
    with Emissary(tmp_path) as server:
        for page in range(3):
            server.scrape(web.host_url(3, f"/page/{page}"))
        assert run("captures", "export", "-o", "all.warc.gz").returncode == 0
        records = both((tmp_path / "all.warc.gz").read_bytes())
        assert [record.kind for record in records].count("response") == 3


@pytest.mark.parametrize(("since", "count"), [("1h", 1), ("2d", 1), ("2001-01-01", 1), ("2999-01-01T10:00Z", 0)])
def test_since_leaves_older_hours_out(*, run: Run, web: TestWebProcess, since: str, count: int) -> None:
    run("scrape", web.host_url(1, "/small"))
    assert len(json.loads(run("captures", "list", "--since", since, "--json").stdout)) == count


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("list", "--since", "yesterday"), "yesterday"),
        (("export",), "--output"),
        (("export", "-o", "data/captures/x.warc.gz"), "data/captures"),
        (("export", "-o", "data/captures"), "data/captures"),
        (("export", "-o", "no/such/file"), "no/such/file"),
    ],
)
def test_wrong_usage_ends_with_2_and_a_sentence(
    *, run: Run, web: TestWebProcess, arguments: tuple[str, ...], named: str
) -> None:
    run("scrape", web.host_url(1, "/small"))
    done = run("captures", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "Traceback" not in done.stderr
