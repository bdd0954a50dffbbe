import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emissary.model.errors import BadField
from emissary.model.fields import FieldSpec
from emissary.reading.extract.fields import Facts, FieldPlan, compile_fields, compile_json_fields
from emissary.reading.extract.tree import parse

LISTING = Path(__file__).parent.parent / "data" / "pages" / "listing.html"


def read(html: str, language: str | None = None, /, **schema: object) -> dict[str, Any]:
    values, _ = compile_fields(schema).read(parse(html), Facts("https://shop.example/p/", language))
    return values


def missing(html: str, **schema: object) -> list[str]:
    return compile_fields(schema).read(parse(html), Facts("https://shop.example/p/"))[1]


def value(html: str, kind: str, language: str | None = None, **more: object) -> Any:
    return read(html, language, it={"css": "*:not(html):not(head):not(body)", "type": kind, **more})["it"]


# which selector wins


def test_the_first_selector_that_gives_a_value_wins() -> None:
    html = "<p class=a> </p><p class=b>two</p><p class=c>three</p>"
    assert read(html, it={"css": [".x", ".a", ".b", ".c"]}) == {"it": "two"}
    assert read(html, it={"xpath": ["//x", "//*[@class='a']", "//*[@class='b']"]}) == {"it": "two"}


def test_a_value_that_cannot_be_converted_passes_the_turn_to_the_next_selector() -> None:
    html = "<b class=a>ask us</b><b class=b>12</b>"
    assert read(html, it={"css": [".a", ".b"], "type": "number"}) == {"it": 12}


def test_a_list_comes_from_the_first_selector_that_gives_any() -> None:
    assert read("<li>1<li>x<li>3", it={"css": ["dd", "li"], "type": "list", "items": "number"}) == {"it": [1, 3]}


# required, default, missing


def test_a_required_field_without_a_value_is_null_and_named() -> None:
    plan = compile_fields({"a": {"css": "x", "required": True}, "b": {"css": "x"}})
    assert plan.read(parse("<p>"), Facts("")) == ({"a": None, "b": None}, ["a"])


def test_a_default_stands_in_and_then_nothing_is_missing() -> None:
    plan = compile_fields({"a": {"css": "x", "required": True, "default": 0}})
    assert plan.read(parse("<p>"), Facts("")) == ({"a": 0}, [])


def test_a_required_field_within_a_list_is_named_once_by_its_path() -> None:
    schema = {"css": "li", "list": {"name": {"css": "b", "required": True}}}
    assert missing("<li><li><li><b>x</b>", items=schema) == ["items.name"]


def test_an_optional_object_that_is_not_there_misses_nothing_within() -> None:
    assert missing("<p>", offer={"css": ".o", "object": {"price": {"css": "b", "required": True}}}) == []


# nesting


def test_a_schema_is_applied_to_every_match_of_a_list() -> None:
    plan = compile_fields(
        {
            "items": {
                "css": "article",
                "list": {
                    "name": {"css": "h2"},
                    "price": {"css": ".tile__price", "type": "number"},
                    "stock": {"css": ".tile__stock", "type": "boolean"},
                    "url": {"css": "a", "type": "url"},
                    "tags": {"css": "li", "type": "list"},
                    "id": {"css": "article", "attr": "data-id", "type": "number"},
                },
            }
        }
    )
    values, _ = plan.read(parse(LISTING.read_bytes()), Facts("https://shop.example/autumn/", "en"))
    assert len(values["items"]) == 8
    assert values["items"][2] == {
        "name": "Heron tarp",
        "price": 149.5,
        "stock": False,
        "url": "https://shop.example/autumn/heron-tarp",
        "tags": ["new", "autumn"],
        "id": 2,
    }


def test_xpath_within_a_list_starts_at_each_match() -> None:
    html = "<li><b>1</b><a href=x>t</a></li><li><b>2</b></li>"
    schema = {"xpath": "//li", "list": {"n": {"xpath": "./b", "type": "number"}, "u": {"xpath": "a", "type": "url"}}}
    assert read(html, it=schema) == {"it": [{"n": 1, "u": "https://shop.example/p/x"}, {"n": 2, "u": None}]}


