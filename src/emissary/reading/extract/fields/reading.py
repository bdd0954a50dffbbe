"""From a match to a value: where on the element to look, and what to make of what stands there."""

from typing import Any, TypeVar

from emissary.model.fields import ItemType
from emissary.reading.extract.fields.booleans import boolean
from emissary.reading.extract.fields.dates import iso_date
from emissary.reading.extract.fields.dialect import Dialect
from emissary.reading.extract.fields.numbers import number
from emissary.reading.extract.fields.plan import Facts, Reader
from emissary.reading.extract.tree import absolute, collapse

__all__ = ["reader"]

N = TypeVar("N")

# Where an element keeps its value if not in its text.
_VALUE_ATTRIBUTES = {"meta": "content", "link": "href", "input": "value", "data": "value", "meter": "value"}
_URL_ATTRIBUTES = ("href", "src", "content", "data-src", "action")


def reader(dialect: Dialect[N], item_type: ItemType, attr: str | None) -> Reader[N]:
    """What reads one match; it gives None where the value is empty or cannot be converted."""
    if attr is not None:
        return _attribute_reader(dialect, item_type, attr.lower())
    match item_type:
        case "html":
            return lambda match, _facts: dialect.inner_html(match).strip() or None
        case "url":
            return lambda match, facts: _url(dialect, match, facts)
        case "date":
            return lambda match, facts: _date(dialect, match, facts)
        case "text":
            return lambda match, _facts: _spoken(dialect, match) or None
        case _:
            return lambda match, facts: _convert(item_type, _spoken(dialect, match), facts)


def _attribute_reader(dialect: Dialect[N], item_type: ItemType, name: str) -> Reader[N]:
    def read(match: N, facts: Facts) -> Any:
        value = dialect.attribute(match, name)
        return None if value is None else _convert(item_type, collapse(value), facts)

    return read


def _spoken(dialect: Dialect[N], match: N) -> str:
    """The element's text, or the attribute that stands for it."""
    name = _VALUE_ATTRIBUTES.get(dialect.tag(match))
    value = dialect.attribute(match, name) if name else None
    return dialect.text(match) if value is None else collapse(value)


def _url(dialect: Dialect[N], match: N, facts: Facts) -> str | None:
    for name in _URL_ATTRIBUTES:
        if value := dialect.attribute(match, name):
            return absolute(facts.base, value)
    return absolute(facts.base, dialect.text(match))


def _date(dialect: Dialect[N], match: N, facts: Facts) -> str | None:
    machine = dialect.attribute(match, "datetime")
    found = iso_date(collapse(machine), facts.language) if machine else None
    return found or iso_date(_spoken(dialect, match), facts.language)


def _convert(item_type: ItemType, text: str, facts: Facts) -> Any:
    match item_type:
        case "number":
            return number(text, facts.language)
        case "boolean":
            return boolean(text)
        case "date":
            return iso_date(text, facts.language)
        case "url":
            return absolute(facts.base, text)
        case "text" | "html":
            return text or None
