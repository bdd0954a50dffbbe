"""Sitemaps: what is listed is found, what is broken is read as far as it goes, and nothing in a file can hurt us."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emissary.reading.sitemaps import MAX_SITEMAP_BYTES, MOST_ENTRIES, Entry, Sitemap, read_sitemap

_URLSET = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">%b</urlset>'
)
_PAGE = b"<url><loc>https://a.example/</loc></url>"


def _pages(body: bytes) -> list[str]:
    found = read_sitemap(body)
    assert found is not None
    return [each.url for each in found.pages]


def test_pages_come_with_the_time_of_their_last_change() -> None:
    inside = b"""
      <url><loc> https://a.example/1 </loc><lastmod>2026-01-02</lastmod><priority>0.5</priority></url>
      <url><lastmod>2026-01-02T03:04:05+01:00</lastmod><loc>https://a.example/2</loc></url>
      <url><loc>https://a.example/3</loc><lastmod>yesterday</lastmod></url>"""
    assert read_sitemap(_URLSET % inside) == Sitemap(
        (
            Entry("https://a.example/1", "2026-01-02"),
            Entry("https://a.example/2", "2026-01-02T03:04:05+01:00"),
            Entry("https://a.example/3"),
        )
    )


def test_an_index_lists_sitemaps_and_no_pages() -> None:
    index = b"<sitemapindex><sitemap><loc>https://a.example/1.xml</loc></sitemap></sitemapindex>"
    assert read_sitemap(index) == Sitemap((), (Entry("https://a.example/1.xml"),))


def test_pictures_and_translations_are_not_pages() -> None:
    picture = b"<image:image><image:loc>https://a.example/p.png</image:loc></image:image>"
    translation = b'<xhtml:link rel="alternate" hreflang="de" href="https://a.example/de"/>'
    assert _pages(_URLSET % (b"<url>%b%b<loc>https://a.example/</loc></url>" % (picture, translation))) == [
        "https://a.example/"
    ]


def test_a_list_of_lines_is_a_sitemap_and_other_text_is_none() -> None:
    assert _pages(b"\xef\xbb\xbfhttps://a.example/1\r\n\r\nHTTPS://a.example/2\n") == [
        "https://a.example/1",
        "HTTPS://a.example/2",
    ]
    assert read_sitemap(b"https://a.example/1\nand so on\n") is None


@pytest.mark.parametrize(
    "feed",
    [
        b"<rss><channel><link>https://a.example/</link><item><link>https://a.example/1</link></item></channel></rss>",
        b'<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://a.example/"/><entry>'
        b'<link rel="edit" href="/e"/><link href="https://a.example/1"/></entry></feed>',
    ],
)
def test_the_items_of_a_feed_are_pages_and_the_feed_itself_is_not(feed: bytes) -> None:
    assert _pages(feed) == ["https://a.example/1"]


@pytest.mark.parametrize("body", [b"", b" ", b"<", b"<!doctype html><title>Not found</title>", b"<html/>", b"\x1f\x8b"])
def test_what_is_no_sitemap_is_none(body: bytes) -> None:
    assert read_sitemap(body) is None


def test_loose_ampersands_and_cdata_are_read_as_they_were_meant() -> None:
    inside = b"""<url><loc>https://a.example/?a=1&b=2&amp;c=3&#38;d=4</loc></url>
      <url><loc><![CDATA[https://a.example/?a=1&b=2]]></loc></url>"""
    assert _pages(_URLSET % inside) == ["https://a.example/?a=1&b=2&c=3&d=4", "https://a.example/?a=1&b=2"]


def test_what_comes_before_a_break_counts() -> None:
    whole = _URLSET % (_PAGE * 3)
    assert len(_pages(whole[: whole.rindex(b"</loc>")])) == 2
    assert len(_pages(_URLSET % (_PAGE + b"</oops>" + _PAGE))) == 1
    assert len(_pages(gzip.compress(whole)[:-8])) == 3


