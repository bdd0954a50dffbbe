"""A compiled field schema at work: every field reads its value from a node, and says when a required one is missing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from emissary.reading.extract.fields.dialect import Query
from emissary.reading.extract.fields.xpath import Found, document_of
from emissary.reading.extract.tree import parse

__all__ = ["Facts", "Field", "FieldPlan", "Listing", "Many", "Record", "Single", "read_all"]

N = TypeVar("N")
N_contra = TypeVar("N_contra", contravariant=True)


class Facts(msgspec.Struct, frozen=True):
    """What a value's meaning depends on: the base of relative URLs, and the page's language."""

    base: str
    language: str | None = None


class Field(Protocol[N_contra]):
    """One compiled field: its value, or None; `missing` gets the path of each required one without."""

    def read(self, node: N_contra, facts: Facts, missing: dict[str, None]) -> Any: ...


Reader = Callable[[N, Facts], Any]


@dataclass(frozen=True, slots=True)
class _Given:
    """What the schema says of every field."""

    path: str
    required: bool
    default: str | int | float | bool | None

    def absent(self, missing: dict[str, None], otherwise: Any = None) -> Any:
        if self.default is not None:
            return self.default
        if self.required:
            missing[self.path] = None
        return otherwise


@dataclass(frozen=True, slots=True)
class Single(_Given, Generic[N]):
    """One value: the first match of the first selector that gives one."""

    queries: tuple[Query[N], ...]
    reader: Reader[N]

    def read(self, node: N, facts: Facts, missing: dict[str, None]) -> Any:
        for query in self.queries:
            match = query.first(node)
            if match is not None:
                value = self.reader(match, facts)
                if value is not None:
                    return value
        return self.absent(missing)


@dataclass(frozen=True, slots=True)
class Many(_Given, Generic[N]):
    """The values of every match of the first selector that gives any."""

    queries: tuple[Query[N], ...]
    reader: Reader[N]

    def read(self, node: N, facts: Facts, missing: dict[str, None]) -> Any:
        for query in self.queries:
            values = [value for match in query.every(node) if (value := self.reader(match, facts)) is not None]
            if values:
                return values
        return self.absent(missing, [])


@dataclass(frozen=True, slots=True)
class Record(_Given, Generic[N]):
    """A schema applied to the first match."""

    queries: tuple[Query[N], ...]
    fields: Mapping[str, Field[N]]

    def read(self, node: N, facts: Facts, missing: dict[str, None]) -> Any:
        for query in self.queries:
            match = query.first(node)
            if match is not None:
                return read_all(self.fields, match, facts, missing)
        return self.absent(missing)


@dataclass(frozen=True, slots=True)
class Listing(_Given, Generic[N]):
    """A schema applied to every match of the first selector that has any."""

    queries: tuple[Query[N], ...]
    fields: Mapping[str, Field[N]]

    def read(self, node: N, facts: Facts, missing: dict[str, None]) -> Any:
        for query in self.queries:
            matches = query.every(node)
            if matches:
                return [read_all(self.fields, match, facts, missing) for match in matches]
        return self.absent(missing, [])


def read_all(fields: Mapping[str, Field[N]], node: N, facts: Facts, missing: dict[str, None]) -> dict[str, Any]:
    """The values of a schema at one node."""
    return {name: field.read(node, facts, missing) for name, field in fields.items()}


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """A whole schema: fields by CSS read the page's tree, those by XPath make a second one of their own."""

    names: tuple[str, ...]
    css: Mapping[str, Field[LexborNode]]
    xpath: Mapping[str, Field[Found]]

    def read(self, tree: LexborHTMLParser, facts: Facts) -> tuple[dict[str, Any], list[str]]:
        """The values in the schema's order, and the paths of required fields without one."""
        missing: dict[str, None] = {}
        root = tree.root
        values = read_all(self.css, root, facts, missing) if root is not None else {}
        if self.xpath:
            values |= read_all(self.xpath, document_of(tree.raw_html), facts, missing)
            values = {name: values.get(name) for name in self.names}
        return values, list(missing)

    def nothing(self) -> tuple[dict[str, Any], list[str]]:
        """What the schema gives on a page that has no elements."""
        return self.read(parse(""), Facts(base=""))
