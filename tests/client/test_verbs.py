"""Every verb does the same over a server and in this process, and answers with types."""

import inspect
import json
from datetime import timedelta
from itertools import islice
from pathlib import Path

import pytest
from served import Emissary as Server
from served import asked

import emissary.client
from emissary.client import ApiError, AsyncEmissary, BadRequest, Emissary, EmissaryError, SettingsError
from emissary.client.answers import BatchStatus
from emissary.compose import the_clock
from emissary.testing.web import TestWebProcess
from emissary.testing.web.pages.goods import product


def test_a_page_comes_as_types(client: Emissary, web: TestWebProcess) -> None:
    fields = {"price": {"css": "[itemprop=price]", "attr": "content", "type": "number"}}
    page = client.scrape(web.url("shop", "/product/1"), formats=["markdown", "links"], fields=fields)
    assert (page.status, page.has_ended, page.credits_used) == ("completed", True, 1)
    assert page.outcome is not None
    assert page.outcome.code == "ok"
    assert page.document is not None
    assert product(1).name in (page.document.markdown or "")
    assert page.document.links
    assert page.document.fields == {"price": float(product(1).price)}
    assert page.receipt is not None
    assert client.receipt(page.receipt["id"])["sha256"] == page.receipt["sha256"]


def test_a_document_and_what_it_was_made_from_are_there_by_its_id(client: Emissary, web: TestWebProcess) -> None:
    document = client.scrape(web.host_url(1, "/small?kept"), formats=["text"]).document
    assert document is not None
    assert client.document(document.id) == document
    capture = client.capture(document.id)
    assert capture.startswith(b"WARC/1.1")
    assert b"A small page" in capture
    with pytest.raises(ApiError) as caught:
        client.capture("doc_1")
    assert (caught.value.status, caught.value.code) == (404, "not_found")


def test_a_refusal_is_an_answer_and_no_exception(client: Emissary, web: TestWebProcess) -> None:
    page = client.scrape(web.url("closed", "/prices"))
    assert page.status == "refused"
    assert page.outcome is not None
    assert (page.outcome.kind, page.outcome.code) == ("refusal", "robots")
    assert page.document is None


def test_a_job_is_waited_for_and_can_no_longer_be_cancelled(client: Emissary, web: TestWebProcess) -> None:
    begun = client.submit(web.host_url(1, "/small"), formats=["text"], metadata={"mine": 7})
    job = client.wait_for_job(begun.id)
    assert (job.id, job.status, job.kind) == (begun.id, "completed", "scrape.http")
    assert job.document is not None
    assert "A small page" in (job.document.text or "")
    with pytest.raises(ApiError, match="ended") as caught:
        client.cancel_job(begun.id)
    assert (caught.value.status, caught.value.code, caught.value.is_callers) == (409, "job_finished", True)


def test_jobs_are_listed_by_what_they_are(client: Emissary, web: TestWebProcess) -> None:
    single = client.scrape(web.host_url(1, "/small?listed")).id
    batch = client.batch([web.host_url(2, "/small"), web.url("closed", "/listed")]).id
    client.wait(batch)
    refused, read = client.jobs(batch=batch)
    assert (refused.url, refused.status, refused.batch) == (web.url("closed", "/listed"), "refused", batch)
    assert refused.outcome is not None
    assert refused.outcome.code == "robots"
    assert [each.id for each in client.jobs("refused", batch=batch)] == [refused.id]
    assert [each.id for each in client.jobs(batch=batch, host=read.host)] == [read.id]
    assert list(client.jobs("failed", batch=batch)) == []
    *newest, before = (each.id for each in islice(client.jobs(), 3))
    assert (set(newest), before) == ({refused.id, read.id}, single)


