"""Markup that would keep the HTML parser busy for minutes, recognised before it is parsed.

Three things cost a standard parser time or memory in the square of the page's size: elements nested thousands deep,
formatting elements that are never closed (they are built again in every paragraph), and thousands of attributes on one
element. No page for people has them, so such a page is read as its bare text.
"""

import re

__all__ = ["tamed"]

_FEW_TAGS = 1_500  # whatever so few do, it takes a fraction of a second
_MANY_TAGS = 10_000
_DEEPEST = 2_000
_MOST_REBUILT = 2_000_000  # elements that unclosed formatting may make out of nothing
_LONG = 100_000  # bytes

_FORMATTING_NAMES = b"b big code em font i s small strike strong tt u"
_FORMATTING = frozenset(_FORMATTING_NAMES.split())
_FORMATS = re.compile(rb"<(?=[bcefistu])(?:" + _FORMATTING_NAMES.replace(b" ", b"|") + rb")[\s/>]", re.IGNORECASE)
# Elements that have no end, or may leave theirs out.
_ENDLESS_NAMES = (
    b"area base br col dd dt embed hr img input li link meta option p param source tbody td th thead tr track wbr"
)
_ENDLESS = frozenset(_ENDLESS_NAMES.split())
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>]{0,40})")
_ATTRIBUTE = rb"""[\s/]++[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]++))?+"""
_CROWDED = re.compile(rb"<[a-zA-Z][^\s/>]*+(?:" + _ATTRIBUTE + rb"){2000}")
_ANY_TAG = re.compile(rb"<[^<>]*+>")


def tamed(markup: bytes) -> bytes:
    """The markup itself, or its bare text if parsing it would take too long."""
    tags = markup.count(b"<")
    if tags <= _FEW_TAGS and len(markup) <= _LONG:
        return markup
    if _is_entangled(markup, tags) or (len(markup) > _LONG and _CROWDED.search(markup)):
        return _ANY_TAG.sub(b" ", markup).replace(b"<", b" ")
    return markup


def _is_entangled(markup: bytes, tags: int) -> bool:
    if tags <= _MANY_TAGS and len(_FORMATS.findall(markup)) * tags <= _MOST_REBUILT:
        return False
    deepest, unclosed = _depths(markup)
    return deepest > _DEEPEST or unclosed * tags > _MOST_REBUILT


def _depths(markup: bytes) -> tuple[int, int]:
    """How deep elements are nested at most, and formatting elements among them, as far as tags alone can tell."""
    opened: dict[bytes, int] = {}
    depth = deepest = formats = most_formats = 0
    for closing, written in _TAG.findall(markup):
        name = written.lower()
        if name in _ENDLESS:
            continue
        step = -1 if closing else 1
        if closing and not opened.get(name):
            continue  # an end without a beginning closes nothing
        opened[name] = opened.get(name, 0) + step
        depth += step
        deepest = max(deepest, depth)
        if name in _FORMATTING:
            formats += step
            most_formats = max(most_formats, formats)
    return deepest, most_formats