def test_an_object_is_read_from_the_first_match() -> None:
    assert read("<p><b>1</b><p><b>2</b>", it={"css": "p", "object": {"n": {"css": "b", "type": "number"}}}) == {
        "it": {"n": 1}
    }


def test_css_and_xpath_stand_side_by_side_in_the_order_of_the_schema() -> None:
    assert list(read("<p>x", a={"xpath": "//p"}, b={"css": "p"}, c={"xpath": "string(//p)"}).items()) == [
        ("a", "x"),
        ("b", "x"),
        ("c", "x"),
    ]


# where an element keeps its value


@pytest.mark.parametrize(
    ("html", "kind", "expected"),
    [
        ("<meta content=' a  b '>", "text", "a b"),
        ("<input value=5>", "number", 5),
        ("<data value=5>five</data>", "number", 5),
        ("<time datetime=2026-11-18>today</time>", "date", "2026-11-18"),
        ("<time datetime=nonsense>18.11.2026</time>", "date", "2026-11-18"),
        ("<img src=i.png>", "url", "https://shop.example/p/i.png"),
        ("<p>/there</p>", "url", "https://shop.example/there"),
        ("<a href='javascript:x'>", "url", None),
        ("<p> a <b>c</b></p>", "html", "a <b>c</b>"),
        ("<div><p>one</p><p>two <b>th</b>ree</p><script>no</script></div>", "text", "one two three"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "text", "a b"),
    ],
)
def test_values_are_read_where_the_element_keeps_them(html: str, kind: str, expected: object) -> None:
    assert value(html, kind) == expected


def test_an_attribute_is_read_instead_of_the_text() -> None:
    html = "<p data-x=' 7 ' data-empty hidden>text</p>"
    assert value(html, "number", attr="data-x") == 7
    assert value(html, "text", attr="DATA-X") == "7"
    assert value(html, "text", attr="data-none") is None
    assert value(html, "text", attr="data-empty") is None
    assert value(html, "boolean", attr="hidden") is True


# types


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.299,00 €", 1299.0),
        ("$1,299.00", 1299.0),
        ("1 299", 1299),
        ("1\u202f299,50 kr", 1299.5),
        ("1'299.50", 1299.5),
        ("-5%", -5),
        ("−$3.20", -3.2),
        ("4.5/5", 4.5),
        ("Rated 4,5 of 5", 4.5),
        ("1.234.567", 1234567),
        ("1,234,567.8", 1234567.8),
        ("1,299", 1299),
        ("0,299", 0.299),
        ("0.299", 0.299),
        ("1.299 €", 1299),
        (".5", 0.5),
        ("5-10", 5),
        ("Rating - 4", 4),
        ("1.2.3", None),
        ("none", None),
        ("9" * 500, None),
    ],
)
def test_numbers_are_understood_as_people_write_them(text: str, expected: float | None) -> None:
    found = value(f"<p>{text}</p>", "number")
    assert found == expected
    assert type(found) is type(expected)


