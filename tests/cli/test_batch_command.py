"""`emissary batch`, `crawl`, `map`, `plan` and `jobs`, with a server or without."""

import csv
import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from urllib.parse import urlsplit

import pytest
from served import LOCAL, Emissary, environment, until

from emissary.testing.web import TestWebProcess

Run = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def urls(tmp_path: Path, web: TestWebProcess) -> Path:
    """A file of four pages: two that come, one that is refused, one that is no URL."""
    file = tmp_path / "urls.txt"
    lines = [web.host_url(1, "/small"), web.url("closed", "/prices"), "nonsense", json.dumps({"url": web.host_url(2)})]
    file.write_text("\n".join(lines) + "\n")
    return file


def _results(file: Path) -> dict[str, str]:
    return {found["url"]: found["status"] for found in map(json.loads, file.read_text().splitlines())}


@pytest.mark.parametrize("place", ["here", "server"])
def test_a_batch_is_read_and_its_results_are_written(
    run: Run, web: TestWebProcess, server: Emissary, *, urls: Path, tmp_path: Path, place: str
) -> None:
    where = {} if place == "here" else {"EMISSARY_URL": server.url, "EMISSARY_API_KEY": server.key}
    done = run("batch", "urls.txt", "-f", "text", "-o", "out.jsonl", **where)
    assert (done.returncode, done.stdout) == (0, "")
    assert "line 3: invalid_url nonsense" in done.stderr
    assert "completed: 3 of 3 pages, 2 came, 1 refused" in done.stderr
    assert _results(tmp_path / "out.jsonl") == {
        web.host_url(1, "/small"): "completed",
        web.url("closed", "/prices"): "refused",
        web.host_url(2): "completed",
    }
    assert {path.name for path in tmp_path.iterdir()} <= {"urls.txt", "out.jsonl", "data"}


