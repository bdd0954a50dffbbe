"""Pages through the API: what comes back for each thing that a site can do."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from served import Emissary, asked

from emissary import __version__
from emissary.compose import the_clock
from emissary.testing.web import TestWebProcess
from emissary.testing.web.pages.goods import product

_ALL = ["markdown", "html", "rawHtml", "text", "links", "images", "metadata", "structured", "fields"]
_FIELDS = {
    "name": {"css": "h1", "required": True},
    "price": {"css": [".nothing", "[itemprop=price]"], "attr": "content", "type": "number"},
    "sku": {"css": "[itemprop=sku]"},
    "specs": {"css": "table.specs tr", "list": {"what": {"css": "th"}, "value": {"css": "td"}}},
    "nowhere": {"css": ".nowhere"},
}


def test_a_product_comes_back_in_every_format(server: Emissary, web: TestWebProcess) -> None:
    url, sold = web.url("shop", "/product/7"), product(7)
    answer = server.scrape(url, formats=_ALL, fields=_FIELDS)
    assert answer["status"] == "completed"
    assert answer["outcome"] == {"kind": "page", "code": "ok", "httpStatus": 200, "retryAt": None, "detail": None}
    assert answer["creditsUsed"] == 1
    document = answer["document"]
    assert document["url"] == document["sourceUrl"] == url
    assert sold.name in document["title"]
    assert document["language"] == "en"
    assert f"# {sold.name}" in document["markdown"]
    assert sold.name in document["text"]
    assert "<" not in document["text"]
    assert document["rawHtml"].startswith("<!doctype html>")
    assert "<nav" not in document["html"]
    assert web.url("shop", "/listing") in {link["url"] for link in document["links"]}
    assert all(image["url"].startswith(web.url("shop", "/img/")) for image in document["images"])
    assert document["metadata"]["title"] == document["title"]
    assert document["structured"]["jsonLd"][0]["sku"] == sold.sku
    assert document["structured"]["openGraph"]


def test_fields_hold_the_values_of_the_page(server: Emissary, web: TestWebProcess) -> None:
    sold = product(7)
    fields = server.scrape(web.url("shop", "/product/7"), fields=_FIELDS)["document"]["fields"]
    assert fields["name"] == sold.name
    assert fields["price"] == float(sold.price)
    assert fields["sku"] == sold.sku
    assert fields["nowhere"] is None
    assert {"what": "Brand", "value": sold.brand} in fields["specs"]


def test_only_what_was_asked_for_comes_back(server: Emissary, web: TestWebProcess) -> None:
    document = server.scrape(web.url("shop", "/product/7"), formats=["text"])["document"]
    assert set(document) == {"id", "url", "sourceUrl", "title", "language", "text"}


def test_navigation_is_kept_on_request(server: Emissary, web: TestWebProcess) -> None:
    url = web.url("shop", "/product/7")
    main = server.scrape(url)["document"]["markdown"]
    whole = server.scrape(url, onlyMainContent=False)["document"]["markdown"]
    assert len(whole) > len(main)


def test_a_required_field_that_is_not_there_fails_the_job_and_is_named(server: Emissary, web: TestWebProcess) -> None:
    answer = server.scrape(web.url("shop", "/product/7"), fields={"gone": {"css": ".gone", "required": True}})
    assert answer["status"] == "failed"
    assert answer["outcome"]["code"] == "missing_field"
    assert "gone" in answer["outcome"]["detail"]
    assert answer["creditsUsed"] == 0


def test_the_receipt_says_who_asked_under_which_rule_and_what_came(server: Emissary, web: TestWebProcess) -> None:
    receipt = server.scrape(web.url("shop", "/product/4711"))["receipt"]
    assert receipt["id"].startswith("rec_")
    assert receipt["agent"].startswith(f"Emissary/{__version__} (+")
    assert receipt["robots"]["rule"] == "Allow: /"
    assert len(receipt["robots"]["sha256"]) == 64
    assert receipt["redirects"] == []
    assert receipt["address"] == "127.0.0.1"
    assert receipt["bytes"] > 20_000
    assert len(receipt["sha256"]) == 64
    assert receipt["etag"].startswith('"p4711-')
    assert receipt["timings"]["totalMs"] >= receipt["timings"]["firstByteMs"] > 0
    assert (receipt["engine"], receipt["egress"], receipt["cache"]) == ("http", "direct", "miss")


def test_the_site_sees_our_name_and_where_to_reach_us(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_AGENT_URL="https://reader.example/bot")
    answer = server.scrape(web.url("trouble", "/headers"), formats=["rawHtml"])
    seen = json.loads(answer["document"]["rawHtml"])["headers"]
    assert seen["user-agent"] == f"Emissary/{__version__} (+https://reader.example/bot)"
    assert answer["receipt"]["agent"] == seen["user-agent"]
    assert "cookie" not in seen


@pytest.mark.parametrize(
    ("path", "status", "kind", "code", "http_status"),
    [
        ("/status/404", "completed", "page", "not_found", 404),
        ("/status/410", "completed", "page", "not_found", 410),
        ("/status/401", "refused", "refusal", "unauthorized", 401),
        ("/status/403", "refused", "refusal", "forbidden", 403),
        ("/status/451", "refused", "refusal", "legal", 451),
        ("/status/500", "failed", "unreachable", "server_error", 500),
        ("/flaky/never/1000", "failed", "unreachable", "server_error", 503),
        ("/cut", "failed", "unreachable", "connect", None),
        ("/cut?framing=chunked", "failed", "unreachable", "connect", None),
        ("/reset", "failed", "unreachable", "connect", None),
        ("/bigheaders?kib=80", "failed", "unreachable", "bad_response", None),
        ("/huge?mib=20", "failed", "invalid", "too_large", None),
        ("/bomb/gzip", "failed", "invalid", "too_large", None),
        ("/bomb/br", "failed", "invalid", "too_large", None),
        ("/bomb/zstd", "failed", "invalid", "too_large", None),
        ("/binary", "failed", "invalid", "bad_content", 200),
        ("/pdf", "failed", "invalid", "bad_content", 200),
    ],
)
def test_whatever_the_site_does_the_call_works_and_says_what_happened(
    *, server: Emissary, web: TestWebProcess, path: str, status: str, kind: str, code: str, http_status: int | None
) -> None:
    answer = server.scrape(web.url("trouble", path))
    outcome = answer["outcome"]
    assert (answer["status"], outcome["kind"], outcome["code"]) == (status, kind, code)
    assert outcome["httpStatus"] == http_status
    assert outcome["detail"]
    assert (answer["document"] is not None) == (kind == "page")
    assert answer["receipt"]["agent"].startswith("Emissary/")
    assert answer["creditsUsed"] == (1 if kind == "page" else 0)


def test_nobody_at_home_is_a_failed_connection(server: Emissary, web: TestWebProcess) -> None:
    answer = server.scrape(f"http://127.9.9.9:{web.port}/")
    assert (answer["status"], answer["outcome"]["code"]) == ("failed", "connect")


def test_a_site_that_never_answers_ends_as_a_timeout(server: Emissary, web: TestWebProcess) -> None:
    # The site's silence and the caller's patience end at about the same time: either may come first.
    answer = server.post("/v1/scrape", {"url": web.url("trouble", "/hang"), "timeoutMs": 400})
    assert answer.status in {200, 202}
    job = server.finished(answer.json()["id"])
    assert (job["status"], job["outcome"]["kind"], job["outcome"]["code"]) == ("failed", "unreachable", "timeout")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "deflate-raw", "br", "zstd"])
def test_packed_pages_are_unpacked(server: Emissary, web: TestWebProcess, coding: str) -> None:
    answer = server.scrape(web.url("trouble", f"/encoded/{coding}"), fields={"name": {"css": "h1"}})
    assert answer["document"]["fields"] == {"name": product(1).name}


@pytest.mark.parametrize(
    ("path", "title", "words"),
    [
        ("windows-1251?declared=header", "Паром в Солтмире", "Билеты продаются на причале"),
        ("windows-1251?declared=meta", "Паром в Солтмире", "Билеты продаются на причале"),
        ("koi8-r?declared=none", "Паром в Солтмире", "Билеты продаются на причале"),
        ("shift_jis?declared=meta", "港の時刻表", "島への船は週に五回出ます"),
        ("euc-jp?declared=header", "港の時刻表", "島への船は週に五回出ます"),
        ("utf-16?declared=bom", "港の時刻表", "島への船は週に五回出ます"),
        ("iso-8859-2?declared=meta", "Jízdní řád", "Žluté lístky"),
        ("windows-1252?declared=header", "Horaires du bac", "près de l’ancienne douane"),
        ("utf-8?declared=none", "Horaires du bac", "billets à 12 €, près de l’ancienne douane"),
    ],
)
def test_pages_in_other_charsets_are_read_right(
    *, server: Emissary, web: TestWebProcess, path: str, title: str, words: str
) -> None:
    document = server.scrape(web.url("trouble", f"/charset/{path}"), formats=["text"])["document"]
    assert document["title"] == title
    assert words in document["text"]


def test_broken_markup_is_read_all_the_same(server: Emissary, web: TestWebProcess) -> None:
    answer = server.scrape(web.url("trouble", "/badhtml"))
    assert answer["status"] == "completed"
    assert answer["document"]["title"].startswith("Clearance & more")


def test_a_redirect_on_the_same_host_is_followed_and_told(server: Emissary, web: TestWebProcess) -> None:
    answer = server.scrape(web.url("moved", "/once"))
    assert answer["document"]["url"] == web.url("moved", "/landed")
    assert answer["document"]["sourceUrl"] == web.url("moved", "/once")
    hop = {"url": web.url("moved", "/once"), "status": 301, "location": web.url("moved", "/landed")}
    assert answer["receipt"]["redirects"] == [hop]


def test_a_redirect_to_another_host_goes_by_that_hosts_own_rules(server: Emissary, web: TestWebProcess) -> None:
    answer = server.scrape(web.url("moved", "/to/closed/open/house"))
    assert answer["status"] == "completed"
    assert answer["document"]["url"] == web.url("closed", "/open/house")
    assert answer["receipt"]["robots"]["rule"] == "Allow: /open/"
    assert [hop["location"] for hop in answer["receipt"]["redirects"]] == [web.url("closed", "/open/house")]


def test_a_redirect_into_a_closed_place_is_refused_there(server: Emissary, web: TestWebProcess) -> None:
    answer = server.scrape(web.url("moved", "/to/closed/prices"))
    assert (answer["status"], answer["outcome"]["code"]) == ("refused", "robots")
    assert len(answer["receipt"]["redirects"]) == 1


def test_a_way_through_several_hosts_keeps_all_its_hops(server: Emissary, web: TestWebProcess) -> None:
    answer = server.scrape(web.url("moved", "/to/moved/to/3/small"))
    locations = [hop["location"] for hop in answer["receipt"]["redirects"]]
    assert locations == [web.url("moved", "/to/3/small"), web.host_url(3, "/small")]
    assert answer["receipt"]["address"] == web.hosts[2]


@pytest.mark.parametrize(("path", "hops"), [("/loop", 5), ("/chain/6", 5)])
def test_redirects_without_end_end(server: Emissary, web: TestWebProcess, path: str, hops: int) -> None:
    answer = server.scrape(web.url("moved", path))
    assert (answer["status"], answer["outcome"]["code"]) == ("failed", "too_many_redirects")
    assert len(answer["receipt"]["redirects"]) == hops


def test_a_redirect_to_another_scheme_is_not_followed(server: Emissary, web: TestWebProcess) -> None:
    answer = server.scrape(web.url("moved", "/scheme"))
    assert (answer["status"], answer["outcome"]["code"]) == ("failed", "bad_response")
    assert "ftp" in answer["outcome"]["detail"]


@pytest.mark.parametrize(
    ("site", "path", "rule"),
    [
        ("closed", "/prices", "Disallow: /"),
        ("shop", "/private/till", "Disallow: /private/"),
        ("shop", "/checkout", "Disallow: /checkout"),
        ("movedrobots", "/private/x", "Disallow: /private/"),
        ("bigrobots", "/early/x", "Disallow: /early/"),
        ("brokenrobots", "/", "robots.txt answered 503"),
        ("lentrobots", "/prices", "Disallow: /"),
        ("farrobots", "/prices", "Disallow: /"),
    ],
)
def test_robots_txt_is_obeyed_and_the_rule_that_decided_is_named(
    *, server: Emissary, web: TestWebProcess, site: str, path: str, rule: str
) -> None:
    url = web.url(site, path)
    server.scrape(url)
    before = asked(web, url)
    answer = server.scrape(url)
    assert (answer["status"], answer["outcome"]["kind"], answer["outcome"]["code"]) == ("refused", "refusal", "robots")
    assert answer["outcome"]["detail"].endswith(rule)
    assert answer["receipt"]["robots"]["rule"] == rule
    assert answer["document"] is None
    assert asked(web, url) == before, "the rules are known, and the page may not be asked for"


@pytest.mark.parametrize(
    ("site", "path"),
    [
        ("closed", "/open/x"),
        ("norobots", "/"),
        ("movedrobots", "/public"),
        ("lentrobots", "/open/x"),
        ("farrobots", "/open/x"),
        ("ringrobots", "/"),
    ],
)
def test_what_robots_txt_does_not_forbid_is_read(server: Emissary, web: TestWebProcess, site: str, path: str) -> None:
    assert server.scrape(web.url(site, path))["status"] == "completed"


def test_an_address_that_is_not_public_is_not_even_asked(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start(EMISSARY_ALLOW_NETWORKS="")
    for url in (web.url("shop", "/"), f"http://localhost:{web.port}/", f"http://[::ffff:127.0.0.1]:{web.port}/"):
        before = web.seen()
        answer = server.scrape(url)
        assert (answer["status"], answer["outcome"]["kind"], answer["outcome"]["code"]) == (
            "failed",
            "invalid",
            "guard",
        )
        after = web.seen()
        del before[web.addresses.sites["log"]], after[web.addresses.sites["log"]]
        assert after == before


def test_a_redirect_to_an_address_that_is_not_public_is_not_followed(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server = start(EMISSARY_ALLOW_NETWORKS=f"{web.addresses.sites['moved']}/32")
    before = asked(web, web.url("news"))
    answer = server.scrape(web.url("moved", "/to/news/"))
    assert (answer["status"], answer["outcome"]["code"]) == ("failed", "guard")
    assert asked(web, web.url("news")) == before


def test_a_site_that_wants_us_back_after_the_time_out_has_refused(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server, url = start(), web.url("trouble", "/429?after=3600")
    answer = server.scrape(url, timeoutMs=3000)
    assert (answer["status"], answer["outcome"]["code"], answer["outcome"]["httpStatus"]) == (
        "refused",
        "rate_limited",
        429,
    )
    back = datetime.fromisoformat(answer["outcome"]["retryAt"])
    assert timedelta(minutes=59) < back - the_clock().now() <= timedelta(hours=1)
    # The site has asked for peace, and this goes for all of it.
    before = asked(web, url)
    later = server.post("/v1/scrape", {"url": web.url("trouble", "/"), "timeoutMs": 300})
    assert later.status == 202
    assert later.json()["whyWaiting"]["reason"] == "retry_after"
    assert datetime.fromisoformat(later.json()["whyWaiting"]["until"]) > back - timedelta(seconds=1)
    assert asked(web, url) == before


@pytest.mark.parametrize("path", ["/429?after=1", "/429-date?after=1", "/503?after=1"])
def test_a_site_that_wants_us_back_in_time_is_asked_again_but_not_for_ever(
    start: Callable[..., Emissary], web: TestWebProcess, path: str
) -> None:
    server = start()
    server.scrape(web.url("trouble", "/"))
    web.clear()
    answer = server.scrape(web.url("trouble", path), timeoutMs=10_000)
    assert answer["status"] == "refused"
    log = web.seen()[web.addresses.sites["trouble"]]
    assert log["requests"] == 3
    if "date" not in path:
        assert log["smallestGap"] >= 0.99


def test_a_passing_failure_is_tried_again_when_nobody_waits(server: Emissary, web: TestWebProcess) -> None:
    job = server.finished(server.submit(web.host_url(1, "/small")))
    assert job["attempts"] == 1
    flaky = server.finished(server.submit(web.url("trouble", "/flaky/twice/1")))
    assert (flaky["status"], flaky["attempts"]) == ("completed", 2)
    assert flaky["document"]["title"] == "Here after all"


def test_a_robots_txt_that_wants_patience_gets_it_for_the_whole_site(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server, url = start(), web.url("busyrobots", "/")
    answer = server.scrape(url)
    assert (answer["status"], answer["outcome"]["code"]) == ("refused", "robots")
    back = datetime.fromisoformat(answer["outcome"]["retryAt"])
    assert timedelta(minutes=59) < back - the_clock().now() <= timedelta(hours=1)
    before = asked(web, url)
    later = server.post("/v1/scrape", {"url": url, "timeoutMs": 300})
    assert (later.status, later.json()["whyWaiting"]["reason"]) == (202, "retry_after")
    assert asked(web, url) == before


def test_robots_are_asked_for_once(start: Callable[..., Emissary], web: TestWebProcess) -> None:
    server = start()
    web.clear()
    for page in range(5):
        server.scrape(web.host_url(5, f"/page/{page}"))
    assert asked(web, web.host_url(5)) == 6


def test_pages_of_one_host_are_read_one_after_another_at_its_pace(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server = start(EMISSARY_HOST_GAP="0.3")
    web.clear()
    for job in [server.submit(web.host_url(6, f"/page/{page}")) for page in range(4)]:
        assert server.finished(job)["status"] == "completed"
    log = web.seen()[web.hosts[5]]
    assert log["maxConcurrency"] == 1
    assert log["smallestGap"] >= 0.29
