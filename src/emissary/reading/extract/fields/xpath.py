"""Fields by XPath 1.0, on a tree of lxml's that is only made when one is asked for."""

import re
from collections.abc import Callable
from math import isfinite

from lxml import etree

from emissary.reading.extract.fields.dialect import BadSelector, Query
from emissary.reading.extract.tree import collapse, readable

__all__ = ["Found", "XPath", "document_of"]

# An element, or the text an expression like `@href`, `text()` or `string(…)` gives.
Found = etree._Element | str

_LITERAL = re.compile(r"\"[^\"]*+\"|'[^']*+'")
_CALL = re.compile(r"([\w.-]++)\s*+\(")
_PREFIX = re.compile(r"([\w.-]++)\s*+(?<!:):(?!:)")
_NODE_TESTS = frozenset({"text", "node", "comment", "processing-instruction", "and", "or", "div", "mod"})
_FUNCTIONS = (
    "last position count id local-name namespace-uri name string concat starts-with contains substring-before "
    "substring-after substring string-length normalize-space translate boolean not true false lang number sum floor "
    "ceiling round"
)
_CALLABLE = frozenset(_FUNCTIONS.split()) | _NODE_TESTS
# Steps that look at the whole page: one within another within another would look at it cubed.
_WIDE = re.compile(r"[\[\]]|//|\b(?:ancestor|descendant|following|preceding)\b")
_PROBE = "<html><body><p class='a'>a selector is tried on this</p></body></html>"


def document_of(markup: bytes) -> etree._Element:
    """The root of a page given in UTF-8."""
    parser = etree.HTMLParser(encoding="utf-8", recover=True)
    root = etree.fromstring(markup.replace(b"\x00", b""), parser) if markup.strip(b"\x00 \t\r\n\f") else None
    return root if root is not None else etree.fromstring("<html/>", parser)


class _XPathQuery:
    __slots__ = ("_evaluate",)

    def __init__(self, evaluate: Callable[[etree._Element], object]) -> None:
        self._evaluate = evaluate

    def first(self, node: Found) -> Found | None:
        return next(iter(self.every(node)), None)

    def every(self, node: Found) -> list[Found]:
        if isinstance(node, str):
            return []
        try:
            result = self._evaluate(node)
        except etree.XPathError:
            return []
        return _as_found(result)


def _as_found(result: object) -> list[Found]:
    if isinstance(result, list):
        return [item for item in result if isinstance(item, str) or _is_element(item)]
    if isinstance(result, bool):
        return ["true" if result else "false"]
    if isinstance(result, float):
        return [str(int(result)) if result.is_integer() else str(result)] if isfinite(result) else []
    return [result] if isinstance(result, str) else []


def _is_element(item: object) -> bool:
    return isinstance(item, etree._Element) and isinstance(item.tag, str)


def _compile(expression: str) -> Query[Found]:
    problem = _outside_the_core(_LITERAL.sub("''", expression))
    if problem:
        raise BadSelector(f"{expression!r} {problem}")
    try:
        evaluate = etree.XPath(expression)
        evaluate(etree.fromstring(_PROBE, etree.HTMLParser()))
    except (etree.XPathError, ValueError) as error:
        raise BadSelector(f"{expression!r} is no XPath 1.0 expression: {error}") from None
    return _XPathQuery(evaluate)


def _outside_the_core(expression: str) -> str | None:
    """lxml would find these only when a page is read."""
    if "$" in expression:
        return "uses a variable, and there are none"
    if found := _PREFIX.search(expression):
        return f"uses the namespace prefix {found[1]!r}, and there are none"
    for name in _CALL.findall(expression):
        if name not in _CALLABLE:
            return f"calls {name}(), which XPath 1.0 does not have"
    return _too_wide(expression)


def _too_wide(expression: str) -> str | None:
    depth = 0
    for part in _WIDE.findall(expression):
        if part in "[]":
            depth += 1 if part == "[" else -1
        elif depth > 1:
            return f"searches the page ({part}) in a predicate within a predicate, which could take hours"
    return None


def _text(found: Found) -> str:
    if isinstance(found, str):
        return collapse(found)
    if len(found) == 0:
        return collapse(found.text or "")
    return collapse(readable(etree.tostring(found, encoding="unicode", method="html", with_tail=False)))


def _tag(found: Found) -> str:
    return "" if isinstance(found, str) else str(found.tag)


def _attribute(found: Found, name: str) -> str | None:
    value = None if isinstance(found, str) else found.get(name)
    return None if value is None else str(value)


def _inner_html(found: Found) -> str:
    if isinstance(found, str):
        return found
    children = (etree.tostring(child, encoding="unicode", method="html") for child in found)
    return (found.text or "") + "".join(children)


class XPath:
    """The XPath dialect."""

    name = "xpath"
    compile: Callable[[str], Query[Found]] = staticmethod(_compile)
    text: Callable[[Found], str] = staticmethod(_text)
    tag: Callable[[Found], str] = staticmethod(_tag)
    attribute: Callable[[Found, str], str | None] = staticmethod(_attribute)
    inner_html: Callable[[Found], str] = staticmethod(_inner_html)