def test_a_column_of_a_csv_file_is_read_and_written_as_csv(run: Run, web: TestWebProcess, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f'name,link\n"a, b",{web.host_url(1, "/small")}\nc,\n')
    done = run("batch", "in.csv", "--column", "link", "-f", "text", "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    (row,) = csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text()))
    assert (row["url"], row["status"], row["code"]) == (web.host_url(1, "/small"), "completed", "ok")
    assert row["text"].startswith("A small page")
    wrong = run("batch", "in.csv")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "'url', but name, link" in wrong.stderr


def test_what_is_refused_or_fails_shows_in_the_exit_code(run: Run, web: TestWebProcess, tmp_path: Path) -> None:
    (tmp_path / "closed").write_text(web.url("closed", "/prices"))
    (tmp_path / "broken").write_text(web.url("trouble", "/binary"))
    assert run("batch", "closed").returncode == 3
    assert run("batch", "broken").returncode == 4
    assert run("crawl", web.url("closed", "/prices")).returncode == 3
    assert run("map", web.url("closed", "/prices")).returncode == 3


def test_the_answer_comes_as_json_for_scripts(run: Run, server: Emissary, urls: Path) -> None:
    done = run("batch", "urls.txt", "--json", "--server", server.url, EMISSARY_API_KEY=server.key)
    answer = json.loads(done.stdout)
    assert (answer["status"], answer["counts"]["completed"], answer["outcomes"]) == (
        "completed",
        2,
        {"ok": 2, "robots": 1},
    )


def test_a_batch_that_is_not_waited_for_is_seen_again_by_its_name(run: Run, server: Emissary, urls: Path) -> None:
    where = {"EMISSARY_URL": server.url, "EMISSARY_API_KEY": server.key}
    begun = run("batch", "urls.txt", "--no-wait", **where)
    name = begun.stdout.strip()
    assert f"emissary jobs wait {name}" in begun.stderr
    waited = run("jobs", "wait", name, "-o", "-", **where)
    assert {json.loads(line)["status"] for line in waited.stdout.splitlines()} == {"completed", "refused"}
    assert f"{name} completed: 3 of 3 pages" in run("jobs", "show", name, **where).stdout
    assert "refused  robots" in run("jobs", "errors", name, **where).stdout
    listed = run("jobs", "items", name, "--status", "completed", "--json", **where)
    assert [json.loads(line)["index"] for line in listed.stdout.splitlines()] == [0, 2]
    assert run("jobs", "retry", name, "--only", "refused", **where).stdout == "1 pages are read once more\n"
    late = run("jobs", "cancel", json.loads(listed.stdout.splitlines()[0])["id"], **where)
    assert (late.returncode, late.stdout) == (2, "")
    assert "ended" in late.stderr


def test_a_site_is_crawled_mapped_and_planned(run: Run, web: TestWebProcess, server: Emissary, tmp_path: Path) -> None:
    where = {"EMISSARY_URL": server.url, "EMISSARY_API_KEY": server.key}
    crawled = run("crawl", web.url("news", "/"), "--limit", "2", "-f", "text", "-o", "site.jsonl", **where)
    assert crawled.returncode == 0, crawled.stderr
    assert list(_results(tmp_path / "site.jsonl").values()).count("completed") >= 2
    mapped = run("map", web.url("news", "/"), "--limit", "3", **where)
    assert (mapped.returncode, len(mapped.stdout.splitlines())) == (0, 3)
    assert "there may be more" in mapped.stderr
    (tmp_path / "pages").write_text(mapped.stdout + web.url("closed", "/prices"))
    planned = run("plan", "pages", **where)
    assert "4 pages, hosts: 2, 1 of them refused: at most 3 credits" in planned.stdout
    assert "disallowed" in planned.stdout
    assert json.loads(run("plan", web.url("news", "/"), "--limit", "9", "--json", **where).stdout)["urls"] == 9


@pytest.mark.parametrize("place", ["here", "server"])
def test_jobs_are_listed_by_what_they_are_and_as_many_as_wanted(
    run: Run, web: TestWebProcess, *, tmp_path_factory: pytest.TempPathFactory, urls: Path, place: str
) -> None:
    with Emissary(tmp_path_factory.mktemp("listed")) as server:
        where = {} if place == "here" else {"EMISSARY_URL": server.url, "EMISSARY_API_KEY": server.key}
        assert "there are no such jobs" in run("jobs", **where).stderr
        batch = json.loads(run("batch", "urls.txt", "--json", **where).stdout)["id"]
        listed = run("jobs", **where)
        of_batch = [json.loads(line) for line in run("jobs", "--batch", batch, "--json", **where).stdout.splitlines()]
        refused = run("jobs", "--status", "refused", "--batch", batch, **where).stdout.splitlines()
        at_host = run("jobs", "--host", urlsplit(web.host_url(2)).netloc, "--json", **where).stdout.splitlines()
        first = run("jobs", "--limit", "1", **where)
        last, every = run("jobs", "--limit", "3", **where), run("jobs", "--all", **where)
    assert (listed.returncode, listed.stderr) == (0, "")
    heading, *rows = listed.stdout.splitlines()
    assert heading.split() == ["JOB", "STATUS", "OUTCOME", "CREATED", "PAGE"]
    closed = web.url("closed", "/prices")
    assert [each["url"] for each in of_batch] == [web.host_url(2), closed, web.host_url(1, "/small")]
    assert {row.split()[0] for row in rows} == {each["id"] for each in of_batch}
    assert [row for row in rows if row.endswith(f"  {closed}")] == refused[1:]
    assert refused[1].split()[:3] == [of_batch[1]["id"], "refused", "robots"]
    assert every.stdout == listed.stdout
    assert [json.loads(line)["url"] for line in at_host] == [web.host_url(2)]
    assert first.stdout.splitlines() == [heading, rows[0]]
    assert "more than 1" in first.stderr
    assert (last.stdout, last.stderr) == (listed.stdout, "")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("batch", "nowhere.txt"), "nowhere.txt"),
        (("batch", "urls.txt", "-o", "out.xls"), ".parquet"),
        (("batch", "urls.txt", "-o", "nowhere/out.csv"), "nowhere"),
        (("batch", "urls.txt", "-f", "word"), "rawHtml"),
        (("batch", "urls.txt", "--dedupe", "often"), "often"),
        (("crawl", "nonsense"), "nonsense"),
        (("crawl", "http://127.0.0.1/", "--include", "("), "("),
        (("map", "ftp://127.0.0.1/"), "ftp"),
        (("plan", "nowhere.txt"), "nowhere.txt"),
        (("jobs", "--status", "often"), "refused"),
        (("jobs", "--limit", "0"), "limit"),
        (("jobs", "--json", "show", "bat_1"), "--json"),
        (("jobs", "show", "bat_1"), "bat_1"),
        (("jobs", "show", "nonsense"), "nonsense"),
        (("jobs", "show", "job_1", "--server", "nonsense"), "nonsense"),
    ],
)
def test_wrong_usage_ends_with_2_and_a_sentence(run: Run, urls: Path, arguments: tuple[str, ...], named: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_parquet_without_its_library_is_told_before_anything_begins(run: Run, urls: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['pyarrow'] = None")
    done = run("batch", "urls.txt", "-o", "out.parquet", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "emissary-web[parquet]" in done.stderr


def test_a_server_that_is_not_there_is_our_fault(run: Run) -> None:
    done = run("jobs", "show", "job_1", "--server", "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (5, "")
    assert "nobody answers at 127.0.0.1:1" in done.stderr


def test_ctrl_c_leaves_the_batch_running_and_says_how_to_come_back(
    run: Run, web: TestWebProcess, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    slow = {**LOCAL, "EMISSARY_HOST_GAP": "0.5"}
    (tmp_path / "urls.txt").write_text("\n".join(web.host_url(3, f"/slow/{number}") for number in range(8)))
    with Emissary(tmp_path_factory.mktemp("slow"), slow) as server:
        where = {"EMISSARY_URL": server.url, "EMISSARY_API_KEY": server.key}
        with subprocess.Popen(
            [sys.executable, "-m", "emissary", "batch", "urls.txt", "-o", "out.jsonl"],
            stderr=subprocess.PIPE,
            text=True,
            env=environment(tmp_path, where),
            cwd=tmp_path,
        ) as process:
            out = tmp_path / "out.jsonl"
            until(lambda: out.exists() and out.read_text().count("\n") >= 2)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=30)
        assert process.returncode == 130
        name = told.split()[0]
        assert f"{name} is not cancelled. Come back with:  emissary jobs wait {name} -o out.jsonl" in told
        assert "Traceback" not in told
        assert server.get(f"/v1/batch/{name}").json()["status"] == "running"
        other = run("batch", "urls.txt", "-o", "out.jsonl", **where)
        assert (other.returncode, f"has a part of {name}" in other.stderr) == (2, True)
        done = run("jobs", "wait", name, "-o", "out.jsonl", **where)
    assert done.returncode == 0
    assert sorted(json.loads(line)["index"] for line in out.read_text().splitlines()) == list(range(8))
    assert not list(tmp_path.glob(".out*"))
