"""Lists of jobs over HTTP."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from batching import begin, ended
from served import Emissary
from watching import opened_by_admin

from emissary.testing.web import TestWebProcess


def _listed(server: Emissary, query: str = "") -> list[dict[str, Any]]:
    answer = server.get(f"/v1/jobs?{query}")
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


@pytest.fixture
def ann(server: Emissary) -> Emissary:
    """An account that has nothing yet."""
    return opened_by_admin(server, name="Lists")[1]


def test_jobs_are_listed_newest_first_with_what_they_came_to(ann: Emissary, web: TestWebProcess) -> None:
    page, refused = web.host_url(2, "/small?listed"), web.url("closed", "/prices")
    names = [ann.scrape(url)["id"] for url in (page, refused)]
    first, second = _listed(ann)
    assert [first["id"], second["id"]] == names[::-1]
    assert (second["url"], second["status"], second["outcome"]["code"]) == (page, "completed", "ok")
    assert (first["url"], first["status"], first["outcome"]["code"]) == (refused, "refused", "robots")
    assert second["host"] == urlsplit(page).netloc
    whole = ann.job(second["id"])
    assert all(second[name] == whole[name] for name in ("kind", "attempts", "createdAt", "startedAt", "finishedAt"))


def test_they_are_found_by_status_batch_and_host(ann: Emissary, web: TestWebProcess) -> None:
    single = ann.scrape(web.host_url(2, "/small?single"))["id"]
    batch = begin(ann, [web.host_url(2, "/small?a"), web.host_url(3, "/small?b"), web.url("closed", "/prices")])
    ended(ann, batch)
    of_batch = _listed(ann, f"batch={batch}")
    assert [each["url"].rpartition("?")[2] for each in of_batch][1:] == ["b", "a"]
    assert {each["batch"] for each in of_batch} == {batch}
    assert [each["url"] for each in _listed(ann, "status=refused")] == [web.url("closed", "/prices")]
    host = urlsplit(web.host_url(2, "/")).netloc
    assert [each["id"] for each in _listed(ann, f"host={host}")] == [of_batch[2]["id"], single]
    assert _listed(ann, f"host={host}&status=failed") == []


def test_pages_of_them_overlap_nowhere(ann: Emissary, web: TestWebProcess) -> None:
    names = [ann.submit(web.host_url(2, f"/small?{n}")) for n in range(5)]
    found, after = [], ""
    while True:
        page = ann.get(f"/v1/jobs?limit=2&after={after}").json()
        found += [each["id"] for each in page["data"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert found == names[::-1]


def test_nobody_sees_another_s(server: Emissary, ann: Emissary, web: TestWebProcess) -> None:
    batch = begin(server, [web.host_url(2, "/small?mine")])
    assert _listed(ann) == _listed(ann, f"batch={batch}") == []
    assert len(_listed(server, f"batch={batch}")) == 1


@pytest.mark.parametrize("query", ["after=job_1", "after=bat_00000000000000000000000000"])
def test_a_cursor_that_is_none_is_refused(server: Emissary, query: str) -> None:
    answer = server.get(f"/v1/jobs?{query}")
    assert (answer.status, answer.json()["code"]) == (400, "invalid_cursor")