def test_a_batch_takes_what_comes_and_tells_how_far_it_is(client: Emissary, web: TestWebProcess) -> None:
    seen: list[BatchStatus] = []
    pages = (web.host_url(2, f"/page/{number}") for number in (1, 2, 2, 3))
    accepted = client.batch([*pages, "nonsense", web.url("closed", "/a")], formats=["text"], name="mine")
    assert (accepted.accepted, accepted.duplicates, accepted.invalid_count) == (4, 1, 1)
    assert [(fault.index, fault.code) for fault in accepted.invalid] == [(4, "invalid_url")]
    status = client.wait(accepted.id, progress=seen.append)
    assert (status.status, status.name, status.total) == ("completed", "mine", 4)
    assert (status.counts.completed, status.counts.refused, status.counts.ended) == (3, 1, 4)
    assert seen[-1] == status
    assert [item.url for item in client.errors(accepted.id)] == [web.url("closed", "/a")]
    assert [item.index for item in client.items(accepted.id)] == [0, 1, 2, 3]
    assert {item.index for item in client.items(accepted.id, "refused")} == {3}
    results = list(client.results(accepted.id))
    assert {result.index for result in results} == {0, 1, 2, 3}
    assert all((result.document is None) == (result.status == "refused") for result in results)
    assert [each.index for each in client.results(accepted.id, results[1].cursor)] == [
        each.index for each in results[2:]
    ]


def test_a_file_of_lines_may_have_urls_and_objects(client: Emissary, web: TestWebProcess, tmp_path: Path) -> None:
    file = tmp_path / "pages.txt"
    page = {"url": web.host_url(3, "/b"), "metadata": {"n": 1}}
    file.write_text(f"{web.host_url(3, '/a')}\n\n{json.dumps(page)}\n")
    accepted = client.batch(file, formats=["text"])
    client.wait(accepted.id)
    assert [item.metadata for item in client.items(accepted.id)] == [None, {"n": 1}]
    with pytest.raises(BadRequest, match="nowhere"):
        client.batch(tmp_path / "nowhere")
    with pytest.raises(BadRequest, match="list of URLs"):
        client.batch("http://127.0.0.1/")


def test_a_batch_is_steered(client: Emissary, web: TestWebProcess) -> None:
    accepted = client.batch([web.url("trouble", "/status/500?a"), web.host_url(4, "/x")])
    assert client.pause(accepted.id).status == "paused"
    assert client.resume(accepted.id).status == "running"
    assert client.cancel(accepted.id).status == "cancelled"
    assert client.wait(accepted.id).counts.ended == 2
    with pytest.raises(ApiError) as caught:
        client.resume(accepted.id)
    assert caught.value.code == "batch_finished"


def test_what_was_refused_is_read_once_more_if_that_is_wanted(client: Emissary, web: TestWebProcess) -> None:
    accepted = client.batch([web.url("closed", "/b")])
    client.wait(accepted.id)
    assert client.retry(accepted.id).again == 0
    assert client.retry(accepted.id, "refused").again == 1
    assert client.wait(accepted.id).counts.refused == 1


def test_a_site_is_crawled_mapped_and_planned(client: Emissary, web: TestWebProcess) -> None:
    begun = client.crawl(web.url("news", "/"), limit=3, formats=["text"])
    assert client.wait(begun.id).status == "completed"
    assert sum(each.part == "page" and each.status == "completed" for each in client.results(begun.id)) == 3
    site = client.map(web.url("news", "/"), limit=4)
    assert (site.complete, len(site.links)) == (False, 4)
    before = asked(web, web.url("news", "/"))
    plan = client.plan([web.host_url(5, "/a"), web.url("closed", "/prices")])
    assert (plan.urls, plan.refused_count, plan.refused[0].code, plan.credits) == (2, 1, "robots", 1)
    assert client.plan(url=web.url("news", "/"), limit=7).urls == 7
    assert asked(web, web.url("news", "/")) == before


def test_an_account_sees_what_it_used(client: Emissary, web: TestWebProcess) -> None:
    client.scrape(web.host_url(6, "/small"))
    account = client.account()
    assert account.usage is not None
    assert account.usage.jobs >= 1
    rows = {row.key: row for row in client.usage(by="kind")}
    assert rows["scrape.http"].credits >= 1


