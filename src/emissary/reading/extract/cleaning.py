"""HTML without what a reader does not read: scripts, styles, frames, comments, handlers; its URLs made absolute."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from emissary.reading.extract.links import best_of_srcset
from emissary.reading.extract.tree import absolute

__all__ = ["clean"]

_UNREAD = ["script", "style", "noscript", "template", "iframe", "frame", "object", "embed", "link", "base"]
_HANDLER = re.compile(rb"on[a-z]{2,30}+(?=\s*+=)")
_URLS = ("href", "src", "action", "formaction", "poster", "cite", "data-src")
_WITH_URLS = "[href],[src],[srcset],[action],[formaction],[poster],[cite],[data-src],[xlink\\:href]"


def clean(tree: LexborHTMLParser, base: str) -> None:
    """Clean the tree in place; this is the last thing done with it."""
    tree.strip_tags(_UNREAD, recursive=True)
    if tree.root is None:
        return
    if b"<!" in tree.raw_html or b"<?" in tree.raw_html:
        _drop_comments(tree.root)
    _drop_handlers(tree)
    for node in tree.css(_WITH_URLS):
        _make_absolute(node, base)


def _drop_comments(root: LexborNode) -> None:
    for comment in [node for node in root.traverse(include_text=True) if node.is_comment_node]:
        comment.decompose()


def _drop_handlers(tree: LexborHTMLParser) -> None:
    """Only the handlers whose names occur in the source are looked for: most pages have none."""
    for name in sorted({name.decode("ascii") for name in _HANDLER.findall(tree.raw_html.lower())}):
        for node in tree.css(f"[{name}]"):
            del node.attrs[name]


def _make_absolute(node: LexborNode, base: str) -> None:
    attributes = node.attributes
    if "srcset" in attributes:
        best = best_of_srcset(attributes["srcset"] or "")
        del node.attrs["srcset"]
        if best and not attributes.get("src"):
            attributes["src"] = best
    if "xlink:href" in attributes:
        del node.attrs["xlink:href"]
    for name in _URLS:
        if attributes.get(name):
            _rewrite(node, name, attributes[name] or "", base)


def _rewrite(node: LexborNode, name: str, value: str, base: str) -> None:
    """A URL that runs a script or carries its own content is dropped; `mailto:` and `tel:` stay."""
    url = absolute(base, value)
    if url is not None:
        node.attrs[name] = url
    elif not value.strip().lower().startswith(("mailto:", "tel:")):
        del node.attrs[name]