def test_a_single_point_before_three_digits_means_what_the_page_s_language_says() -> None:
    assert value("<p>1.299</p>", "number", "en") == 1.299
    assert value("<p>1.299</p>", "number", "de-AT") == 1299
    assert value("<p>1,299</p>", "number", "de-AT") == 1.299


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes", True),
        ("no", False),
        ("In stock", True),
        ("Only 3 left in stock!", True),
        ("Out of stock", False),
        ("Currently not available", False),
        ("Sold out", False),
        ("available", True),
        ("https://schema.org/InStock", True),
        ("http://schema.org/OutOfStock", False),
        ("", True),
        ("perhaps", None),
    ],
)
def test_booleans_are_understood_as_shops_say_them(text: str, expected: object) -> None:
    assert value(f"<p>{text}</p>", "boolean") is expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("2026-11-18", None, "2026-11-18"),
        ("2026-11-18T07:30:00Z", None, "2026-11-18T07:30:00+00:00"),
        ("Wed, 18 Nov 2026 07:30:00 +0100", None, "2026-11-18T07:30:00+01:00"),
        ("18 November 2026", None, "2026-11-18"),
        ("Nov 18, 2026", None, "2026-11-18"),
        ("Published November 18th, 2026 by us", None, "2026-11-18"),
        ("18. März 2026", None, "2026-03-18"),
        ("18 de noviembre de 2026", None, "2026-11-18"),
        ("18.11.2026", None, "2026-11-18"),
        ("2026/11/18", None, "2026-11-18"),
        ("18/11/2026", None, "2026-11-18"),
        ("11/18/2026", "fr", "2026-11-18"),
        ("03/04/2026", None, None),
        ("03/04/2026", "en", None),
        ("03/04/2026", "en-US", "2026-03-04"),
        ("03/04/2026", "en-GB", "2026-04-03"),
        ("31.2.2026", None, None),
        ("soon", None, None),
    ],
)
def test_dates_become_iso_and_are_not_guessed(text: str, language: str | None, expected: str | None) -> None:
    assert value(f"<p>{text}</p>", "date", language) == expected


@settings(deadline=None)
@given(st.text(max_size=200), st.sampled_from([None, "de", "en-US", "xx"]))
def test_any_text_is_a_value_or_none(text: str, language: str | None) -> None:
    schema = {kind: {"css": "p", "attr": "title", "type": kind} for kind in ("number", "boolean", "date", "url")}
    tree = parse("<p>")
    node = tree.css_first("p")
    assert node is not None
    node.attrs["title"] = text.encode("utf-8", "replace").decode()
    json.dumps(compile_fields(schema).read(tree, Facts("https://shop.example/", language)))


# what cannot work is found before any page is read


@pytest.mark.parametrize(
    ("schema", "path", "says"),
    [
        ({"a": {"css": "p["}}, "a.css", "'p['"),
        ({"a": {"css": ["p", "p::text"]}}, "a.css", "'p::text'"),
        ({"a": {"css": ""}}, "a.css", "no CSS selector"),
        ({"a": {"css": []}}, "a.css", "1 to 20"),
        ({"a": {"css": "p" * 1001}}, "a.css", "longer than 1000"),
        ({"a": {"xpath": "//p["}}, "a.xpath", "'//p['"),
        ({"a": {"xpath": "//p[matches(., 'x')]"}}, "a.xpath", "matches()"),
        ({"a": {"xpath": "//p[re:test(., 'x')]"}}, "a.xpath", "prefix 're'"),
        ({"a": {"xpath": "//p[$x]"}}, "a.xpath", "variable"),
        ({"a": {"xpath": "//svg:path"}}, "a.xpath", "prefix 'svg'"),
        ({"a": {"xpath": "//p[contains(.)]"}}, "a.xpath", "arguments"),
        ({"a": {"xpath": "//*[count(//*[count(//*) > 0]) > 0]"}}, "a.xpath", "predicate within a predicate"),
        ({"a": {"css": "*:has(a:not(:has(b)))"}}, "a.css", ":has() within :has()"),
        ({"a": {"css": "p", "xpath": "//p"}}, "a", "both css and xpath"),
        ({"a": {"type": "text"}}, "a", "neither css nor xpath"),
        ({"a": {"css": "p", "list": {"b": {"css": "b"}}, "object": {"b": {"css": "b"}}}}, "a", "both list and object"),
        ({"a": {"css": "p", "type": "text", "list": {"b": {"css": "b"}}}}, "a", "type is text"),
        ({"a": {"css": "p", "type": "list", "object": {"b": {"css": "b"}}}}, "a", "type is list"),
        ({"a": {"css": "p", "type": "object"}}, "a", "no object schema"),
        ({"a": {"css": "p", "list": {}}}, "a", "names no field"),
        ({"a": {"css": "p", "items": "number"}}, "a", "items"),
        ({"a": {"css": "p", "attr": "x", "type": "html"}}, "a", "attr"),
        ({"a": {"css": "p", "attr": "x", "list": {"b": {"css": "b"}}}}, "a", "attr"),
        ({"a": {"css": "p", "list": {"b": {"xpath": "b"}}}}, "a.b", "cannot be mixed"),
        ({"a": {"xpath": "//p", "object": {"b": {"css": "b"}}}}, "a.b", "cannot be mixed"),
        ({"a": {"css": "p", "list": {"b": {"css": "b["}}}}, "a.b.css", "'b['"),
        ({"a": {"css": "p", "colour": "red"}}, "a", "colour"),
        ({"a": {"css": "p", "list": {"b": {"css": "b"}, "c": {"object": {"d": {"oops": 1}}}}}}, "a.c.d", "oops"),
        ({"a": {"css": 5}}, "a.css", "Expected"),
        ({"a": "p"}, "a", "Expected"),
        ({}, "fields", "names no field"),
        ({"": {"css": "p"}}, "fields", "without a name"),
        ({"a": {"css": "p", "list": {"": {"css": "p"}}}}, "a", "without a name"),
        ({f"f{n}": {"css": "p"} for n in range(201)}, "fields", "201"),
    ],
)
def test_a_bad_schema_is_refused_with_its_place_and_reason(schema: dict[str, object], path: str, says: str) -> None:
    with pytest.raises(BadField) as caught:
        compile_fields(schema)
    assert caught.value.path == path
    assert says in caught.value.detail


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"f": {"css": "p"}}
    for _ in range(depth - 1):
        schema = {"f": {"css": "div", "list": schema}}
    return schema


