"""What the head of a page says of it: description, canonical URL, Open Graph, dates."""

import re
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from emissary.model.pages import Page
from emissary.reading.extract.tree import absolute, attribute, collapse, language_of, title_of

__all__ = ["about_reply", "metadata_of"]

_PLAIN = frozenset({"description", "author", "robots", "generator"})
_FAMILIES = ("og:", "twitter:", "article:", "product:", "book:", "profile:", "dc.", "dcterms.")
_SEPARATOR = re.compile(r"[^0-9A-Za-z]+")


def about_reply(page: Page) -> dict[str, Any]:
    """What is known of any page, HTML or not."""
    return {"statusCode": page.reply.status, "contentType": page.content_type, "charset": page.charset}


def metadata_of(tree: LexborHTMLParser, base: str, page: Page) -> dict[str, Any]:
    """Every statement of the head under a camelCase key; only those that are made."""
    said: dict[str, Any] = {"title": title_of(tree), "language": language_of(tree)}
    _read_metas(tree, said)
    said["canonical"] = _linked(tree, base, "canonical")
    said["favicon"] = _linked(tree, base, "icon")
    return {key: value for key, value in said.items() if value} | about_reply(page)


def _read_metas(tree: LexborHTMLParser, said: dict[str, Any]) -> None:
    for node in tree.css("meta[content]"):
        name = (attribute(node, "name") or attribute(node, "property") or "").strip().lower()
        content = collapse(attribute(node, "content") or "")
        if not content:
            continue
        if name == "keywords":
            said.setdefault("keywords", [word for word in map(str.strip, content.split(",")) if word])
        elif name in _PLAIN:
            said.setdefault(name, content)
        elif name.startswith(_FAMILIES):
            said.setdefault(_camel(name), content)


def _camel(name: str) -> str:
    """`og:image:width` becomes `ogImageWidth`."""
    first, *rest = _SEPARATOR.split(name[:100])
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _linked(tree: LexborHTMLParser, base: str, relation: str) -> str | None:
    for node in tree.css("link[rel][href]"):
        if relation in (attribute(node, "rel") or "").lower().split():
            return absolute(base, attribute(node, "href"))
    return None
