"""The sites of the local web show what its table promises."""

import gzip
import json
from email.utils import parsedate_to_datetime

import aiohttp
import pytest
from web_visits import fetch, read_html, read_xml, visit

from emissary.testing.web import TestWeb

# The shop


def test_a_product_says_the_same_in_text_microdata_json_ld_and_open_graph() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for n in range(1, 41):
            url = web.url("shop", f"/product/{n}")
            status, _, body = await fetch(client, url)
            assert status == 200
            assert 20_000 <= len(body) <= 31_000
            page = read_html(body)
            product = json.loads(page.xpath("//script[@type='application/ld+json']")[0].text)
            (name,) = page.xpath("//h1")
            assert product["name"] == name.text == page.xpath("//meta[@property='og:title']/@content")[0]
            assert product["offers"]["price"] == page.xpath("//*[@itemprop='price']/@content")[0]
            assert product["offers"]["availability"] == page.xpath("//*[@itemprop='availability']/@href")[0]
            assert product["sku"] == page.xpath("//*[@itemprop='sku']")[0].text
            assert product["offers"]["url"] == url == page.xpath("//link[@rel='canonical']/@href")[0]
            digits = "".join(filter(str.isdigit, page.xpath("//*[@class='now']")[0].text))
            assert digits == product["offers"]["price"].replace(".", "")

    visit(told)


def test_products_differ_in_price_format_and_availability_and_are_the_same_each_time() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        bodies = [(await fetch(client, web.url("shop", f"/product/{n}")))[2] for n in range(1, 101)]
        prices = [read_html(body).xpath("//*[@class='now']")[0].text for body in bodies]
        formats = {
            "".join("0" if letter.isdigit() else letter for letter in price).replace("00", "0") for price in prices
        }
        assert {"€", "$", "£"} <= {letter for written in formats for letter in written}
        assert any(price.endswith(" €") and "," in price for price in prices)
        assert any(price.startswith("CHF") for price in prices)
        for state in (b"InStock", b"OutOfStock", b"PreOrder", b"LimitedAvailability"):
            assert any(b"https://schema.org/" + state in body for body in bodies)
        assert any(b"<del>" in body for body in bodies)
        assert (await fetch(client, web.url("shop", "/product/5")))[2] == bodies[4]

    visit(told)


def test_a_product_that_has_not_changed_is_answered_with_304() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        url = web.url("shop", "/product/3")
        _, headers, _ = await fetch(client, url)
        etag, modified = headers["etag"], headers["last-modified"]
        day_before = "Sun, 04 Jan 2026 08:00:00 GMT"
        expected = {
            ("If-None-Match", etag): 304,
            ("If-None-Match", f'"other", W/{etag}'): 304,
            ("If-None-Match", "*"): 304,
            ("If-None-Match", '"other"'): 200,
            ("If-Modified-Since", modified): 304,
            ("If-Modified-Since", day_before): 200,
            ("If-Modified-Since", "yesterday"): 200,
        }
        for (name, value), status in expected.items():
            got, again, body = await fetch(client, url, headers={name: value})
            assert got == status, (name, value)
            assert again["etag"] == etag
            assert bool(body) == (status == 200)
        both = {"If-None-Match": '"other"', "If-Modified-Since": modified}
        assert (await fetch(client, url, headers=both))[0] == 200

    visit(told)


def test_the_listing_leads_through_a_hundred_products() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        found: list[str] = []
        path = "/listing?page=1"
        while path:
            page = read_html((await fetch(client, web.url("shop", path)))[2])
            found += page.xpath("//li[@class='tile']/a/@href")
            path = (page.xpath("//a[@rel='next']/@href") or [""])[0]
        assert found == [f"/product/{n}" for n in range(1, 101)]
        assert (await fetch(client, web.url("shop", "/listing?page=6")))[0] == 404

    visit(told)


def test_robots_names_the_sitemap_which_names_every_product() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        rules = (await fetch(client, web.url("shop", "/robots.txt")))[2].decode()
        assert "Disallow: /private/" in rules
        assert "Disallow: /checkout" in rules
        address = rules.split("Sitemap: ")[1].strip()
        maps = locations((await fetch(client, address))[2])
        plain = locations((await fetch(client, maps[0]))[2])
        packed = locations(gzip.decompress((await fetch(client, maps[1]))[2]))
        assert plain + packed == [web.url("shop", f"/product/{n}") for n in range(1, 101)]

    visit(told)


def locations(document: bytes) -> list[str]:
    return [str(each.text) for each in read_xml(document).iter("{*}loc")]


# The newspaper and the board


def test_the_feed_leads_to_articles_with_author_and_dates() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        feed = read_xml((await fetch(client, web.url("news", "/feed.xml")))[2])
        items = feed.findall(".//item")
        assert len(items) == 20
        for item in items:
            status, _, body = await fetch(client, str(item.findtext("link")))
            assert status == 200
            page = read_html(body)
            article = json.loads(page.xpath("//script[@type='application/ld+json']")[0].text)
            assert article["@type"] == "NewsArticle"
            assert article["headline"] == item.findtext("title") == page.xpath("//h1")[0].text
            assert article["author"][0]["name"] == page.xpath("//a[@rel='author']")[0].text
            assert parsedate_to_datetime(str(item.findtext("pubDate"))).isoformat() == article["datePublished"]
            assert len(page.xpath("//article/p")) >= 7

    visit(told)