def test_a_list_is_read_on_page_by_page(far: Emissary, web: TestWebProcess) -> None:
    accepted = far.batch(f"{web.host_url(7)}/{number}" for number in range(1_050))
    assert sum(1 for _ in far.items(accepted.id)) == 1_050
    far.cancel(accepted.id)


@pytest.mark.parametrize("name", ["bat_nothing", "crl_nothing"])
def test_what_is_not_there_is_an_error_with_its_code(client: Emissary, name: str) -> None:
    with pytest.raises(ApiError) as caught:
        client.status(name)
    assert (caught.value.status, caught.value.code) == (404, "not_found")
    assert name in caught.value.detail


def test_what_is_no_batch_is_not_even_asked_for(client: Emissary) -> None:
    with pytest.raises(BadRequest, match="job_1"):
        client.status("job_1")


def test_every_error_of_the_client_is_its_own_to_import_and_is_documented() -> None:
    errors = [name for name in emissary.client.__all__ if name.endswith(("Error", "Unreachable", "Request"))]
    document = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
    for name in errors:
        assert issubclass(getattr(emissary.client, name), EmissaryError)
        assert f"`{name}`" in document
    assert set(errors) == {"ApiError", "BadRequest", "EmissaryError", "ServerUnreachable", "SettingsError"}


def test_a_fault_names_its_place(client: Emissary) -> None:
    with pytest.raises(ApiError) as caught:
        client.scrape("http://127.0.0.1/", colour="red")  # type: ignore[call-arg]
    assert (caught.value.status, caught.value.code) == (400, "unknown_field")
    assert caught.value.errors == [{"pointer": "/colour", "detail": "there is no such field"}]


def test_a_wrong_key_is_told_before_a_long_batch_was_sent(server: Server) -> None:
    numbers = iter(range(1_000_000))
    with Emissary(server.url, "em_wrong_key") as stranger, pytest.raises(ApiError) as caught:
        stranger.batch(f"http://127.0.0.1/{number}" for number in numbers)
    assert (caught.value.status, caught.value.code) == (401, "invalid_key")
    assert next(numbers, None) is not None


def test_url_and_key_are_taken_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMISSARY_URL", server.url)
    monkeypatch.setenv("EMISSARY_API_KEY", server.key)
    with Emissary() as client:
        assert client.account().id


def test_without_a_server_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMISSARY_URL", raising=False)
    with pytest.raises(SettingsError, match="EMISSARY_URL"):
        Emissary()
    for wrong in ("nonsense", "ftp://127.0.0.1/", "http://", "http://a:b@127.0.0.1/", "http://127.0.0.1:x/"):
        with pytest.raises(SettingsError, match="no address"):
            Emissary(wrong, "em_key")


def test_no_verb_is_missing_from_the_blocking_client() -> None:
    verbs = {name for name, _ in inspect.getmembers(AsyncEmissary, inspect.isfunction) if not name.startswith("_")}
    assert verbs - {"close", "open"} == {name for name in vars(Emissary) if not name.startswith("_")} - {
        "close",
        "open",
    }


def test_keys_are_made_listed_rotated_and_revoked(client: Emissary) -> None:
    ends = the_clock().now().replace(microsecond=0) + timedelta(days=90)
    made = client.create_key("pipeline", scopes=["read"], expires_at=ends)
    assert (made.name, made.scopes, made.live, made.expires_at) == ("pipeline", ["read"], True, ends)
    assert made.key.startswith(made.hint or "none")
    new = client.rotate_key(made.id, grace_seconds=0)
    assert new.key != made.key
    assert client.revoke_key(new.id).live is False
    listed = list(client.keys())
    assert {key.id: key.live for key in listed if key.name == "pipeline"} == {made.id: False, new.id: False}
    with pytest.raises(ApiError, match="there is no key key_1") as caught:
        client.revoke_key("key_1")
    assert caught.value.code == "not_found"


def test_a_key_that_is_made_with_nothing_said_reads_and_writes(client: Emissary) -> None:
    assert client.create_key("plain").scopes == ["read", "write"]