def test_a_packed_file_may_come_in_parts_and_in_another_encoding() -> None:
    whole = _URLSET % (_PAGE * 2)
    assert len(_pages(gzip.compress(whole[:90]) + gzip.compress(whole[90:]))) == 2
    assert _pages(whole.decode().replace("UTF-8", "UTF-16").encode("utf-16")) == ["https://a.example/"] * 2
    latin = _URLSET.replace(b"UTF-8", b"ISO-8859-1") % b"<url><loc>https://a.example/caf\xe9</loc></url>"
    assert _pages(latin) == ["https://a.example/café"]
    assert read_sitemap(whole.replace(b"UTF-8", b"KLINGON")) is None


def test_no_more_is_read_than_the_protocol_allows() -> None:
    assert len(_pages(_URLSET % (_PAGE * (MOST_ENTRIES + 1)))) == MOST_ENTRIES
    assert len(_pages(b"https://a.example/\n" * (MOST_ENTRIES + 1))) == MOST_ENTRIES
    late = b"<urlset>" + b" " * MAX_SITEMAP_BYTES + _PAGE
    assert _pages(late) == _pages(gzip.compress(late, 1)) == []


def test_entities_are_refused_whatever_they_stand_for(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("https://a.example/secret")
    declared = (
        '<!ENTITY a "https://a.example/"><!ENTITY b "&a;&a;&a;&a;">',
        f'<!ENTITY b SYSTEM "{secret.as_uri()}">',
        f'<!ENTITY % b SYSTEM "{secret.as_uri()}"> %b;',
    )
    for each in declared:
        for encoding in ("utf-8", "utf-16"):
            text = f"<!DOCTYPE urlset [{each}]><urlset><url><loc>&b;</loc></url></urlset>"
            assert read_sitemap(text.encode(encoding)) is None


def test_laughing_a_billion_times_costs_nothing() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    text = f'<!DOCTYPE urlset [<!ENTITY l0 "ha">{laughs}]><urlset a="&l9;"><url><loc>&l9;</loc></url></urlset>'
    assert read_sitemap(text.encode("utf-16")) is None


@pytest.mark.parametrize(
    "bomb",
    [
        b"<urlset>" + b"<a/>" * 5_000_000,
        b"<urlset>" + b"<a>" * 5_000_000,
        b"<urlset>" + b"&" * 20_000_000,
        b"<urlset><url><loc>" + b"x" * 20_000_000,
        b"\n" * 20_000_000,
        gzip.compress(b"\0" * 200_000_000, 1),
    ],
    ids=["elements", "depth", "ampersands", "text", "lines", "zeros"],
)
@pytest.mark.timeout(20)
def test_a_file_made_to_exhaust_us_lists_nothing(bomb: bytes) -> None:
    found = read_sitemap(bomb)
    assert found is None or found == Sitemap()


_TAGS = b"<urlset> </urlset> <url> </url> <loc> </loc> <sitemap> </sitemap> <lastmod> <feed> <entry> <link>".split()
_MARKS = b"<![CDATA[ ]]> <!-- --> <!DOCTYPE ]> <!ENTITY &a; & <?xml ?> https://a.example/ 2026-01-01".split()
_BYTES = [b" ", b"\n", b"\x00", b"\xff\xfe", b"\x1f\x8b", b'<!DOCTYPE a [<!ENTITY a "b">]>', b"<link href='x'/>"]
_pieces = st.sampled_from([*_TAGS, *_MARKS, *_BYTES])


@given(st.one_of(st.binary(max_size=400), st.lists(_pieces, max_size=40).map(b"".join)))
def test_whatever_comes_is_read_or_is_no_sitemap(body: bytes) -> None:
    for each in (body, b"<urlset>" + body, gzip.compress(body)):
        found = read_sitemap(each)
        assert found is None or all(entry.url for entry in (*found.pages, *found.sitemaps))


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=30)))
def test_every_page_that_is_written_properly_is_found(paths: list[str]) -> None:
    urls = [f"https://a.example/{path}" for path in paths]
    escaped = (url.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for url in urls)
    inside = "".join(f"<url><loc>{url}</loc></url>" for url in escaped).encode()
    assert _pages(_URLSET % inside) == urls