def test_five_levels_are_read_and_six_refused() -> None:
    compile_fields(nested(5))
    for depth in (6, 100, 400):
        with pytest.raises(BadField, match="deeper than 5"):
            compile_fields(nested(depth))


@pytest.mark.parametrize(
    "expression",
    [
        "//p[contains(@class, '$a:b(')]",
        "child::p/text()",
        "//div[@id and (position() = 1 or last())]",
        "//a/@href",
        "count(//p)",
    ],
)
def test_xpath_1_0_is_taken_whole(expression: str) -> None:
    compile_fields({"a": {"xpath": expression}})


def test_has_is_taken_as_often_as_it_stands_alone() -> None:
    compile_fields({"a": {"css": "div:not(:has(a)):has(> b), p:has(i)"}})


def test_equal_schemas_share_one_plan() -> None:
    schema = {"a": {"css": "p"}}
    assert compile_fields(schema) is compile_fields(dict(schema)) is compile_json_fields(b'{"a":{"css":"p"}}')
    assert isinstance(compile_fields({"a": FieldSpec(css="p")}), FieldPlan)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
SPEC_LIKE = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "css": st.sampled_from(["p", "p[", ["a", "b"], [], 1]),
            "xpath": st.sampled_from(["//p", "//p[", "x:y", "f()", "$v", "\x00", "1 div 0"]) | st.text(max_size=12),
            "attr": st.text(max_size=4),
            "type": st.sampled_from(["text", "number", "list", "object", "html", "nonsense"]),
            "items": st.sampled_from(["text", "url", "list"]),
            "required": st.booleans(),
            "default": JSON,
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {"css": st.just("p")},
        optional={key: st.dictionaries(st.text(max_size=4), inner, max_size=3) for key in ("list", "object")},
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(JSON | st.dictionaries(st.text(max_size=6), SPEC_LIKE, max_size=4))
def test_any_json_is_a_plan_or_a_bad_field(schema: Any) -> None:
    try:
        plan = compile_fields(schema)
    except BadField as error:
        refused = error
    else:
        json.dumps(plan.read(parse("<p class=a>x<p>2"), Facts("https://shop.example/")), default=str)
        return
    assert refused.path
    assert refused.code == "invalid_fields"


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_as_a_schema_are_a_plan_or_a_bad_field(schema: bytes) -> None:
    try:
        compile_json_fields(schema)
    except BadField:
        return
