"""How much work a page will be, told from its size, its tags and what is wanted of it, without reading it."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from emissary.model.extraction import Wanted
from emissary.model.pages import Format, Page
from emissary.reading.extract.fields import compile_json_fields
from emissary.reading.extract.fields.plan import Field, Listing, Many, Record, Single

__all__ = ["is_light"]

_LIGHT = 5_000.0  # microseconds: what everything else on the event loop may be held up for
_TINY = 8 * 1024  # bytes: so few hold too few tags to be worth counting
_SMALL = 32 * 1024  # bytes: the same, where the page is only searched, and a few times at most
_FEW_SEARCHES = 20
_HUGE = 1024 * 1024  # bytes: more than these are work even if they hold no tag at all
# Microseconds for each tag and for each KiB, measured on pages of 50 to 250 KiB and rounded up.
_PARSING = (0.3, 1.0)
_RENDERING = (0.8, 3.0)  # once, for the three that show the page itself
_COSTS = {
    Format.RAW_HTML: (0.0, 1.0),
    Format.HTML: (0.0, 1.0),
    Format.MARKDOWN: (0.6, 9.0),
    Format.TEXT: (0.6, 3.0),
    Format.LINKS: (0.3, 0.0),
    Format.IMAGES: (0.1, 0.0),
    Format.METADATA: (0.1, 0.0),
    Format.STRUCTURED: (0.6, 0.0),
    Format.FIELDS: (0.0, 0.0),  # the schema says what they cost
}
_RENDERED = frozenset({Format.HTML, Format.MARKDOWN, Format.TEXT})
_SEARCH = 0.25  # microseconds for each tag, to search the page once
_DEEP = 500  # tags: elements within elements of a list are searched again and again, and may all be within each other


def is_light(page: Page, wanted: Wanted) -> bool:
    """Whether the page can be read where everything else waits for it."""
    size = len(page.body)
    if size <= _uncounted(wanted.formats, wanted.fields):
        return True
    if size > _HUGE:
        return False
    tags = page.body.count(b"<")
    per_tag, per_kib = _rates(wanted.formats)
    cost = tags * per_tag + size / 1024 * per_kib
    if wanted.fields is not None:
        cost += _SEARCH * tags * sum((1 + tags / _DEEP) ** depth for depth in _searches(wanted.fields))
    return cost <= _LIGHT


@lru_cache(maxsize=512)
def _uncounted(formats: frozenset[Format], schema: str | None) -> int:
    """Up to how many bytes a page is light however many tags they hold: counting them takes time as well."""
    depths = () if schema is None else _searches(schema)
    if any(depths) or len(depths) > _FEW_SEARCHES:
        return 0
    return _TINY if formats & _RENDERED else _SMALL


@lru_cache(maxsize=512)
def _rates(formats: frozenset[Format]) -> tuple[float, float]:
    costs = [_PARSING, *(_COSTS[form] for form in formats)]
    if formats & _RENDERED:
        costs.append(_RENDERING)
    return sum(tag for tag, _ in costs), sum(kib for _, kib in costs)


@lru_cache(maxsize=256)
def _searches(schema: str) -> tuple[int, ...]:
    """For each selector of the schema, how many lists it is in. XPath looks around as if it were in one more."""
    plan = compile_json_fields(schema.encode())
    return (*_depths(plan.css, 0), *_depths(plan.xpath, 1))


def _depths(fields: Mapping[str, Field[Any]], depth: int) -> Iterator[int]:
    for field in fields.values():
        match field:
            case Listing(queries=queries, fields=within):
                yield from [depth] * len(queries)
                yield from _depths(within, depth + 1)
            case Many(queries=queries):
                yield from [depth + 1] * len(queries)
            case Record(queries=queries, fields=within):
                yield from [depth] * len(queries)
                yield from _depths(within, depth)
            case Single(queries=queries):
                yield from [depth] * len(queries)
            case _:
                raise TypeError(f"{type(field).__name__} is no field that can be weighed")
