"""Station 5 of 7: turns a page into data. Pure: the same page and the same wish give the same data."""

from emissary.reading.extract.extraction import Extracted, Wanted, extract
from emissary.reading.extract.fields import FieldPlan, compile_fields, compile_json_fields

__all__ = ["Extracted", "FieldPlan", "Wanted", "compile_fields", "compile_json_fields", "extract"]
