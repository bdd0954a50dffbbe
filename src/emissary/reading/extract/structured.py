"""What a page says for machines: JSON-LD and Open Graph, read tolerantly."""

import json
import re
from typing import Any

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from emissary.model.pages import Structured
from emissary.reading.extract.microdata import microdata_of
from emissary.reading.extract.tree import attribute

__all__ = ["json_ld_of", "open_graph_of", "structured_of"]

_LEADING = re.compile(r"(?:[\s\ufeff]++|<!--|//|/\*|\*/|<!\[CDATA\[)*+")
_LENIENT = json.JSONDecoder(strict=False)


def structured_of(tree: LexborHTMLParser, base: str) -> Structured:
    """All three vocabularies; a page without any gives empty ones."""
    return Structured(json_ld=json_ld_of(tree), microdata=microdata_of(tree, base), open_graph=open_graph_of(tree))


def json_ld_of(tree: LexborHTMLParser) -> list[Any]:
    """The objects of every JSON-LD script; what cannot be read is left out."""
    found: list[Any] = []
    for script in tree.css('script[type*="ld+json" i]'):
        value = _value_of(script)
        found.extend(item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict))
    return found


def _value_of(script: LexborNode) -> Any:
    text = script.text()
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _leniently(text)


def _leniently(text: str) -> Any:
    """Comment wrappers, raw line breaks in strings and trailing junk are common; the first value counts."""
    leading = _LEADING.match(text)
    try:
        value, _ = _LENIENT.raw_decode(text, leading.end() if leading else 0)
        msgspec.json.encode(value)  # a lone surrogate could not be stored or sent
    except (ValueError, RecursionError):
        return None
    return value


def open_graph_of(tree: LexborHTMLParser) -> dict[str, Any]:
    """The `og:` properties as they are spelled; one that is repeated becomes a list."""
    found: dict[str, Any] = {}
    for node in tree.css('meta[property^="og:" i][content], meta[name^="og:" i][content]'):
        name = (attribute(node, "property") or attribute(node, "name") or "").strip()
        content = attribute(node, "content") or ""
        match found.get(name):
            case None:
                found[name] = content
            case list() as several:
                several.append(content)
            case first:
                found[name] = [first, content]
    return found
