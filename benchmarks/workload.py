"""The batch's work: pages spread over hosts, six fields of each, and what their values must be."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from emissary.testing.web.pages.goods import product
from emissary.testing.web.sites.numbered import VARIANTS

__all__ = ["CSS", "SCHEMA", "check_sample", "pages_of"]

# Each field's selector, and the attribute that holds the value where it is not the text.
CSS: dict[str, tuple[str, str | None]] = {
    "title": ("h1", None),
    "brand": (".brand", None),
    "price": ("meta[itemprop=price]", "content"),
    "availability": (".stock", None),
    "sku": ("[itemprop=sku]", None),
    "rating": ("[itemprop=ratingValue]", None),
}
SCHEMA: dict[str, dict[str, object]] = {
    name: {"css": css, "required": True}
    | ({"attr": attribute} if attribute else {})
    | ({"type": "number"} if name in ("price", "rating") else {})
    for name, (css, attribute) in CSS.items()
}
_SAMPLE_EVERY = 97


def pages_of(origins: list[str], count: int) -> list[str]:
    """So many pages, host by host in turn."""
    return [f"{origins[place % len(origins)]}/page/{place // len(origins)}" for place in range(count)]


def check_sample(urls: list[str], found: Mapping[str, Mapping[str, object]]) -> None:
    """Every page must be there, and a sample of them must hold what the shop says."""
    if len(found) != len(urls):
        raise AssertionError(f"{len(urls)} pages were asked for, {len(found)} are there")
    for url in urls[::_SAMPLE_EVERY]:
        expected = _expected(url)
        if dict(found[url]) != expected:
            raise AssertionError(f"{url}: found {dict(found[url])}, expected {expected}")


def _expected(url: str) -> dict[str, object]:
    one = product(int(PurePosixPath(url).name) % VARIANTS + 1)
    return {
        "title": one.name,
        "brand": one.brand,
        "price": float(one.price),
        "availability": one.availability.words,
        "sku": one.sku,
        "rating": one.rating,
    }
