import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emissary.model.extraction import Extracted, Wanted
from emissary.model.ids import DocumentId
from emissary.model.pages import Format, Image, Link, Page, Reply, RobotsNote, Timings, WebUrl
from emissary.reading.charset import charset_of
from emissary.reading.extract import extract

PAGES = Path(__file__).parent.parent / "data" / "pages"
EVERYTHING = frozenset(Format)
HTML = "text/html; charset=utf-8"


def page_of(body: bytes | str, content_type: str = HTML) -> Page:
    raw = body.encode() if isinstance(body, str) else body
    return Page(
        url=WebUrl("https://shop.example/p/kiln", "https", "shop.example", 443, "/p/kiln"),
        reply=Reply(200, {}, raw, "192.0.2.1", "1.1", Timings(1.0, 2.0), len(raw)),
        robots=RobotsNote(None, None, datetime(2026, 1, 1, tzinfo=UTC)),
        content_type=content_type,
        charset=charset_of(raw, content_type),
    )


def read(body: bytes | str, *formats: Format, main: bool = True, content_type: str = HTML) -> Extracted:
    return extract(page_of(body, content_type), Wanted(frozenset(formats), only_main_content=main))


def stored(name: str, *formats: Format, main: bool = True) -> Extracted:
    return read((PAGES / f"{name}.html").read_bytes(), *formats, main=main)


# what is asked for, and nothing else


def test_only_what_was_asked_for_is_there() -> None:
    said = read("<html lang=de><title> Ein\n Titel </title><p>x", Format.TEXT)
    assert (said.title, said.language, said.text) == ("Ein Titel", "de", "x")
    assert said.html is said.markdown is said.raw_html is said.links is said.metadata is said.fields is None


def test_a_document_is_made_of_what_was_extracted() -> None:
    document = read("<title>T</title><p>x", Format.TEXT).to_document(DocumentId("doc_1"), "https://shop.example/")
    assert (document.id, document.url, document.title, document.text) == (
        "doc_1",
        "https://shop.example/p/kiln",
        "T",
        "x",
    )


def test_the_title_of_an_icon_is_not_the_title_of_the_page() -> None:
    assert read("<body><svg><title>Basket</title></svg><p>x").title is None


def test_raw_html_is_the_decoded_body_as_received() -> None:
    body = "<p>Привет<script>1</script>".encode("windows-1251")
    said = read(body, Format.RAW_HTML, Format.TEXT, content_type="text/html; charset=windows-1251")
    assert said.raw_html == "<p>Привет<script>1</script>"
    assert said.text == "Привет"


def test_a_byte_order_mark_is_not_part_of_the_page() -> None:
    said = read(b"\xef\xbb\xbf<title>T</title><base href='/b/'><a href=x>y</a>", Format.LINKS)
    assert said.title == "T"
    assert said.links == [Link("https://shop.example/b/x", "y")]


# main content


def test_the_main_content_of_a_product_keeps_what_it_sells() -> None:
    said = stored("product", Format.MARKDOWN, Format.TEXT, Format.HTML)
    for text in (said.markdown or "", said.text or "", said.html or ""):
        for kept in (
            "Kiln twig stove",
            "€1,299.00",
            "In stock, 7 left",
            "412 g",
            "Quick and quiet",
            "Maren",
            "wipe it dry",
        ):
            assert kept in text
        for dropped in ("Family tents", "All rights reserved", "We use cookies", "Ember tongs", "Subscribe", "Skip to"):
            assert dropped not in text
    assert "| Weight           | 412 g" in (said.markdown or "")
    assert "# Kiln twig stove" in (said.markdown or "")


def test_the_main_content_of_an_article_is_its_story() -> None:
    markdown = stored("article", Format.MARKDOWN).markdown or ""
    for kept in (
        "# The keeper of the salt path",
        "Ida Brandt",
        "18 November 2026",
        "eleven kilos",
        "- Four hours on foot",
    ):
        assert kept in markdown
    for dropped in ("Most read", "Related stories", "Share this story", "cookies", "Imprint"):
        assert dropped not in markdown


def test_the_main_content_of_a_listing_is_every_item() -> None:
    text = stored("listing", Format.TEXT).text or ""
    assert text.count("€") == 8
    assert "New this autumn" in text
    assert "Family tents" not in text
    assert "Next page" not in text


def test_the_whole_page_is_given_when_it_is_wanted() -> None:
    text = stored("product", Format.TEXT, main=False).text or ""
    assert "Family tents" in text
    assert "All rights reserved" in text
    assert "window.shop" not in text


