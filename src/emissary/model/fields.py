"""The field schema: which parts of a page become which values."""

from typing import Literal

import msgspec

__all__ = ["FieldSchema", "FieldSpec", "FieldType", "ItemType"]

ItemType = Literal["text", "number", "boolean", "date", "url", "html"]
FieldType = Literal["text", "number", "boolean", "date", "url", "html", "list", "object"]


class FieldSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One field: where to look (the first selector that gives a value wins), and what to make of it.

    `css` or `xpath`, one or several; `attr` reads an attribute instead of the text. `list` is a schema applied to
    every match, `object` one applied to the first; `type: list` without a schema collects every match as `items`.
    """

    css: str | list[str] | None = None
    xpath: str | list[str] | None = None
    attr: str | None = None
    type: FieldType | None = None
    items: ItemType = "text"
    list: "dict[str, FieldSpec] | None" = None
    object: "dict[str, FieldSpec] | None" = None
    required: bool = False
    default: str | int | float | bool | None = None


FieldSchema = dict[str, FieldSpec]
