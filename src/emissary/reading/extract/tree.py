"""The page's tree: parsed once, asked by every format."""

import re
from collections.abc import Iterator

from ada_url import join_url
from resiliparse.extract.html2text import extract_plain_text  # type: ignore[import-untyped]
from selectolax.lexbor import LexborHTMLParser, LexborNode

from emissary.reading.extract.taming import tamed

__all__ = ["absolute", "attribute", "base_of", "collapse", "language_of", "parse", "readable", "text_of", "title_of"]

# Elements that part words although no space stands between their tags, and those whose text nobody reads.
_BREAKS = (
    "address,article,aside,blockquote,br,dd,div,dl,dt,figcaption,figure,footer,form,h1,h2,h3,h4,h5,h6,header,hr,li,main,"
    "nav,ol,option,p,pre,script,section,style,table,tbody,td,template,th,tr,ul"
)
_LONG = 512 * 1024  # characters beyond which laying the text out would take time in their square
_LONGEST_BASE = 8_192  # characters
_CELL_END = re.compile(r"</t([dh])>")


def parse(markup: bytes | str) -> LexborHTMLParser:
    """A tree of UTF-8 bytes or text; a byte order mark would otherwise push the head into the body."""
    encoded = markup if isinstance(markup, bytes) else markup.encode("utf-8", "replace")
    return LexborHTMLParser(tamed(encoded.removeprefix(b"\xef\xbb\xbf")))


def collapse(text: str) -> str:
    """Runs of whitespace become one space."""
    return " ".join(text.split())


def attribute(node: LexborNode, name: str) -> str | None:
    """The attribute's value; empty if it stands there without one, None if it is absent."""
    value = node.attributes.get(name, _ABSENT)
    return None if value is _ABSENT else value or ""


_ABSENT = "\x00"  # no parsed attribute holds a NUL


def base_of(tree: LexborHTMLParser, url: str) -> str:
    """What relative URLs are relative to: the first `<base href>`, else the page's own URL.

    A base longer than any URL that we read is none: each link of the page would repeat it.
    """
    given = (attribute(base, "href") for base in _in_head(tree, "base"))
    href = next((href for href in given if href is not None), "")
    return (absolute(url, href) if len(href) <= _LONGEST_BASE else None) or url


def _in_head(tree: LexborHTMLParser, tag: str) -> Iterator[LexborNode]:
    """Such elements of the head. All are its children, and to walk past them is quicker than to read a selector."""
    head = tree.head
    if head is not None:
        for child in head.iter():
            if child.tag == tag:
                yield child


def absolute(base: str, reference: str | None) -> str | None:
    """The http or https URL that a reference means; None if it means anything else."""
    if not reference:
        return None
    try:
        url = join_url(base, reference)
    except ValueError:
        return None
    return url if url.startswith(("https://", "http://")) else None


def title_of(tree: LexborHTMLParser) -> str | None:
    """The page's title; an icon's `<title>` in an SVG is none."""
    node = next(_in_head(tree, "title"), None) or tree.css_first("title:not(svg title)")
    return (collapse(node.text()) or None) if node is not None else None


def language_of(tree: LexborHTMLParser) -> str | None:
    """The language the page says it is written in."""
    root = tree.root
    return (collapse(attribute(root, "lang") or "") or None) if root is not None else None


def text_of(node: LexborNode) -> str:
    """The node's text, whitespace collapsed, with a space where one block ends and another begins."""
    child = node.first_child
    if child is None:
        return ""
    if child.next is None and child.is_text_node:
        return collapse(child.text_content or "")
    if any(element.css_first(_BREAKS) is not None for element in node.iter()):
        return collapse(readable(node.html or ""))
    return collapse(node.text())


def readable(html: str) -> str:
    """The text of some HTML in lines and paragraphs, as a person would read it aloud."""
    if len(html) > _LONG:
        return _plainly(html)
    spaced = _CELL_END.sub(r" </t\1>", html)
    text: str = extract_plain_text(spaced, list_bullets=False, alt_texts=False, form_fields=True, hidden_elements=True)
    return text


def _plainly(html: str) -> str:
    """The text of a very long page: one line for each piece of text, without any layout."""
    body = LexborHTMLParser(html).body
    pieces = [] if body is None else (collapse(piece) for piece in body.text(separator="\n").split("\n"))
    return "\n".join(piece for piece in pieces if piece)
