"""Station 5 of 7: turns a page into data. Pure: the same page and the same wish give the same data."""

from emissary.reading.extract.extraction import extract
from emissary.reading.extract.fields import FieldPlan, compile_fields, compile_json_fields
from emissary.reading.extract.weighing import is_light

__all__ = ["FieldPlan", "compile_fields", "compile_json_fields", "extract", "is_light"]
