"""The published clients of Firecrawl do their work here, unmodified: the same tests for both."""

from typing import Any

import pytest
from batching import paths_asked
from driven import ClientFailed, Driven
from served import asked, until

from emissary.testing.web import TestWebProcess


def _completed(client: Driven, batch: str) -> dict[str, Any] | None:
    found: dict[str, Any] = client.call("getBatchScrapeStatus", batch)
    return found if found["status"] == "completed" else None


def test_a_page_is_scraped_in_the_formats_that_were_asked_for(client: Driven, web: TestWebProcess) -> None:
    url = web.url("shop", "/product/7")
    page = client.call("scrape", url, formats=["markdown", "html", "rawHtml", "links"])
    about = page["metadata"]
    assert (about["sourceurl"], about["url"], about["statuscode"]) == (url, url, 200)
    assert about["title"]
    assert "#" in page["markdown"]
    assert page["rawhtml"].lower().startswith("<!doctype html")
    assert len(page["html"]) < len(page["rawhtml"])
    assert web.url("shop", "/listing?category=kitchen") in page["links"]


def test_without_wishes_a_page_comes_as_markdown_only(client: Driven, web: TestWebProcess) -> None:
    page = client.call("scrape", web.url("shop", "/product/8"))
    assert page["markdown"]
    assert not {"html", "rawhtml", "links"} & {name for name, value in page.items() if value is not None}


def test_what_is_not_done_is_said_where_the_client_shows_it(client: Driven, web: TestWebProcess) -> None:
    url = web.url("shop", "/product/9")
    page = client.call("scrape", url, formats=["markdown", "summary"], skipTlsVerification=True, proxy="stealth")
    assert page["markdown"]
    for name in ("summary", "skipTlsVerification", "proxy"):
        assert name in page["warning"]


def test_a_page_that_is_refused_is_a_document_without_content(client: Driven, web: TestWebProcess) -> None:
    page = client.call("scrape", web.url("closed", "/hidden"))
    assert page.get("markdown") is None
    assert "refused (robots)" in page["warning"]
    assert paths_asked(web, web.url("closed")) == []


def test_a_page_that_cannot_be_reached_is_an_error_by_the_name_that_clients_know(client: Driven) -> None:
    with pytest.raises(ClientFailed) as failed:
        client.call("scrape", "http://nobody.invalid/")
    assert failed.value.code == "SCRAPE_DNS_RESOLUTION_ERROR"


def test_a_page_that_does_not_come_in_time_is_a_timeout(client: Driven, web: TestWebProcess) -> None:
    with pytest.raises(ClientFailed) as failed:
        client.call("scrape", web.url("trouble", "/hang"), timeout=1000)
    assert (failed.value.status, failed.value.code) == (408, "SCRAPE_TIMEOUT")


def test_a_batch_is_read_and_comes_back_whole_over_several_pages(client: Driven, web: TestWebProcess) -> None:
    urls = [web.host_url(1 + n % 8, f"/small?{n}") for n in range(130)]
    batch = client.call("batchScrape", urls, options={"formats": ["markdown"]}, pollInterval=1)
    assert (batch["status"], batch["total"], batch["completed"]) == ("completed", 130, 130)
    assert sorted(page["metadata"]["sourceurl"] for page in batch["data"]) == sorted(urls)
    assert all(page["markdown"] for page in batch["data"])


def test_what_failed_of_a_batch_is_told_with_what_robots_closed(client: Driven, web: TestWebProcess) -> None:
    good, closed, denied = web.host_url(1, "/small"), web.url("closed", "/hidden"), web.url("walls", "/denied")
    begun = client.call("startBatchScrape", [good, closed, "http://[", denied], ignoreInvalidURLs=True)
    assert begun["invalidurls"] == ["http://["]
    batch = until(lambda: _completed(client, begun["id"]))
    assert [page["metadata"]["url"] for page in batch["data"]] == [good]
    told = client.call("getBatchScrapeErrors", begun["id"])
    assert told["robotsblocked"] == [closed]
    assert [(each["url"], each["code"]) for each in told["errors"]] == [(denied, "forbidden")]