@pytest.mark.parametrize(
    "body",
    [
        "<nav><a href=/a>All there is</a></nav>",
        "<div class='cookie'>All there is</div>",
        "<main></main><footer>All there is</footer>",
        "<body class=modal>All there is</body>",
        "All there is",
        "<div hidden>All there is</div>",
    ],
)
def test_a_page_that_is_all_surroundings_is_given_whole(body: str) -> None:
    said = read(body, Format.TEXT, Format.MARKDOWN, Format.HTML)
    assert "All there is" in (said.text or "")
    assert "All there is" in (said.markdown or "")
    assert "All there is" in (said.html or "")


def test_a_title_above_the_main_element_comes_along() -> None:
    said = read("<div><h1>Title</h1></div><main><p>Text of the page</p></main><footer>f</footer>", Format.MARKDOWN)
    assert said.markdown == "# Title\n\nText of the page"


def test_a_price_is_kept_although_its_box_is_called_promo() -> None:
    said = read(
        "<h1>T</h1><div class=promo><span itemprop=price>9</span></div><div class=promo>Buy more</div>", Format.TEXT
    )
    assert "9" in (said.text or "")
    assert "Buy more" not in (said.text or "")


# cleaning


def test_clean_html_has_nothing_that_runs_and_only_absolute_urls() -> None:
    html = read(
        "<p onclick='x()' ONLOAD=y id=a>t<!-- c --><script>s</script><style>b</style><iframe src=i></iframe>"
        "<noscript>n</noscript><template>t2</template><a href='../q'>l</a><a href='javascript:z'>j</a>"
        "<img src=/i.png srcset='/i2.png 2x'><a href='mailto:a@b.example'>m</a>",
        Format.HTML,
    ).html
    assert html == (
        '<body><p id="a">t<a href="https://shop.example/q">l</a><a>j</a><img src="https://shop.example/i.png">'
        '<a href="mailto:a@b.example">m</a></p></body>'
    )


# links and images


def test_links_are_absolute_once_each_and_in_order() -> None:
    said = read(
        "<base href='https://other.example/dir/'>"
        "<a href='b' rel='nofollow  noopener'>B\n <b>bold</b></a><a href=b>again</a>"
        "<a href='#top'>top</a><a href='mailto:x@y.example'>m</a><a href='javascript:1'>j</a><a href='http://['>bad</a>"
        "<a href=/c><img alt='The picture' src=x></a>",
        Format.LINKS,
    )
    assert said.links == [
        Link("https://other.example/dir/b", "B bold", "nofollow noopener"),
        Link("https://other.example/c", "The picture"),
    ]


def test_a_base_that_names_no_place_leaves_it_to_the_next_one() -> None:
    said = read(
        "<base target=_blank><base href='https://other.example/dir/'><base href='/c/'><a href=a>a</a>", Format.LINKS
    )
    assert [link.url for link in said.links or ()] == ["https://other.example/dir/a"]


@pytest.mark.parametrize("around", ["<noscript>{}</noscript>", "<p>{}", "{}", "<svg></svg>{}", "<style>x</style>{}"])
def test_a_title_is_found_wherever_it_was_put(around: str) -> None:
    assert read("<head><meta charset=utf-8>" + around.format("<title>T</title>")).title == "T"


def test_a_base_longer_than_any_url_is_none_as_each_link_would_repeat_it() -> None:
    long = "https://other.example/" + "b" * 8_200 + "/"
    said = read(f"<base href='{long}'><a href='/a'>a</a>", Format.LINKS)
    assert [link.url for link in said.links or ()] == ["https://shop.example/a"]


def test_images_are_found_where_a_script_would_load_them_from() -> None:
    said = read(
        "<img src='/a.png' alt=' An\n image'><img src='data:image/gif;base64,AA' data-src='/b.png'><img src='/a.png'>"
        "<img srcset='/s.png 1x, /l.png 2x'><img src='data:,x'>",
        Format.IMAGES,
    )
    base = "https://shop.example"
    assert said.images == [Image(f"{base}/a.png", "An image"), Image(f"{base}/b.png"), Image(f"{base}/l.png")]


# metadata


def test_metadata_has_what_the_head_says_and_what_the_reply_was() -> None:
    said = stored("product", Format.METADATA).metadata or {}
    assert said == {
        "title": "Kiln twig stove | Fernweh Outfitters",
        "language": "en-GB",
        "description": "A titanium stove that burns twigs and boils half a litre in under four minutes.",
        "keywords": ["stove", "titanium", "wood stove"],
        "robots": "index, follow",
        "ogTitle": "Kiln twig stove",
        "ogType": "product",
        "ogImage": "https://shop.example/img/kiln-1200.webp",
        "twitterCard": "summary_large_image",
        "canonical": "https://shop.example/p/kiln-twig-stove",
        "favicon": "https://shop.example/favicon.svg",
        "statusCode": 200,
        "contentType": HTML,
        "charset": "utf-8",
    }


# pages that are not HTML


