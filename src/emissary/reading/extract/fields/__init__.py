"""Fields: which parts of a page become which values, checked before any page is read."""

from emissary.reading.extract.fields.compiling import compile_fields, compile_json_fields
from emissary.reading.extract.fields.plan import Facts, FieldPlan

__all__ = ["Facts", "FieldPlan", "compile_fields", "compile_json_fields"]
