"""The links and images of a page, absolute, each once, in the page's order."""

from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from emissary.model.pages import Image, Link
from emissary.reading.extract.tree import absolute, attribute, collapse, text_of

__all__ = ["best_of_srcset", "images_of", "links_of"]

_SOURCES = ("src", "data-src", "data-original", "data-lazy-src", "data-lazy")
_SOURCE_SETS = ("srcset", "data-srcset")


def links_of(tree: LexborHTMLParser, base: str) -> list[Link]:
    """Where the page leads over http or https; its own `#fragments` lead nowhere else."""
    found: dict[str, Link] = {}
    for node in tree.css("a[href], area[href]"):
        href = (attribute(node, "href") or "").strip()
        url = None if href.startswith("#") else absolute(base, href)
        if url is None or (url in found and found[url].text):
            continue
        found[url] = Link(url=url, text=_label(node), rel=collapse(attribute(node, "rel") or ""))
    return list(found.values())


def _label(node: LexborNode) -> str:
    """What a link says of itself; one around a picture speaks through it."""
    text = text_of(node)
    if text:
        return text
    image = node.css_first("img[alt]")
    spoken = attribute(node, "aria-label") or attribute(node, "title")
    return collapse(spoken or (attribute(image, "alt") if image is not None else None) or attribute(node, "alt") or "")


def images_of(tree: LexborHTMLParser, base: str) -> list[Image]:
    """The pictures a person would see; where a script loads one later, where it will come from."""
    found: dict[str, Image] = {}
    for node in tree.css("img"):
        url = _image_url(node, base)
        if url is not None and url not in found:
            found[url] = Image(url=url, alt=collapse(attribute(node, "alt") or ""))
    return list(found.values())


def _image_url(node: LexborNode, base: str) -> str | None:
    attributes = node.attributes
    candidates = [attributes.get(name) for name in _SOURCES]
    candidates += [best_of_srcset(attributes.get(name) or "") for name in _SOURCE_SETS]
    return next(filter(None, (absolute(base, candidate) for candidate in candidates)), None)


def best_of_srcset(srcset: str) -> str | None:
    """The candidate with the largest width or density."""
    best = max(_candidates(srcset), key=lambda candidate: candidate[1], default=None)
    return best[0] if best else None


def _candidates(srcset: str) -> Iterator[tuple[str, float]]:
    words = iter(srcset.split())
    for word in words:
        if word.endswith(","):
            yield word.rstrip(","), 1.0
            continue
        yield word, _size(next(words, "1x"))


def _size(descriptor: str) -> float:
    try:
        return float(descriptor.rstrip(",")[:-1][:20])
    except ValueError:
        return 0.0
