"""Documents by their own names, and the exchanges that they were made from."""

from collections.abc import Callable

from batching import begin, ended, results
from served import Emissary
from warcs import both
from watching import as_another_account

from emissary.testing.web import TestWebProcess


def test_a_document_is_found_by_its_own_name(server: Emissary, web: TestWebProcess) -> None:
    scraped = server.scrape(web.host_url(1, "/small"), formats=["markdown", "links"])
    found = server.get(f"/v1/documents/{scraped['document']['id']}")
    assert (found.status, found.kind, found.json()) == (200, "application/json", scraped["document"])


def test_so_is_one_of_a_batch(server: Emissary, web: TestWebProcess) -> None:
    batch = begin(server, [web.host_url(1, "/small?of-a-batch")])
    ended(server, batch)
    (page,) = results(server, batch)
    assert server.get(f"/v1/documents/{page['document']['id']}").json() == page["document"]


def test_the_capture_of_a_document_is_the_exchange_as_two_readers_see_it(server: Emissary, web: TestWebProcess) -> None:
    scraped = server.scrape(web.host_url(1, "/small?captured"), formats=["rawHtml"])
    found = server.get(f"/v1/documents/{scraped['document']['id']}/capture")
    assert (found.status, found.kind) == (200, "application/warc")
    response, request, metadata = both(found.body)
    assert [each.kind for each in (response, request, metadata)] == ["response", "request", "metadata"]
    assert response.headers["warc-target-uri"] == scraped["document"]["url"]
    assert response.content.decode() == scraped["document"]["rawHtml"]


def test_where_nothing_was_captured_there_is_none(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_CAPTURES="false")
    document = server.scrape(web.host_url(1, "/small"))["document"]["id"]
    assert server.get(f"/v1/documents/{document}").status == 200
    answer = server.get(f"/v1/documents/{document}/capture")
    assert (answer.status, answer.json()["code"]) == (404, "not_found")


def test_what_left_no_document_has_none(server: Emissary, web: TestWebProcess) -> None:
    refused = server.scrape(web.url("closed", "/prices"))
    waiting = server.submit(web.url("trouble", "/hang"))
    for job in (refused["id"], waiting):
        for path in ("", "/capture"):
            answer = server.get(f"/v1/documents/doc_{job.removeprefix('job_')}{path}")
            assert (answer.status, answer.json()["code"]) == (404, "not_found")
    server.delete(f"/v1/jobs/{waiting}")


def test_another_account_s_document_and_a_job_s_own_name_lead_nowhere(server: Emissary, web: TestWebProcess) -> None:
    scraped = server.scrape(web.host_url(1, "/small"))
    other = as_another_account(server, "documents")
    for side, name in ((other, scraped["document"]["id"]), (server, scraped["id"]), (server, "doc_nothing")):
        for path in ("", "/capture"):
            assert side.get(f"/v1/documents/{name}{path}").status == 404
