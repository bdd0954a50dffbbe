"""Pages that are too much for whoever reads them, seen from the API of a real server."""

from collections.abc import Callable
from pathlib import Path

import pytest
from served import Emissary, until

from emissary.testing.web import TestWebProcess

ALL = ["rawHtml", "html", "markdown", "text", "links", "images", "metadata", "structured"]


def children_of(server: Emissary) -> list[int]:
    tasks = Path(f"/proc/{server.process.pid}/task")
    return [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]


def counted(server: Emissary, name: str) -> float:
    lines = server.ask("GET", "/metrics").body.decode().splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)), 0.0)


@pytest.fixture
def strict(start: Callable[..., Emissary]) -> Emissary:
    return start(EMISSARY_EXTRACTION_MEMORY="256", EMISSARY_EXTRACTION_PROCESSES="1")


def test_a_page_that_takes_too_much_memory_fails_its_job_and_no_other(strict: Emissary, web: TestWebProcess) -> None:
    failed = strict.scrape(web.url("trouble", "/huge?mib=15"), formats=ALL)
    assert failed["status"] == "failed"
    assert (failed["outcome"]["kind"], failed["outcome"]["code"]) == ("invalid", "extraction_failed")
    assert failed["outcome"]["httpStatus"] == 200
    assert failed["outcome"]["detail"]
    assert failed["document"] is None
    assert failed["receipt"]["bytes"] > 14 * 1024 * 1024
    read = strict.scrape(web.url("trouble", "/huge?mib=1"), formats=["text"])
    assert read["outcome"]["code"] == "ok"
    assert read["document"]["text"].count("the tide goes out") > 10_000
    assert counted(strict, "emissary_extractions_in_children_total") == 2
    assert counted(strict, "emissary_extractions_failed_total") == 1
    assert counted(strict, 'emissary_visits_total{code="extraction_failed",kind="invalid"}') == 1


def test_small_pages_start_no_child_and_a_stop_leaves_none(strict: Emissary, web: TestWebProcess) -> None:
    strict.scrape(web.url("trouble", "/"))
    assert children_of(strict) == []
    strict.scrape(web.url("trouble", "/huge?mib=1"))
    (child,) = children_of(strict)
    assert strict.stop() == 0
    assert not Path(f"/proc/{child}").exists()


def test_a_server_that_is_killed_leaves_no_child(strict: Emissary, web: TestWebProcess) -> None:
    strict.scrape(web.url("trouble", "/huge?mib=1"))
    (child,) = children_of(strict)
    strict.process.kill()
    stat = Path(f"/proc/{child}/stat")
    until(lambda: not stat.exists() or stat.read_text().rpartition(") ")[2].startswith("Z"))
