"""CPU per page of station 5: ten fields of a 30 KB page, beside the same by a bare selectolax loop, and each format."""

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from benchmarks.measuring import microseconds
from emissary.compose import steady_process
from emissary.model.extraction import Wanted
from emissary.model.pages import Format, Page, Reply, RobotsNote, Timings, WebUrl
from emissary.reading.extract import compile_fields, extract

BODY = (Path(__file__).parent.parent / "tests/data/pages/product.html").read_bytes()
TEN: dict[str, dict[str, object]] = {
    "title": {"css": "h1.product__title", "required": True},
    "brand": {"css": ".brand"},
    "price": {"css": [".price__now", "[itemprop=price]"], "type": "number", "required": True},
    "was": {"css": ".price__was", "type": "number"},
    "stock": {"css": ".stock"},
    "available": {"css": "link[itemprop=availability]", "type": "boolean"},
    "rating": {"css": ".rating__value", "type": "number"},
    "reviews": {"css": ".rating__count", "type": "number"},
    "image": {"css": ".gallery__main", "type": "url"},
    "sku": {"css": ".product", "attr": "data-sku"},
}


def product_page() -> Page:
    return Page(
        url=WebUrl("https://shop.example/p/kiln-twig-stove", "https", "shop.example", 443, "/p/kiln-twig-stove"),
        reply=Reply(200, {}, BODY, "192.0.2.1", "1.1", Timings(1.0, 2.0), len(BODY)),
        robots=RobotsNote(None, None, datetime(2026, 1, 1, tzinfo=UTC)),
        content_type="text/html; charset=utf-8",
        charset="utf-8",
    )


def bare_loop() -> dict[str, str | None]:
    """What somebody would write by hand: no types, no fall-backs, no checks."""
    tree = LexborHTMLParser(BODY)
    values: dict[str, str | None] = {}
    for name, spec in TEN.items():
        css = spec["css"]
        node = tree.css_first(css if isinstance(css, str) else css[0])  # type: ignore[index]
        values[name] = None if node is None else node.text(strip=True)
    return values


def measure(rounds: int) -> dict[str, float]:
    page, schema = product_page(), json.dumps(TEN)

    def formats(*names: Format, main: bool = True) -> Callable[[], object]:
        wanted = Wanted(frozenset(names), only_main_content=main)
        return lambda: extract(page, wanted)

    figures = {
        "parse": microseconds(lambda: LexborHTMLParser(BODY), rounds),
        "ten fields, bare selectolax": microseconds(bare_loop, rounds),
        "ten fields": microseconds(lambda: extract(page, Wanted(frozenset({Format.FIELDS}), schema)), rounds),
        "compile ten fields again": microseconds(lambda: compile_fields(TEN), rounds),
        "title and language only": microseconds(formats(), rounds),
        "links": microseconds(formats(Format.LINKS), rounds),
        "images": microseconds(formats(Format.IMAGES), rounds),
        "metadata": microseconds(formats(Format.METADATA), rounds),
        "structured": microseconds(formats(Format.STRUCTURED), rounds),
        "main html": microseconds(formats(Format.HTML), rounds // 2),
        "main text": microseconds(formats(Format.TEXT), rounds // 2),
        "main markdown": microseconds(formats(Format.MARKDOWN), rounds // 2),
        "whole markdown": microseconds(formats(Format.MARKDOWN, main=False), rounds // 2),
        "all formats and fields": microseconds(lambda: extract(page, Wanted(frozenset(Format), schema)), rounds // 2),
    }
    figures["ratio to bare"] = round(figures["ten fields"] / figures["ten fields, bare selectolax"], 2)
    return figures


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--rounds", type=int, default=300)
    given = arguments.parse_args()
    steady_process()  # as every server and worker does
    figures = measure(given.rounds)
    if given.json:
        print(json.dumps({"bytes": len(BODY), "unit": "microseconds of CPU a page", "figures": figures}))
        return
    print(f"{len(BODY):,} bytes; microseconds of CPU a page, parse included")
    for name, figure in figures.items():
        print(f"{name:30} {figure:10,.2f}")


if __name__ == "__main__":
    main()
