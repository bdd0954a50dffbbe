"""From a field schema to a plan: whatever cannot work is found here, with its place in the schema."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Generic, TypeVar

import msgspec

from emissary.model.errors import BadField
from emissary.model.fields import FieldSchema, FieldSpec
from emissary.reading.extract.fields.css import Css
from emissary.reading.extract.fields.dialect import BadSelector, Dialect, Query
from emissary.reading.extract.fields.plan import Field, FieldPlan, Listing, Many, Record, Single
from emissary.reading.extract.fields.reading import reader
from emissary.reading.extract.fields.xpath import XPath

__all__ = ["compile_fields", "compile_json_fields"]

N = TypeVar("N")

_DEEPEST = 5
_MOST_FIELDS = 200
_MOST_SELECTORS = 20
_LONGEST_SELECTOR = 1_000
_LONGEST_SCHEMA = 1_000_000  # bytes; 200 fields of ordinary selectors are a tenth of it
_SCHEMA = msgspec.json.Decoder(dict[str, msgspec.Raw])
_SPEC = msgspec.json.Decoder(FieldSpec)


def compile_fields(schema: Mapping[str, object] | FieldSchema) -> FieldPlan:
    """The plan of a schema, made once for equal schemas; raises BadField."""
    try:
        encoded = msgspec.json.encode(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadField("fields", f"is not JSON: {error}") from None
    return compile_json_fields(encoded)


@lru_cache(maxsize=256)
def compile_json_fields(schema: bytes) -> FieldPlan:
    """The same for a schema that is still JSON."""
    specs = _decoded(schema)
    count = _count(specs, "", 1)
    if count > _MOST_FIELDS:
        raise BadField("fields", f"has {count} fields; at most {_MOST_FIELDS} are read")
    by_css = {name: spec for name, spec in specs.items() if spec.xpath is None}
    by_xpath = {name: spec for name, spec in specs.items() if spec.xpath is not None}
    return FieldPlan(tuple(specs), _Compiler(Css()).schema(by_css, ""), _Compiler(XPath()).schema(by_xpath, ""))


def _decoded(schema: bytes) -> dict[str, FieldSpec]:
    """Field by field, so that an error can name the one it is in."""
    if len(schema) > _LONGEST_SCHEMA:
        raise BadField("fields", "is too long")
    try:
        raw = _SCHEMA.decode(schema)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadField("fields", f"is no object of fields: {error}") from None
    if not raw:
        raise BadField("fields", "names no field")
    if "" in raw:
        raise BadField("fields", "has a field without a name")
    return {name: _decoded_spec(name, spec, 1) for name, spec in raw.items()}


def _decoded_spec(path: str, raw: msgspec.Raw, depth: int) -> FieldSpec:
    try:
        return _SPEC.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        said, _, place = str(error).partition(" - at `$")
        _blame_deeper(path, raw, depth)
        raise BadField(path + place.rstrip("`"), said) from None


def _blame_deeper(path: str, raw: msgspec.Raw, depth: int) -> None:
    """msgspec does not say which field of a nested schema is wrong, so each is tried; raises BadField of the first."""
    if depth > _DEEPEST:
        raise BadField(path, f"is nested deeper than {_DEEPEST}")
    for key in ("list", "object"):
        try:
            nested = _SCHEMA.decode(_SCHEMA.decode(raw).get(key, b"{}"))
        except (msgspec.DecodeError, RecursionError):
            continue
        for name, child in nested.items():
            _decoded_spec(f"{path}.{name}", child, depth + 1)


def _count(specs: Mapping[str, FieldSpec], within: str, depth: int) -> int:
    if depth > _DEEPEST:
        raise BadField(within.rstrip("."), f"is nested deeper than {_DEEPEST}")
    if "" in specs:
        raise BadField(within.rstrip("."), "has a field without a name")
    nested = [(name, schema) for name, spec in specs.items() for schema in (spec.list, spec.object) if schema]
    return len(specs) + sum(_count(schema, f"{within}{name}.", depth + 1) for name, schema in nested)


class _Compiler(Generic[N]):
    """Compiles the fields of one dialect; what lies within a field is of the same one."""

    def __init__(self, dialect: Dialect[N]) -> None:
        self._dialect = dialect

    def schema(self, specs: Mapping[str, FieldSpec], within: str) -> dict[str, Field[N]]:
        return {name: self._field(spec, within + name) for name, spec in specs.items()}

    def _field(self, spec: FieldSpec, path: str) -> Field[N]:
        _check(spec, path)
        queries = self._queries(spec, path)
        given = (path, spec.required, spec.default, queries)
        if spec.list is not None:
            return Listing(*given, self.schema(spec.list, f"{path}."))
        if spec.object is not None:
            return Record(*given, self.schema(spec.object, f"{path}."))
        if spec.type == "list":
            return Many(*given, reader(self._dialect, spec.items, spec.attr))
        assert spec.type != "object", "checked above"
        return Single(*given, reader(self._dialect, spec.type or "text", spec.attr))

    def _queries(self, spec: FieldSpec, path: str) -> tuple[Query[N], ...]:
        name = self._dialect.name
        selectors = spec.css if name == "css" else spec.xpath
        if selectors is None:
            raise BadField(path, f"must use {name}, as the field around it does: the two cannot be mixed")
        listed = [selectors] if isinstance(selectors, str) else selectors
        if not 1 <= len(listed) <= _MOST_SELECTORS:
            raise BadField(f"{path}.{name}", f"must have 1 to {_MOST_SELECTORS} selectors")
        return tuple(self._query(selector, f"{path}.{name}") for selector in listed)

    def _query(self, selector: str, path: str) -> Query[N]:
        if len(selector) > _LONGEST_SELECTOR:
            raise BadField(path, f"is longer than {_LONGEST_SELECTOR} characters")
        try:
            return self._dialect.compile(selector)
        except BadSelector as error:
            raise BadField(path, str(error)) from None


def _check(spec: FieldSpec, path: str) -> None:
    """What contradicts itself in one field, whatever its selectors are."""
    if problem := _selector_problem(spec) or _shape_problem(spec) or _value_problem(spec):
        raise BadField(path, problem)


def _selector_problem(spec: FieldSpec) -> str | None:
    if spec.css is not None and spec.xpath is not None:
        return "has both css and xpath; give one"
    if spec.css is None and spec.xpath is None:
        return "has neither css nor xpath"
    return None


def _shape_problem(spec: FieldSpec) -> str | None:
    if spec.list is not None and spec.object is not None:
        return "has both list and object; give one"
    if spec.list is not None and spec.type not in (None, "list"):
        return f"has a list schema, but its type is {spec.type}"
    if spec.object is not None and spec.type not in (None, "object"):
        return f"has an object schema, but its type is {spec.type}"
    if spec.type == "object" and spec.object is None:
        return "is of type object, but has no object schema"
    if spec.list == {} or spec.object == {}:
        return "has a schema that names no field"
    return None


def _value_problem(spec: FieldSpec) -> str | None:
    nested = spec.list is not None or spec.object is not None
    if spec.items != "text" and (nested or spec.type != "list"):
        return "has items, which only a list without a schema has"
    if spec.attr is None:
        return None
    if nested:
        return "has attr beside a schema; the fields of the schema read attributes"
    if "html" in (spec.type, spec.items):
        return "has attr, but html reads the element itself"
    return None if spec.attr.strip() else "has an empty attr"
