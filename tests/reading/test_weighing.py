"""Which pages are read in place, and which are too much for that."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from emissary.model.extraction import Wanted
from emissary.model.pages import Format, Page, Reply, RobotsNote, Timings, WebUrl
from emissary.reading.extract import is_light

PAGES = Path(__file__).parent.parent / "data" / "pages"
MARKDOWN = Wanted(frozenset({Format.MARKDOWN}))
EVERYTHING = Wanted(frozenset(Format))


def page_of(body: bytes, content_type: str = "text/html") -> Page:
    return Page(
        url=WebUrl("https://a.example/", "https", "a.example", 443, "/"),
        reply=Reply(200, {}, body, "192.0.2.1", "1.1", Timings(1.0, 2.0), len(body)),
        robots=RobotsNote(None, None, datetime(2026, 1, 1, tzinfo=UTC)),
        content_type=content_type,
        charset="utf-8",
    )


def with_fields(**fields: object) -> Wanted:
    return Wanted(frozenset({Format.FIELDS}), json.dumps(fields))


@pytest.mark.parametrize("name", ["product", "article", "listing"])
@pytest.mark.parametrize("form", list(Format))
def test_an_ordinary_page_is_light_in_every_format(name: str, form: Format) -> None:
    page = page_of((PAGES / f"{name}.html").read_bytes())
    assert is_light(page, Wanted(frozenset({form})))
    assert is_light(page, with_fields(title={"css": "h1"}, price={"css": ["b", "i"], "type": "number"}))


def test_it_is_the_tags_that_weigh_more_than_the_text() -> None:
    assert is_light(page_of(b"<p>" + b"word " * 50_000), MARKDOWN)
    assert not is_light(page_of(b"<p>word" * 5_000), MARKDOWN)


def test_the_more_is_wanted_the_heavier_it_is() -> None:
    page = page_of(b"<p>some words" * 2_000)
    assert is_light(page, Wanted(frozenset({Format.LINKS})))
    assert is_light(page, MARKDOWN)
    assert not is_light(page, EVERYTHING)


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/json"])
def test_a_very_long_page_is_heavy_whatever_it_is(kind: str) -> None:
    assert not is_light(page_of(b"a" * 10_000_000, kind), Wanted(frozenset({Format.METADATA})))


def test_fields_that_may_take_the_square_of_the_page_are_heavy_on_smaller_ones() -> None:
    page = page_of(b"<div>" * 600 + b"x" * 33_000 + b"</div>" * 600)
    inner = {"css": "div", "list": {"c": {"css": "div"}}}
    assert is_light(page, with_fields(a={"css": "div"}))
    assert is_light(page, with_fields(a={"css": "div", "object": {"b": {"css": "div"}}}))
    assert is_light(page, with_fields(a={"css": "div", "list": {"b": {"css": "div"}}}))
    assert not is_light(page, with_fields(a={"css": "div", "list": {"b": inner}}))
    assert not is_light(page, with_fields(**{f"a{n}": {"xpath": "//*[count(//*) > 1]"} for n in range(20)}))
    assert is_light(page, with_fields(**{f"a{n}": {"css": "div"} for n in range(10)}))
    assert not is_light(page, with_fields(**{f"a{n}": {"css": "div", "type": "list"} for n in range(10)}))


def test_a_tiny_page_is_light_but_for_lists_within_lists() -> None:
    page = page_of(b"<p>" * 1_000)
    assert is_light(page, EVERYTHING)
    assert is_light(page, with_fields(**{f"a{n}": {"css": "p"} for n in range(20)}))
    nested: dict[str, object] = {"css": "p"}
    for _ in range(4):
        nested = {"css": "p", "list": {"a": nested}}
    assert not is_light(page, with_fields(a=nested))
