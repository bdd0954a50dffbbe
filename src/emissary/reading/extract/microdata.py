"""Microdata as the HTML standard defines it: items, their types and their properties."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from emissary.reading.extract.tree import absolute, attribute, text_of

__all__ = ["microdata_of"]

_URL_ATTRIBUTES = {
    "a": "href", "area": "href", "link": "href", "audio": "src", "embed": "src", "iframe": "src", "img": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip
_VALUE_ATTRIBUTES = {"meta": "content", "data": "value", "meter": "value", "time": "datetime"}
_DEEPEST = 20  # items within items; a real page has three or four
_MOST_STEPS = 100_000  # `itemref` lets a small page describe an endless one


@dataclass(slots=True)
class _Reading:
    tree: LexborHTMLParser
    base: str
    steps_left: int = _MOST_STEPS
    by_id: dict[str | None, LexborNode] | None = None

    def element(self, name: str) -> LexborNode | None:
        if self.by_id is None:
            self.by_id = {node.id: node for node in reversed(self.tree.css("[id]"))}
        return self.by_id.get(name)


def microdata_of(tree: LexborHTMLParser, base: str) -> list[Any]:
    """The page's top-level items as `{"type": […], "properties": {name: [values]}}`."""
    reading = _Reading(tree, base)
    return [_item(node, reading, frozenset()) for node in tree.css("[itemscope]:not([itemprop])")]


def _item(node: LexborNode, reading: _Reading, within: frozenset[int]) -> dict[str, Any]:
    attributes = node.attributes
    item: dict[str, Any] = {"type": (attributes.get("itemtype") or "").split(), "properties": {}}
    if attributes.get("itemid"):
        item["id"] = absolute(reading.base, attributes["itemid"]) or attributes["itemid"]
    path = within | {node.mem_id}
    for owner in _property_nodes(node, reading):
        value = _value(owner, reading, path)
        for name in (attribute(owner, "itemprop") or "").split():
            item["properties"].setdefault(name, []).append(value)
    return item


def _property_nodes(item: LexborNode, reading: _Reading) -> Iterator[LexborNode]:
    """The elements that carry the item's properties, in the page's order: not those of items within it."""
    stack = [*_referred(item, reading), *_children_reversed(item)]
    seen: set[int] = {item.mem_id}
    while stack and reading.steps_left > 0:
        reading.steps_left -= 1
        node = stack.pop()
        if node.mem_id in seen:
            continue
        seen.add(node.mem_id)
        attributes = node.attributes
        if attributes.get("itemprop"):
            yield node
        if "itemscope" not in attributes:
            stack.extend(_children_reversed(node))


def _children_reversed(node: LexborNode) -> list[LexborNode]:
    return list(node.iter())[::-1]


def _referred(item: LexborNode, reading: _Reading) -> list[LexborNode]:
    """Elements that `itemref` adds from elsewhere on the page."""
    wanted = (attribute(item, "itemref") or "").split()[:50]
    return [node for name in reversed(wanted) if (node := reading.element(name)) is not None]


def _value(node: LexborNode, reading: _Reading, within: frozenset[int]) -> Any:
    attributes = node.attributes
    if "itemscope" in attributes and len(within) < _DEEPEST and node.mem_id not in within:
        return _item(node, reading, within)
    tag = node.tag or ""
    if tag in _URL_ATTRIBUTES:
        reference = attributes.get(_URL_ATTRIBUTES[tag])
        return absolute(reading.base, reference) or reference or ""
    spoken = attributes.get(_VALUE_ATTRIBUTES[tag]) if tag in _VALUE_ATTRIBUTES else attributes.get("content")
    return spoken if spoken is not None else text_of(node)
