"""`emissary scrape`: the answer goes to standard output and nothing else does; the exit code says how it went."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from served import Emissary, asked

from emissary.testing.web import TestWebProcess
from emissary.testing.web.pages.goods import product

Run = Callable[..., "CompletedProcess[str]"]


def test_a_page_comes_out_as_markdown(run: Run, web: TestWebProcess) -> None:
    done = run("scrape", web.url("shop", "/product/1"))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"# {product(1).name}" in done.stdout
    assert "<html" not in done.stdout


def test_one_format_comes_out_as_it_is(run: Run, web: TestWebProcess) -> None:
    done = run("scrape", web.host_url(1, "/small"), "--format", "text")
    assert done.stdout.startswith("A small page")
    links = run("scrape", web.host_url(1, "/"), "-f", "links")
    assert {"url", "text", "rel"} == set(json.loads(links.stdout)[0])


def test_several_formats_come_out_as_json(run: Run, web: TestWebProcess) -> None:
    done = run("scrape", web.host_url(1, "/small"), "-f", "text", "-f", "links", "-f", "metadata")
    assert done.returncode == 0
    assert set(json.loads(done.stdout)) == {"text", "links", "metadata"}


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_fields_are_read_by_a_schema_in_a_file(run: Run, web: TestWebProcess, tmp_path: Path, form: str) -> None:
    schema = {"name": {"css": "h1"}, "price": {"css": "[itemprop=price]", "attr": "content", "type": "number"}}
    written = (
        json.dumps(schema)
        if form == "json"
        else "name: {css: h1}\nprice:\n  css: '[itemprop=price]'\n  attr: content\n  type: number\n"
    )
    (tmp_path / f"schema.{form}").write_text(written)
    done = run("scrape", web.url("shop", "/product/1"), "--fields", f"schema.{form}")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"name": product(1).name, "price": float(product(1).price)}


def test_a_file_takes_the_answer_in_place_of_standard_output(run: Run, web: TestWebProcess, tmp_path: Path) -> None:
    done = run("scrape", web.host_url(1, "/small"), "-f", "text", "-o", "page.txt")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "page.txt").read_text().startswith("A small page")
    assert "page.txt" in done.stderr


def test_the_whole_answer_has_document_outcome_and_receipt(run: Run, web: TestWebProcess) -> None:
    done = run("scrape", web.host_url(1, "/small"), "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert answer["status"] == "completed"
    assert answer["outcome"]["code"] == "ok"
    assert "A small page" in answer["document"]["markdown"]
    assert answer["receipt"]["agent"].startswith("Emissary/")


def test_navigation_can_be_kept(run: Run, web: TestWebProcess) -> None:
    main, whole = (run("scrape", web.url("shop", "/product/1"), *more) for more in ((), ("--full-page",)))
    assert len(whole.stdout) > len(main.stdout)


def test_a_page_that_is_not_there_is_still_a_page(run: Run, web: TestWebProcess) -> None:
    done = run("scrape", web.url("trouble", "/status/404"))
    assert done.returncode == 0
    assert "Status 404" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("nonsense",), "nonsense"),
        (("ftp://example.org/",), "ftp"),
        (("http://a:b@example.org/",), "password"),
        (("http://127.0.0.1/", "--format", "word"), "'word'"),
        (("http://127.0.0.1/", "--format", "fields"), "fields"),
        (("http://127.0.0.1/", "--fields", "nowhere.yaml"), "nowhere.yaml"),
        (("http://127.0.0.1/", "--timeout", "0"), "--timeout"),
        (("http://127.0.0.1/", "--colour"), "--colour"),
        ((), "url"),
    ],
)
def test_wrong_usage_ends_with_2_and_a_sentence(run: Run, arguments: tuple[str, ...], named: str) -> None:
    done = run("scrape", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("price: {css: 'div[['}", "price.css"),
        ("price: {xpath: '//['}", "price.xpath"),
        ("price: {css: p, type: money}", "price"),
        ("- a\n- b\n", "fields"),
        ("", "fields"),
        ("a: [unclosed", "schema.yaml"),
        ("when: 2026-01-01", "when"),
        ("price: {css: p, required: .nan}", "price"),
    ],
)
def test_a_schema_that_cannot_be_used_ends_with_2_and_names_the_place(
    run: Run, tmp_path: Path, written: str, named: str
) -> None:
    (tmp_path / "schema.yaml").write_text(written)
    done = run("scrape", "http://127.0.0.1:9/", "--fields", "schema.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_a_schema_that_is_no_text_ends_with_2(run: Run, tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_bytes(b"\xff\xfe\x00")
    done = run("scrape", "http://127.0.0.1:9/", "--fields", "schema.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "schema.yaml" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_output_that_cannot_be_written_is_said_in_a_sentence(run: Run, web: TestWebProcess) -> None:
    done = run("scrape", web.host_url(1, "/small"), "-o", "no/such/folder.txt")
    assert done.returncode == 2
    assert "folder.txt" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("site", "path", "code", "named"),
    [
        ("closed", "/prices", 3, "Disallow: /"),
        ("trouble", "/status/403", 3, "forbidden"),
        ("trouble", "/status/500", 4, "server_error"),
        ("trouble", "/cut", 4, "connect"),
        ("trouble", "/pdf", 4, "application/pdf"),
    ],
)
def test_a_page_that_did_not_come_ends_with_its_code_and_nothing_on_standard_output(
    *, run: Run, web: TestWebProcess, site: str, path: str, code: int, named: str
) -> None:
    done = run("scrape", web.url(site, path))
    assert (done.returncode, done.stdout) == (code, "")
    assert named in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_refusal_can_be_read_by_a_script(run: Run, web: TestWebProcess) -> None:
    done = run("scrape", web.url("closed", "/prices"), "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["outcome"]["code"] == "robots"


def test_a_site_that_never_answers_ends_with_4(run: Run, web: TestWebProcess) -> None:
    done = run("scrape", web.url("trouble", "/hang"), "--timeout", "0.5")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("emissary: ")


def test_an_address_that_is_not_public_is_not_read(run: Run, web: TestWebProcess) -> None:
    before = asked(web, web.host_url(2))
    done = run("scrape", web.host_url(2, "/small"), EMISSARY_ALLOW_NETWORKS="")
    assert (done.returncode, done.stdout) == (4, "")
    assert "guard" in done.stderr
    assert asked(web, web.host_url(2)) == before


def test_it_works_while_a_server_runs_on_the_same_directory(run: Run, web: TestWebProcess, tmp_path: Path) -> None:
    with Emissary(tmp_path) as server:
        for _ in range(3):
            done = run("scrape", web.host_url(3, "/small"), "-f", "text")
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout.startswith("A small page")
            assert server.scrape(web.host_url(3, "/small"))["status"] == "completed"
        job = json.loads(run("scrape", web.host_url(3, "/small"), "--json").stdout)["id"]
        assert server.job(job)["status"] == "completed"
        assert server.stop() == 0
