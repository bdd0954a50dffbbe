"""Fields by CSS selector, on the page's own tree. Within a list, the matched element itself may match too."""

import re
from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from emissary.reading.extract.fields.dialect import BadSelector, Query
from emissary.reading.extract.tree import attribute, text_of

__all__ = ["Css"]

_PROBE = LexborHTMLParser("<p>a selector is tried on this</p>")


_PARENTHESIS = re.compile(r":has\(|[()]", re.IGNORECASE)


class _CssQuery:
    __slots__ = ("_selector",)

    def __init__(self, selector: str) -> None:
        self._selector = selector

    def first(self, node: LexborNode) -> LexborNode | None:
        return node.css_first(self._selector)

    def every(self, node: LexborNode) -> list[LexborNode]:
        return node.css(self._selector)


def _compile(selector: str) -> Query[LexborNode]:
    """selectolax parses a selector anew at each use, so compiling is trying it once."""
    if _nests_has(selector):
        raise BadSelector(f"{selector!r} has :has() within :has(), which CSS does not allow")
    try:
        _PROBE.css(selector)
    except SelectolaxError:
        raise BadSelector(f"{selector!r} is no CSS selector that can be used here") from None
    return _CssQuery(selector)


def _nests_has(selector: str) -> bool:
    """Each level would multiply the time by the depth of the page."""
    open_kinds: list[bool] = []
    for part in _PARENTHESIS.findall(selector):
        if part == ")":
            del open_kinds[-1:]
            continue
        is_has = part != "("
        if is_has and any(open_kinds):
            return True
        open_kinds.append(is_has)
    return False


def _tag(node: LexborNode) -> str:
    return node.tag or ""


def _inner_html(node: LexborNode) -> str:
    return node.inner_html or ""


class Css:
    """The CSS dialect."""

    name = "css"
    compile: Callable[[str], Query[LexborNode]] = staticmethod(_compile)
    text: Callable[[LexborNode], str] = staticmethod(text_of)
    tag: Callable[[LexborNode], str] = staticmethod(_tag)
    attribute: Callable[[LexborNode, str], str | None] = staticmethod(attribute)
    inner_html: Callable[[LexborNode], str] = staticmethod(_inner_html)