def test_an_article_under_another_slug_is_sent_to_its_own() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        status, headers, _ = await fetch(client, web.url("news", "/article/whatever-7"))
        assert status == 301
        assert (await fetch(client, web.url("news", headers["location"])))[0] == 200
        assert (await fetch(client, web.url("news", "/article/whatever-99")))[0] == 404
        assert b"Crawl-delay: 0.2" in (await fetch(client, web.url("news", "/robots.txt")))[2]

    visit(told)


def test_the_app_is_empty_until_its_script_has_fetched_the_items() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        page = read_html((await fetch(client, web.url("app")))[2])
        assert page.xpath("//div[@id='root']")[0].text_content() == ""
        assert "/api/items.json" in page.xpath("//script")[0].text
        board = json.loads((await fetch(client, web.url("app", "/api/items.json")))[2])
        assert len(board["items"]) == 24

    visit(told)


# Redirects


def test_redirects_lead_where_they_say() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for path, hops in (("/once", 1), ("/relative", 1), ("/chain/5", 5), ("/code/308", 1), ("/code/303", 1)):
            async with client.get(web.url("moved", path)) as answer:
                assert str(answer.url) == web.url("moved", "/landed")
                assert len(answer.history) == hops
        async with client.get(web.url("moved", "/to/shop/listing?page=2")) as answer:
            assert str(answer.url) == web.url("shop", "/listing?page=2")
        async with client.get(web.url("moved", "/to/3/page/9")) as answer:
            assert str(answer.url) == web.host_url(3, "/page/9")
        with pytest.raises(aiohttp.TooManyRedirects):
            await client.get(web.url("moved", "/loop"))
        assert (await fetch(client, web.url("moved", "/scheme")))[1]["location"].startswith("ftp:")
        status, headers, _ = await fetch(client, web.url("moved", "/nowhere"))
        assert status == 302
        assert "location" not in headers
        for code in (301, 302, 303, 307, 308):
            assert (await fetch(client, web.url("moved", f"/code/{code}")))[0] == code

    visit(told)


# House rules


def test_each_site_has_its_own_kind_of_robots_txt() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        async def rules(site: str) -> tuple[int, dict[str, str], bytes]:
            return await fetch(client, web.url(site, "/robots.txt"), timeout=aiohttp.ClientTimeout(total=0.3))

        assert (await rules("closed"))[2] == b"User-agent: *\nDisallow: /\nAllow: /open/\n"
        assert (await rules("norobots"))[0] == 404
        assert (await rules("brokenrobots"))[0] == 503
        status, headers, _ = await rules("movedrobots")
        assert (status, headers["location"]) == (301, "/rules/robots.txt")
        big = (await rules("bigrobots"))[2]
        assert 600 * 1024 <= len(big) < 601 * 1024
        assert big.index(b"/early/") < 100
        assert big.index(b"/late/") > 599 * 1024
        with pytest.raises(TimeoutError):
            await rules("slowrobots")
        for site in ("closed", "norobots", "brokenrobots", "slowrobots", "movedrobots", "bigrobots"):
            assert (await fetch(client, web.url(site, "/open/1")))[0] == 200

    visit(told)


def test_some_robots_txt_are_elsewhere_want_patience_or_speak_of_use() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        async def rules(site: str) -> tuple[int, dict[str, str], bytes]:
            return await fetch(client, web.url(site, "/robots.txt"))

        for site, target in (
            ("lentrobots", web.url("closed", "/robots.txt")),
            ("farrobots", web.url("moved", "/to/lentrobots/robots.txt")),
            ("ringrobots", web.url("moved", "/to/ringrobots/robots.txt")),
        ):
            status, headers, _ = await rules(site)
            assert (status, headers["location"]) == (301, target)
        status, headers, _ = await rules("busyrobots")
        assert (status, headers["retry-after"]) == (503, "3600")
        assert b"Content-Usage: /free/ train-ai=y" in (await rules("usagerobots"))[2]

    visit(told)


# Webhooks


def test_a_webhook_is_remembered_with_its_body_and_headers() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        async with client.post(web.url("hooks", "/hook"), json={"a": 1}, headers={"webhook-id": "msg_1"}) as answer:
            assert answer.status == 204
        async with client.post(web.url("hooks", "/hook/503"), data=b"x" * 1_000_000) as answer:
            assert answer.status == 503
        async with client.get(web.url("hooks", "/hook")) as answer:
            assert answer.status == 405
        first, second, _ = web.seen.of("hooks")
        assert (first.method, json.loads(first.body), first.headers["webhook-id"]) == ("POST", {"a": 1}, "msg_1")
        assert len(second.body) == 1_000_000

    visit(told)


# Measuring


def test_numbered_hosts_serve_pages_of_the_promised_sizes() -> None:
    async def told(web: TestWeb, client: aiohttp.ClientSession) -> None:
        for k in range(60):
            assert 20_000 <= len((await fetch(client, web.host_url(1, f"/page/{k}")))[2]) < 22_000
            assert 30_000 <= len((await fetch(client, web.host_url(8, f"/page30/{k}")))[2]) < 32_000
        assert 1_900 < len((await fetch(client, web.host_url(2, "/small")))[2]) < 2_200
        assert (await fetch(client, web.host_url(1, "/page/x")))[0] == 404
        one, other = [(await fetch(client, web.host_url(n, "/page/1000003")))[2] for n in (1, 2)]
        assert one == other
        assert (await fetch(client, web.host_url(2, "/page/1?session=5")))[0] == 200

    visit(told)