def test_json_is_its_own_text_and_a_code_block_in_markdown() -> None:
    body = '{"a": "```"}'
    schema = json.dumps({"a": {"css": "p", "required": True}})
    said = extract(page_of(body, "application/json"), Wanted(EVERYTHING, schema))
    assert said.text == said.raw_html == body
    assert said.markdown == f"````json\n{body}\n````"
    assert (said.fields, said.missing) == ({"a": None}, ["a"])
    assert (said.links, said.images) == ([], [])


def test_plain_text_is_given_as_it_is() -> None:
    said = read("a < b\n\n# c", Format.TEXT, Format.MARKDOWN, Format.HTML, content_type="text/plain")
    assert said.text == said.markdown == "a < b\n\n# c"
    assert said.html == "<pre>a &lt; b\n\n# c</pre>"


def test_a_body_without_a_type_is_html_if_it_begins_like_it() -> None:
    assert read("\n <html><title>T</title>", content_type="").title == "T"
    assert read("T", Format.TEXT, content_type="application/octet-stream").text == "T"


def test_a_feed_is_shown_as_it_came() -> None:
    body = '<?xml version="1.0"?><rss><channel><item><title>First</title><link>https://a.example/</link></item></channel></rss>'
    said = read(body, *EVERYTHING, content_type="application/rss+xml")
    assert said.raw_html == said.html == body
    assert said.markdown == f"```xml\n{body}\n```"
    assert "First" in (said.text or "")


# whatever the bytes are


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), st.sampled_from([HTML, "text/html", "application/json", "text/xml", "", "image/png"]))
def test_any_bytes_can_be_extracted_in_every_format(body: bytes, content_type: str) -> None:
    schema = json.dumps(
        {"a": {"css": ["p", "*"], "type": "number"}, "b": {"xpath": "//*", "list": {"c": {"xpath": ".//@*"}}}}
    )
    said = extract(page_of(body, content_type), Wanted(EVERYTHING, schema))
    json.dumps(said.fields)
    assert said.text is not None


SOUP = (
    "<p>|</p>|<div hidden>|<main>|</main>|<table><tr><td>|<a href='|'>|<!--|-->|<script>|{|}|</script>|<svg><title>|"
    "<h1>|<script type='application/ld+json'>|<base href='//'>|<article>|<b itemprop=a itemscope itemref='i'>|<i id=i>|"
    "<nav>|<frameset>|<template>|<select><option>|\x00|\ufeff|1.2,3|03/04/2026|<meta property='og:a' content=b>|"
    "<img srcset='a, b 2x'>|<time datetime=1>"
)
PIECES = st.sampled_from(SOUP.split("|"))


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30))
def test_any_soup_of_tags_can_be_extracted_in_every_format(pieces: list[str]) -> None:
    types = ["text", "number", "boolean", "date", "url", "html"]
    ways = {"css": "*", "xpath": "//*"}
    schema = {f"{kind}{way}": {way: ways[way], "type": "list", "items": kind} for kind in types for way in ways}
    for main in (True, False):
        wanted = Wanted(EVERYTHING, json.dumps(schema), only_main_content=main)
        said = extract(page_of("".join(pieces)), wanted)
        assert said.markdown is not None


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 200_000 + "The words",
        "<div><x></x>" * 100_000 + "The words" + "</div>" * 100_000,
        "<span>" * 60_000 + "The words" + "</i>" * 60_000,
        "<p>" + "".join(f"<b id={n}>" for n in range(3_000)) + "<p>The words" * 3_000 + "</b>" * 3_000,
        "<b><b><b><i><i><i><u><u><u>" + "<p>The words" * 300_000,
        "<p " + " ".join(f"a{n}='>'" for n in range(100_000)) + ">The words",
        "<p a='" * 100_000 + "'>The words",
        "`" * 1_000_000 + "The words",
    ],
    ids=["deep", "deep and closed", "ends", "formats", "few formats", "attributes", "quotes", "backticks"],
)
def test_markup_made_to_keep_a_parser_busy_is_read_as_its_text(body: str) -> None:
    assert "The words" in (read(body, Format.TEXT, Format.MARKDOWN, Format.LINKS).text or "")


def test_a_large_ordinary_page_keeps_its_structure() -> None:
    row = "<tr><td><b>a</b><td><i class=icon></i><a href=/x>b</a><p>text<p>more<li>point"
    said = read(f"<h1>T</h1><table>{row * 8_000}</table>", Format.LINKS, Format.HTML)
    assert said.links == [Link("https://shop.example/x", "b")]
    assert "<h1>T</h1>" in (said.html or "")


@pytest.mark.parametrize("tag", ["<div>", "<span>", "<b>", "<ul><li>", "<table><tr><td>", "<blockquote>", "<svg>"])
def test_markup_nested_thousands_deep_is_still_read(tag: str) -> None:
    said = read(tag * 3000 + "deep", *EVERYTHING)
    assert said.html
    assert said.markdown is not None