def test_a_batch_is_cancelled(client: Driven, web: TestWebProcess) -> None:
    slow = [web.url("news", f"/article/a-{n}") for n in range(50)]  # this site asks for a Crawl-delay
    begun = client.call("startBatchScrape", slow)
    assert client.call("getBatchScrapeStatus", begun["id"])["status"] == "scraping"
    assert client.call("cancelBatchScrape", begun["id"]) is True
    assert client.call("getBatchScrapeStatus", begun["id"])["status"] == "cancelled"


def test_a_site_is_crawled_to_its_limit(client: Driven, web: TestWebProcess) -> None:
    crawl = client.call("crawl", web.host_url(5), limit=6, sitemap="skip", pollInterval=1)
    assert (crawl["status"], crawl["total"], crawl["completed"]) == ("completed", 6, 6)
    found = [page["metadata"]["sourceurl"] for page in crawl["data"]]
    assert len(set(found)) == 6
    assert all(page["markdown"] for page in crawl["data"])


def test_a_crawl_stays_below_its_path_unless_the_whole_domain_is_wanted(client: Driven, web: TestWebProcess) -> None:
    below = client.call("crawl", web.host_url(6, "/page/1"), limit=30, sitemap="skip", pollInterval=1)
    paths = {page["metadata"]["sourceurl"].removeprefix(web.host_url(6, "")) for page in below["data"]}
    assert "/page/1" in paths
    assert all(path.startswith("/page/1") for path in paths)
    whole = client.call(
        "crawl", web.host_url(6, "/page/1"), limit=30, sitemap="skip", crawlEntireDomain=True, pollInterval=1
    )
    assert len(whole["data"]) == 30


def test_a_crawl_is_listed_while_it_goes_on_and_cancelled(client: Driven, web: TestWebProcess) -> None:
    begun = client.call("startCrawl", web.url("news"), limit=40)
    assert begun["url"].endswith(f"/v2/crawl/{begun['id']}")
    active = {each["id"]: each["url"] for each in client.call("getActiveCrawls")["crawls"]}
    assert active[begun["id"]] == web.url("news")
    assert client.call("cancelCrawl", begun["id"]) is True
    assert client.call("getCrawlStatus", begun["id"])["status"] == "cancelled"
    assert begun["id"] not in {each["id"] for each in client.call("getActiveCrawls")["crawls"]}
    assert client.call("getCrawlErrors", begun["id"])["robotsblocked"] == []


def test_the_pages_of_a_site_are_listed_without_being_read(client: Driven, web: TestWebProcess) -> None:
    before = asked(web, web.url("shop"))
    links = client.call("map", web.url("shop"), limit=20)["links"]
    assert len({link["url"] for link in links}) == len(links) == 20
    assert all(link["url"].startswith(web.url("shop")) and "?" not in link["url"] for link in links)
    assert asked(web, web.url("shop")) - before < 10


def test_credits_and_queue_are_told(client: Driven, web: TestWebProcess) -> None:
    assert client.call("getCreditUsage")["remainingcredits"] == 2**53 - 1
    batch = client.call("startBatchScrape", [web.url("news", f"/article/b-{n}") for n in range(30)])["id"]
    queue = client.call("getQueueStatus")
    assert queue["jobsinqueue"] == queue["activejobsinqueue"] + queue["waitingjobsinqueue"] > 20
    assert client.call("cancelBatchScrape", batch)


def test_nobody_is_asked_in_disguise(client: Driven, web: TestWebProcess) -> None:
    with pytest.raises(ClientFailed, match="telephone") as failed:
        client.call("scrape", web.url("shop"), mobile=True)
    assert failed.value.status == 400


def test_an_id_that_never_was_is_not_found(client: Driven) -> None:
    with pytest.raises(ClientFailed) as failed:
        client.call("getCrawlStatus", "crl_" + 26 * "0")
    assert failed.value.status == 404
