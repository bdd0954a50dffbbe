from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from emissary.reading.extract.structured import json_ld_of, open_graph_of, structured_of

PRODUCT = Path(__file__).parent.parent / "data" / "pages" / "product.html"


def ld(*scripts: str) -> list[object]:
    wrapped = "".join(f"<script type='application/ld+json'>{script}</script>" for script in scripts)
    return json_ld_of(LexborHTMLParser(wrapped))


def structured(html: str) -> list[object]:
    return structured_of(LexborHTMLParser(html), "https://shop.example/p/").microdata


# JSON-LD


def test_every_script_and_every_member_of_a_list_is_an_object_of_its_own() -> None:
    assert ld('{"a": 1}', '[{"b": 2}, {"c": 3}, 4]') == [{"a": 1}, {"b": 2}, {"c": 3}]


def test_a_graph_is_kept_as_it_is() -> None:
    assert ld('{"@graph": [{"@type": "Product"}]}') == [{"@graph": [{"@type": "Product"}]}]


@pytest.mark.parametrize(
    "script",
    [
        '<!-- {"a": 1} -->',
        '//<![CDATA[\n{"a": 1}\n//]]>',
        '/*<![CDATA[*/{"a": 1}/*]]>*/',
        '<![CDATA[{"a": 1}]]>',
        '{"a": 1};',
        '\ufeff\n {"a": 1} trailing junk',
    ],
)
def test_wrappings_and_trailing_junk_are_overlooked(script: str) -> None:
    assert ld(script) == [{"a": 1}]


def test_a_raw_line_break_within_a_string_is_forgiven() -> None:
    assert ld('{"a": "x\ny"}') == [{"a": "x\ny"}]


@pytest.mark.parametrize(
    "script", ["", "{", "nonsense", "null", '"text"', "[" * 5000, '{"a": "\\ud800"}', '{"a": ' * 3000, "1" * 5000]
)
def test_what_cannot_be_read_is_left_out(script: str) -> None:
    assert ld(script, '{"good": true}') == [{"good": True}]


def test_the_type_may_carry_a_parameter_or_capitals() -> None:
    tree = LexborHTMLParser('<script type="Application/LD+JSON; charset=utf-8">{"a": 1}</script>')
    assert json_ld_of(tree) == [{"a": 1}]


# Open Graph


def test_an_open_graph_property_that_is_repeated_becomes_a_list() -> None:
    metas = "".join(f"<meta property=og:image content={name}>" for name in "abc")
    tree = LexborHTMLParser(f"<meta property=og:title content=T>{metas}<meta property=fb:x content=y>")
    assert open_graph_of(tree) == {"og:title": "T", "og:image": ["a", "b", "c"]}


# microdata


def test_items_have_their_types_and_properties() -> None:
    assert structured(
        "<div itemscope itemtype='https://schema.org/Product https://schema.org/Thing' itemid='/id'>"
        "<h1 itemprop='name title'>A <b>stove</b></h1><a itemprop=url href='x'>l</a><meta itemprop=sku content=7>"
        "<time itemprop=date datetime=2026-11-18>today</time><data itemprop=weight value=4>four</data></div>"
    ) == [
        {
            "type": ["https://schema.org/Product", "https://schema.org/Thing"],
            "id": "https://shop.example/id",
            "properties": {
                "name": ["A stove"],
                "title": ["A stove"],
                "url": ["https://shop.example/p/x"],
                "sku": ["7"],
                "date": ["2026-11-18"],
                "weight": ["4"],
            },
        }
    ]


def test_an_item_within_an_item_is_a_value_and_keeps_its_properties_to_itself() -> None:
    assert structured(
        "<div itemscope><p itemprop=offer itemscope><b itemprop=price>9</b></p><i itemprop=name>n</i></div>"
    ) == [
        {"type": [], "properties": {"offer": [{"type": [], "properties": {"price": ["9"]}}], "name": ["n"]}},
    ]


def test_itemref_adds_properties_from_elsewhere() -> None:
    assert structured("<div itemscope itemref='x nowhere'></div><p id=x><b itemprop=a>1</b></p>") == [
        {"type": [], "properties": {"a": ["1"]}}
    ]


def test_items_that_refer_to_each_other_come_to_an_end() -> None:
    loops = "".join(f"<b id=i{n} itemprop=p itemscope itemref='i{(n + 1) % 9} i{(n + 2) % 9}'></b>" for n in range(9))
    assert structured(f"<div itemscope itemref=i0></div>{loops}")


def test_a_product_page_is_read_in_all_three_vocabularies() -> None:
    said = structured_of(LexborHTMLParser(PRODUCT.read_bytes()), "https://shop.example/p/")
    assert said.json_ld[0]["offers"]["price"] == "1299.00"
    assert said.open_graph["og:type"] == "product"
    [product] = said.microdata
    assert product["properties"]["offers"][0]["properties"]["availability"] == ["https://schema.org/InStock"]
    assert len(product["properties"]["review"]) == 18
